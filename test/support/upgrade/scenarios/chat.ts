/** The chat: threads, signed and unsigned, with a proof and with a prompt; removed messages; names of keys. @module */
import { proofNonce } from '../../../../src/protocol/envelope.ts'
import { posted } from '../../chat/chat.ts'
import { demandSuccess } from '../../client.ts'
import { createAgent } from '../../domain/envelopes.ts'
import { generated } from '../../domain/proof-api.ts'
import { tokenRoutesOf } from '../../domain/tokens.ts'
import type { Story } from '../story.ts'

const PROMPT = 'maths-birthday-surprise'

export const fillChat = async ({ app, owner, ok, remember }: Story): Promise<void> => {
  const agent = createAgent(app, 'Grace')
  const opening = await posted(app, {
    agent_name: 'Ada',
    text: 'What did you find out today?',
    prompt_id: PROMPT,
  })
  const reply = await agent.posted({ text: 'That twenty-three people are enough.', reply_to: opening.id })
  await posted(app, { text: 'Enough for what? Cafés, naïve friends, 東京.', reply_to: reply.id })
  const taken = await agent.posted({ text: 'Forget this.' })
  await agent.remove(taken.id)
  const removed = await posted(app, { text: 'Nobody should read this.' })
  await ok('DELETE', `/console/api/messages/${removed.id}`, undefined, app.adminKey)

  const { tokenId } = await tokenRoutesOf(app, owner.apiKey).issued()
  const id = 'with-proof-1'
  const { circuit_id, proof, public_signals, context } = await generated(app, owner.apiKey, {
    circuit_id: 'token_validation',
    inputs: { tokenId },
    context: { nonce: proofNonce(agent.fingerprint, id), purpose: 'chat' },
  })
  const shown = await agent.post({ id, proof: { circuit_id, proof, public_signals, context } })
  const { message } = demandSuccess(shown)

  for (const number of [opening.id, reply.id, message.id])
    remember({ what: 'a message', method: 'GET', path: `/api/messages/${number}` })
  for (const number of [taken.id, removed.id])
    remember({ what: 'a removed message', method: 'GET', path: `/api/messages/${number}`, status: 404 })
  for (const query of [`thread=${opening.id}`, `prompt=${PROMPT}`, 'q=twenty-three', 'verified=1'])
    remember({ what: `messages by ${query}`, method: 'GET', path: `/api/messages?${query}` })
  remember({
    what: 'the name of a key stays its own',
    method: 'POST',
    path: '/api/messages',
    body: { agent_name: 'Grace', text: 'I am somebody else.' },
    status: 403,
  })
}
