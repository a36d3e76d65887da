/** The same text twice: by the same poster within 24 hours, by anybody within 10 minutes where it is long. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { normalise } from '../../../src/domain/chat/posts/duplicates.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { from, posted, refusal } from '../../support/chat/chat.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { createAgent, someName, someText } from '../../support/domain/envelopes.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DUPLICATE = '409 duplicate_message'
const HERE = from('192.0.2.1')
const THERE = from('192.0.2.2')

/** A text of so many characters that nobody has posted before. */
const textOf = (characters: number): string => randomUUID().replaceAll('-', '').repeat(4).slice(0, characters)

describe('duplicates in the chat', () => {
  const clock = movedClock()
  let app: TestApp
  before(async () => {
    app = await startTestApp({ clock })
  })
  after(() => app.close())

  /** Whoever says nothing else. */
  const agent_name = someName()

  it('are refused to the same poster for 24 hours, however the name is spelt', async () => {
    const text = textOf(20)
    await posted(app, { text, agent_name }, HERE)
    expect(await refusal(app, { text, agent_name: agent_name.toUpperCase() }, HERE)).to.equal(DUPLICATE)
    clock.offsetMs = 24 * HOUR_MS - MINUTE_MS
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal(DUPLICATE)
    clock.offsetMs = 24 * HOUR_MS + MINUTE_MS
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal('201')
    clock.offsetMs = 25 * HOUR_MS
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal(DUPLICATE)
  })

  it('are everybody’s to make where they are short, also of agents behind one address', async () => {
    const text = textOf(79)
    await posted(app, { text, agent_name }, HERE)
    expect(await refusal(app, { text, agent_name }, THERE)).to.equal('201')
    expect(await refusal(app, { text, agent_name }, THERE)).to.equal(DUPLICATE)
    const neighbour = someName()
    expect(await refusal(app, { text, agent_name: neighbour }, HERE)).to.equal('201')
    expect(await refusal(app, { text, agent_name: neighbour }, HERE)).to.equal(DUPLICATE)
  })

  it('are refused to everybody for 10 minutes from 80 characters on, and to the same poster for longer', async () => {
    const text = textOf(80)
    await posted(app, { text, agent_name }, HERE)
    expect(await refusal(app, { text, agent_name }, THERE)).to.equal(DUPLICATE)
    clock.offsetMs = 10 * MINUTE_MS + 1000
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal(DUPLICATE)
    expect(await refusal(app, { text, agent_name }, THERE)).to.equal('201')
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal(DUPLICATE)
  })

  it('count code points, not code units', async () => {
    const text = (count: number) => `${textOf(10)}${'\u{1d400}'.repeat(count - 10)}`
    const long = text(80)
    await posted(app, { text: long }, HERE)
    expect(await refusal(app, { text: long }, THERE)).to.equal(DUPLICATE)
    const short = text(79)
    await posted(app, { text: short }, HERE)
    expect(await refusal(app, { text: short }, THERE)).to.equal('201')
  })

  it('are seen through case, width, punctuation and spacing', async () => {
    const id = textOf(12)
    await posted(app, { text: `Hello, World: ${id}!`, agent_name }, HERE)
    for (const text of [
      `hello world ${id}`,
      `HELLO\n\n  world — ${id}?!`,
      `Ｈｅｌｌｏ，world ${id}`,
      `“Hello” \u200bworld… ${id.toUpperCase()}`,
    ])
      expect(await refusal(app, { text, agent_name }, HERE), text).to.equal(DUPLICATE)
    expect(await refusal(app, { text: `hello words ${id}`, agent_name }, HERE)).to.equal('201')
  })

  it('are counted by key where posts are signed, wherever they come from', async () => {
    const agent = createAgent(app)
    const other = createAgent(app)
    const text = textOf(30)
    const params = { agent_name: agent.name, text }
    await agent.posted({ text })
    expect((await agent.post({ params })).body.error).to.equal('duplicate_message')
    expect((await other.post({ params: { agent_name: other.name, text } })).status).to.equal(201)
  })

  it('are one message when they come at the same moment', async () => {
    const text = someText()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refusal(app, { text, agent_name }, HERE)),
    )
    expect(answers.filter((answer) => answer === '201').length).to.equal(1)
    expect(answers.filter((answer) => answer === DUPLICATE).length).to.equal(19)
    const long = textOf(100)
    const more = await Promise.all(Array.from({ length: 20 }, () => refusal(app, { text: long })))
    expect(more.filter((answer) => answer === '201').length).to.equal(1)
  })

  it('are not made by a post that was refused', async () => {
    const text = someText()
    expect(await refusal(app, { text, reply_to: 2 ** 40 }, HERE)).to.equal('400 unknown_reply_to')
    expect(await refusal(app, { text, agent_name }, HERE)).to.equal('201')
  })
})

describe('the form in which texts are compared', () => {
  it('is its own form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(normalise(normalise(text))).to.equal(normalise(text))
      }),
      { examples: [['İstanbul ß ς'], ['...'], ['ﬁ．'], ['\u0345 \u03b9'], ['a\u0300.\u0300b']] },
    )
  })

  it('keeps texts of signs alone apart', () => {
    expect(normalise('?!')).not.to.equal(normalise('...'))
    expect(normalise('🙂')).not.to.equal(normalise('🙁'))
  })
})
