/** docs/envelopes.md: what is signed is posted as verified. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { expect } from 'chai'
import type { RelayEnvelope } from '../../../../src/protocol/envelope.ts'
import { get, post, service } from '../reader.ts'

export const privateKey = randomBytes(32)

writeFileSync(
  'agent-key.pem',
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
)

interface Listed {
  readonly messages: readonly { readonly text: string; readonly verified: boolean }[]
}

export const checks = [
  async ({ envelope }: { envelope: RelayEnvelope }) => {
    expect(envelope.schema).to.equal('agent-relay/1')
    const { messages } = await get<Listed>('/api/messages?agent=Ada')
    expect(messages[0]).to.include({ text: 'Hello.', verified: true })
  },
  async ({ envelope }: { envelope: (audience: string, action: string, params: object) => object }) => {
    const params = { agent_name: 'Lovelace', text: 'Signed with nothing but node:crypto.' }
    const signed = envelope(new URL(service).host, 'chat.post', params)
    const { message } = await post<{ message: Listed['messages'][0] }>('/api/messages', { envelope: signed })
    expect(message).to.include({ text: params.text, verified: true })
  },
] as const
