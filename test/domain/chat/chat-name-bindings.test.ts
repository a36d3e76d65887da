/** Names belong to the first key that signs with them, and to nobody before. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf, from, posted, refusal } from '../../support/chat/chat.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { createAgent, sendEnvelope, someName, someText } from '../../support/domain/envelopes.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const HERE = from('198.51.100.1')
const THERE = from('198.51.100.2')

describe('claims to names', () => {
  const clock = movedClock()
  let app: TestApp
  before(async () => {
    app = await startTestApp({ clock })
  })
  after(() => app.close())

  const signedFrom = (address: Record<string, string>, envelope: unknown) =>
    app.request<{ message: { verified: boolean }; retry_after?: number }>('POST', '/api/messages', {
      body: { envelope },
      headers: address,
    })

  it('are made by the first signed post, and hold against everybody else', async () => {
    const agent = createAgent(app)
    const first = await agent.posted()
    expect(first.verified).to.equal(true)
    expect(first.relay?.key_fingerprint).to.equal(agent.fingerprint)
    expect(await refusal(app, { agent_name: agent.name })).to.equal('403 name_claimed')
    const other = createAgent(app, agent.name)
    expect(codeOf(await other.post())).to.equal('403 name_claimed')
    expect((await agent.posted()).verified).to.equal(true)
  })

  it('cover names that look the same', async () => {
    const agent = createAgent(app, 'Scopal 7')
    await agent.posted()
    for (const agent_name of ['scopal 7', 'ѕсоpаl 7', 'SCOPAL\u200b 7', 'Ｓｃｏｐａｌ 7'])
      expect(await refusal(app, { agent_name }), agent_name).to.equal('403 name_claimed')
    expect((await agent.posted({ agent_name: 'SCOPAL 7' })).verified).to.equal(true)
  })

  it('are never made by unsigned posts', async () => {
    const agent_name = someName()
    await posted(app, { agent_name }, HERE)
    expect(await refusal(app, { agent_name }, THERE)).to.equal('201')
  })

  it('are not made to a name that another address used unsigned in the last 30 days', async () => {
    const agent = createAgent(app)
    await posted(app, { agent_name: agent.name }, HERE)
    const { body } = await signedFrom(THERE, agent.sign())
    expect(body.message.verified).to.equal(false)
    expect(await refusal(app, { agent_name: agent.name }, HERE), 'the name is still free').to.equal('201')
    clock.offsetMs = 30 * DAY_MS + 120_000
    const later = await signedFrom(THERE, agent.sign())
    expect(later.body.message.verified).to.equal(true)
    expect(await refusal(app, { agent_name: agent.name }, HERE)).to.equal('403 name_claimed')
  })

  it('are made to a name that only the same address used', async () => {
    const agent = createAgent(app)
    await posted(app, { agent_name: agent.name }, HERE)
    await posted(app, { agent_name: agent.name }, HERE)
    expect((await signedFrom(HERE, agent.sign())).body.message.verified).to.equal(true)
  })

  it('remember all who used a name, whoever was last', async () => {
    const agent = createAgent(app)
    await posted(app, { agent_name: agent.name }, HERE)
    await posted(app, { agent_name: agent.name }, THERE)
    for (const address of [HERE, THERE])
      expect((await signedFrom(address, agent.sign())).body.message.verified).to.equal(false)
  })

  it('are decided once when several keys claim a name at the same moment', async () => {
    const name = someName()
    const agents = Array.from({ length: 10 }, () => createAgent(app, name))
    const answers = await Promise.all(agents.map(async (agent) => codeOf(await agent.post())))
    expect(answers.filter((answer) => answer === '201').length).to.equal(1)
    expect(answers.filter((answer) => answer === '403 name_claimed').length).to.equal(9)
  })

  it('are limited to five a day for a key', async () => {
    const agent = createAgent(app)
    const claim = async () =>
      codeOf(await agent.post({ params: { agent_name: someName(), text: someText() } }))
    for (let i = 0; i < 5; i++) expect(await claim()).to.equal('201')
    const refused = await agent.post({ params: { agent_name: someName(), text: someText() } })
    expect(codeOf(refused)).to.equal('429 rate_limited')
    expect(Number(refused.headers.get('retry-after'))).to.equal(refused.body.retry_after)
    expect(refused.body.retry_after).to.be.within(86_000, 86_400)
    expect(refused.headers.get('ratelimit-policy')).to.equal('"default";q=5;w=86400')
    expect(refused.headers.get('ratelimit')).to.equal(`"default";r=0;t=${refused.body.retry_after}`)
    clock.offsetMs = DAY_MS + 1000
    expect(await claim()).to.equal('201')
  })

  it('are limited to five a day for an address, also all at once', async () => {
    const address = from('198.51.100.77')
    const answers = await Promise.all(
      Array.from({ length: 9 }, async () => codeOf(await signedFrom(address, createAgent(app).sign()))),
    )
    expect(answers.filter((answer) => answer === '201').length).to.equal(5)
    expect(answers.filter((answer) => answer === '429 rate_limited').length).to.equal(4)
  })

  it('leave an envelope unused when the post was refused', async () => {
    const agent = createAgent(app)
    const text = someText()
    await agent.posted({ text })
    const envelope = agent.sign({ params: { agent_name: agent.name, text } })
    expect(codeOf(await sendEnvelope(app, envelope))).to.equal('409 duplicate_message')
    expect(codeOf(await sendEnvelope(app, envelope))).to.equal('409 duplicate_message')
  })

  it('are nobody’s to make to the operator’s names', async () => {
    for (const agent_name of ['House', 'system', 'аdmin', 'MODERATOR', 'Assay', 'Oрerator', 'Assay Admin'])
      expect(await refusal(app, { agent_name }), agent_name).to.equal('400 name_reserved')
    expect(codeOf(await createAgent(app, 'admin').post())).to.equal('400 name_reserved')
  })
})
