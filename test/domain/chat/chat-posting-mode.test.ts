/** Posting mode: who may post, who may say so, what is told and kept of it. */
import { expect } from 'chai'
import { qualifies, SETTLED_NAME_MS } from '../../../src/domain/chat/posts/posting-mode.ts'
import type { PostingState } from '../../../src/domain/chat/schemas.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf } from '../../support/chat/chat.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { createAgent, type ErrorBody, postPlain, someText } from '../../support/domain/envelopes.ts'

const DAY_MS = 86_400_000

describe('posting mode', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  before(async () => {
    app = await startTestApp({ clock, env: { POSTING_MODE: 'paused' } })
  })
  after(() => app.close())

  const set = (body: object, key = app.adminKey) =>
    app.request<PostingState & ErrorBody>('PUT', '/console/api/posting', { key, body })
  const get = async () =>
    (await app.request<PostingState>('GET', '/console/api/posting', { key: app.adminKey })).body
  const entries = async () => {
    const rows = await app.services.database
      .knex('ledger_entries')
      .where({ type: 'chat' })
      .orderBy('idx')
      .select('entry')
    return rows.map(({ entry }) => JSON.parse(entry).data)
  }

  it('is that of POSTING_MODE until an operator has set one', async () => {
    expect(await get()).to.include({ posting: 'paused' })
    const { status, headers, body } = await postPlain(app)
    expect([status, body.error]).to.deep.equal([503, 'posting_paused'])
    expect(Number(headers.get('retry-after')))
      .to.equal(body.retry_after)
      .and.be.greaterThan(0)
    const signed = await createAgent(app).post()
    expect([signed.status, signed.body.error]).to.deep.equal([503, 'posting_paused'])
    expect((await app.request<{ posting: string }>('GET', '/api/messages')).body.posting).to.equal('paused')
  })

  it('is changed by the operator, told at once, and kept in the log with its reason', async () => {
    const { status, body } = await set({ mode: 'open', reason: 'The flood is over.' })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.deep.include({ posting: 'open', reason: 'The flood is over.' })
    expect(await get()).to.deep.equal(body)
    expect((await postPlain(app)).status).to.equal(201)
    expect(await entries()).to.deep.equal([
      { action: 'posting', posting: 'open', previous: 'paused', reason: 'The flood is over.' },
    ])
  })

  it('leaves no entry where nothing changes, and does not begin anew for another reason', async () => {
    const before = await get()
    clock.offsetMs = 5000
    await set({ mode: 'open', reason: 'The flood is over.' })
    expect(await entries()).to.have.length(1)
    const { body } = await set({ mode: 'open' })
    expect(body).to.deep.equal({ posting: 'open', since: before.since })
    expect(await entries()).to.have.length(2)
    const { body: paused } = await set({ mode: 'paused' })
    expect(Date.parse(paused.since) - Date.parse(before.since)).to.be.at.least(4000)
    await set({ mode: 'open' })
  })

  it('under verified_only lets in whose name has been bound for 24 hours, and nobody else', async () => {
    const settled = createAgent(app)
    await settled.posted()
    await set({ mode: 'verified_only' })
    for (const answer of [await postPlain(app), await settled.post(), await createAgent(app).post()])
      expect([answer.status, answer.body.error]).to.deep.equal([403, 'verified_only'])
    clock.offsetMs += DAY_MS - 60_000
    expect((await settled.post()).body.error).to.equal('verified_only')
    clock.offsetMs += 60_000
    expect((await settled.post()).status).to.equal(201)
    // The key is not enough: the name must be the settled one.
    const other = await settled.post({ params: { agent_name: `${settled.name} two`, text: someText() } })
    expect(other.body.error).to.equal('verified_only')
    expect((await createAgent(app, settled.name).post()).body.error).to.equal('name_claimed')
    await set({ mode: 'open' })
  })

  it('is asked of the database for every post, whatever this server believes', async () => {
    await set({ mode: 'open' })
    const head = () => app.services.database.knex('chat_head')
    for (const [posting, refused] of [
      ['paused', '503 posting_paused'],
      ['verified_only', '403 verified_only'],
    ]) {
      // Without a new version nobody is told.
      await head().update({ posting })
      expect(codeOf(await postPlain(app)), posting).to.equal(refused)
      expect(app.services.postingMode.state().posting).to.equal('open')
    }
    await head().update({ posting: 'open' })
    expect(codeOf(await postPlain(app))).to.equal('201')
  })

  it('is asked after the content rules, of which one is that the message replied to can be read', async () => {
    for (const mode of ['paused', 'verified_only']) {
      await set({ mode })
      expect(codeOf(await postPlain(app, { reply_to: 2 ** 40 })), mode).to.equal('400 unknown_reply_to')
    }
    await set({ mode: 'open' })
  })

  it('never stops the house', async () => {
    await set({ mode: 'paused' })
    const body = { agent_name: 'House', text: someText() }
    const answer = await app.request<{ message: object }>('POST', '/console/api/messages', {
      key: app.adminKey,
      body,
    })
    expect(answer.status).to.equal(201)
    expect(answer.body.message).to.include({ kind: 'house', source: 'system', agent_name: 'House' })
    await set({ mode: 'open' })
  })

  it('does not let the house speak under a name that is an agent’s', async () => {
    await set({ mode: 'open' })
    const agent = createAgent(app)
    await agent.posted()
    const body = { agent_name: agent.name, text: someText() }
    const answer = await app.request<{ error: string }>('POST', '/console/api/messages', {
      key: app.adminKey,
      body,
    })
    expect([answer.status, answer.body.error]).to.deep.equal([403, 'name_claimed'])
  })

  it('is for operators only, and takes nothing but a mode and a short reason', async () => {
    const { apiKey } = await app.organisation()
    expect((await set({ mode: 'open' }, apiKey)).status).to.equal(403)
    expect((await app.request('PUT', '/console/api/posting', { body: { mode: 'open' } })).status).to.equal(
      401,
    )
    for (const body of [
      {},
      { mode: 'closed' },
      { mode: 'open', reason: '' },
      { mode: 'open', reason: 'x'.repeat(281) },
      { mode: 'open', reason: 'a\u0007' },
    ])
      expect((await set(body)).status, JSON.stringify(body)).to.equal(422)
  })

  it('is the one that was committed last, however many change it at once', async () => {
    const before = (await entries()).length
    const modes = ['open', 'verified_only', 'paused'] as const
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => set({ mode: modes[i % 3], reason: `change ${i}` })),
    )
    expect(answers.every(({ status }) => status === 200)).to.equal(true)
    const all = await entries()
    expect(all).to.have.length(before + 12)
    for (const [index, { previous }] of all.entries())
      if (index > 0) expect(previous).to.equal(all[index - 1].posting)
    expect(await get()).to.deep.include({ posting: all.at(-1).posting, reason: all.at(-1).reason })
  })

  it('qualifies a signed post by a person, or by a name that has settled', () => {
    const now = 1_800_000_000_000
    expect(qualifies({ provesPerson: true, boundAt: undefined, now })).to.equal(true)
    expect(qualifies({ provesPerson: false, boundAt: undefined, now })).to.equal(false)
    expect(qualifies({ provesPerson: false, boundAt: now - SETTLED_NAME_MS, now })).to.equal(true)
    expect(qualifies({ provesPerson: false, boundAt: now - SETTLED_NAME_MS + 1, now })).to.equal(false)
  })
})
