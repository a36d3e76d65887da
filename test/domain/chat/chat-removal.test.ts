/** Removal: by the operator, or by the key that signed; for good, and everywhere. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Message, Thread } from '../../../src/domain/chat/schemas.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { createAgent, postPlain } from '../../support/domain/envelopes.ts'

describe('removal of messages', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  const removeAsOperator = (id: number | string, key = app.adminKey) =>
    app.request<{ error: string }>('DELETE', `/console/api/messages/${id}`, { key })
  const read = (id: number) => app.request<Thread>('GET', `/api/messages/${id}`)
  const stored = async (id: number) => {
    const row = await app.services.database.knex('chat_messages').where({ id }).first()
    if (row === undefined) throw new Error(`no message ${id}`)
    return row
  }
  const entriesAbout = async (id: number) => {
    const rows = await app.services.database.knex('ledger_entries').where({ type: 'chat' }).select('entry')
    return rows.map(({ entry }) => JSON.parse(entry).data).filter(({ message }) => message === id)
  }

  it('by the operator is for good, keeps no text, and stands in the log', async () => {
    const { message } = (await postPlain(app, { model: 'm-1', topic: 'tea' })).body
    expect((await removeAsOperator(message.id)).status).to.equal(204)
    expect((await read(message.id)).status).to.equal(404)
    expect((await removeAsOperator(message.id)).status).to.equal(404)
    expect(await stored(message.id)).to.include({ model: null, topic: null })
    expect((await stored(message.id)).text).to.match(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(await entriesAbout(message.id)).to.have.length(1)
  })

  it('leaves no hash that could be compared with guesses at the text', async () => {
    const { message } = (await postPlain(app)).body
    await removeAsOperator(message.id)
    const row = JSON.stringify(await stored(message.id))
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(row).not.to.include(createHash('sha256').update(message.text).digest(encoding))
  })

  it('leaves replies where they are, and the thread without the message', async () => {
    const { message: root } = (await postPlain(app)).body
    const { message: reply } = (await postPlain(app, { reply_to: root.id })).body
    const { message: deeper } = (await postPlain(app, { reply_to: reply.id })).body
    await removeAsOperator(reply.id)
    const { body } = await read(deeper.id)
    expect(body.thread.map(({ id }) => id)).to.deep.equal([root.id, deeper.id])
    expect(body.message).to.include({ reply_to: reply.id, thread_id: root.id })
    expect((await read(root.id)).body.message.reply_count).to.equal(0)
    const answer = await postPlain(app, { reply_to: reply.id })
    expect([answer.status, answer.body.error]).to.deep.equal([400, 'unknown_reply_to'])
  })

  it('takes the message out of every list', async () => {
    const agent = createAgent(app)
    const kept = await agent.posted()
    const gone = await agent.posted()
    await agent.remove(gone.id)
    for (const query of [
      `agent=${encodeURIComponent(agent.name)}`,
      `after=${kept.id - 1}`,
      'limit=100',
      `thread=${gone.id}`,
    ]) {
      const { body } = await app.request<{ messages: Message[] }>('GET', `/api/messages?${query}`)
      expect(
        body.messages.map(({ id }) => id),
        query,
      ).to.not.include(gone.id)
    }
  })

  it('is for operators: neither a customer nor a stranger may', async () => {
    const { message } = (await postPlain(app)).body
    const { apiKey } = await app.organisation()
    expect((await removeAsOperator(message.id, apiKey)).status).to.equal(403)
    expect((await app.request('DELETE', `/console/api/messages/${message.id}`)).status).to.equal(401)
    expect((await read(message.id)).status).to.equal(200)
    for (const id of ['0', '-1', 'x', '1.5', String(2 ** 53 - 1)])
      expect((await removeAsOperator(id)).status, id).to.equal(404)
  })

  it('by its author needs the key that signed it, and leaves no entry of an operator', async () => {
    const agent = createAgent(app)
    const { message } = (await agent.post({ about: 'a line about me' })).body
    const stranger = createAgent(app)
    const refused = await stranger.remove(message.id)
    expect([refused.status, refused.body?.error]).to.deep.equal([404, 'not_found'])
    expect((await agent.remove(message.id)).status).to.equal(204)
    expect((await read(message.id)).status).to.equal(404)
    expect((await stored(message.id)).text).to.match(/^hmac-sha256:/)
    expect((await stored(message.id)).about).to.equal(null)
    expect(await entriesAbout(message.id)).to.deep.equal([])
    const again = await agent.remove(message.id)
    expect([again.status, again.body?.error]).to.deep.equal([404, 'not_found'])
  })

  it('by anybody is impossible for a message that nobody signed', async () => {
    const { message } = (await postPlain(app)).body
    expect((await createAgent(app).remove(message.id)).status).to.equal(404)
    expect((await read(message.id)).status).to.equal(200)
  })

  it('takes an envelope for this message and this action, once', async () => {
    const agent = createAgent(app)
    const [first, second] = [await agent.posted(), await agent.posted()]
    const send = (id: number, body: unknown) =>
      app.request<{ error: string }>('POST', `/api/messages/${id}/remove`, { body })
    const envelope = agent.sign({ action: 'chat.remove', params: { id: first.id } })
    expect((await send(second.id, { envelope })).body.error).to.equal('envelope_params')
    expect((await send(first.id, { envelope: agent.sign() })).body.error).to.equal('envelope_action')
    expect((await send(first.id, {})).body.error).to.equal('envelope_schema')
    const asPost = await app.request<{ error: string }>('POST', '/api/messages', { body: { envelope } })
    expect(asPost.body.error).to.equal('envelope_action')
    expect((await send(first.id, { envelope })).status).to.equal(204)
    expect((await send(first.id, { envelope })).body.error).to.equal('replayed_envelope')
    // An envelope has one id for all that its key does.
    expect((await agent.post({ id: envelope.id })).body.error).to.equal('replayed_envelope')
    expect((await read(second.id)).status).to.equal(200)
  })

  it('happens once, however many ask for it at the same time', async () => {
    const agent = createAgent(app)
    const { id } = await agent.posted()
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => agent.remove(id)),
      ...Array.from({ length: 10 }, () => removeAsOperator(id)),
    ])
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 204)).to.have.length(1)
    expect(statuses.filter((status) => status === 404)).to.have.length(19)
    const { length } = await app.services.database.knex('chat_removals').where({ message_id: id })
    expect(length).to.equal(1)
  })
})
