/** Messages are posted, read in order, filtered, threaded and counted. */
import { expect } from 'chai'
import {
  type ChatStats,
  type Message,
  type Thread,
  UNTRUSTED_NOTICE,
} from '../../../src/domain/chat/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf, idsOf, listed, posted, refusal } from '../../support/chat/chat.ts'
import { openStream } from '../../support/chat/event-stream.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { createAgent, postPlain, someName, someText } from '../../support/domain/envelopes.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** On a slow machine counts are remembered for long. */
const STATS_TIMEOUT_MS = 120_000

describe('messages of the chat', () => {
  const clock = movedClock()
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  const read = (path: string) => app.request<Thread>('GET', path)

  describe('posting', () => {
    it('answers with the message as everybody reads it, and with the warning', async () => {
      const [prompt] = app.services.prompts.list({})
      const fields = {
        agent_name: someName(),
        text: someText(),
        model: 'm-1',
        topic: 'tea',
        prompt_id: prompt?.id,
      }
      const { status, body } = await postPlain(app, fields)
      expect(status).to.equal(201)
      expect(body.notice).to.equal(UNTRUSTED_NOTICE)
      const { id, created_at, ...rest }: Message = body.message
      expect(rest).to.deep.equal({
        ...fields,
        reply_to: null,
        thread_id: id,
        kind: 'agent',
        source: 'api',
        verified: false,
        reply_count: 0,
      })
      expect(new Date(created_at).toISOString()).to.equal(created_at)
      expect((await read(`/api/messages/${id}`)).body.message).to.deep.equal(body.message)
    })

    it('takes null for absent', async () => {
      const message = await posted(app, {
        model: null,
        topic: null,
        prompt_id: null,
        reply_to: null,
        envelope: null,
      })
      expect([message.model, message.topic, message.prompt_id, message.reply_to]).to.deep.equal([
        null,
        null,
        null,
        null,
      ])
    })

    it('takes application/json only', async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ]) {
        const answer = await app.request('POST', '/api/messages', {
          body: '{}',
          headers: { 'content-type': type },
        })
        expect(codeOf(answer), type).to.equal('415 unsupported_media_type')
      }
    })

    it('says what is wrong with a body that is no message', async () => {
      const code = async (body: unknown) => codeOf(await app.request('POST', '/api/messages', { body }))
      expect(await code('{"agent_name":')).to.equal('400 invalid_json')
      for (const body of [
        [],
        'null',
        'true',
        '3',
        '"text"',
        { agent_name: 1, text: 'hello' },
        { agent_name: 'a', text: ['x'] },
      ])
        expect(await code(body), JSON.stringify(body)).to.equal('400 invalid_body')
      expect(await code({})).to.equal('400 agent_name_required')
      expect(await code({ text: 'hello' })).to.equal('400 agent_name_required')
      expect(await code({ agent_name: 'a' })).to.equal('400 text_required')
      expect(await code({ agent_name: 'a', text: 'hello', reply_to: '1' })).to.equal('400 invalid_body')
      expect(await code({ agent_name: 'a', text: 'hello', reply_to: 1.5 })).to.equal('400 invalid_body')
      expect(await code({ agent_name: 'a', text: 'x'.repeat(70_000) })).to.equal('413 payload_too_large')
    })

    it('refuses prompts and messages that do not exist', async () => {
      expect(await refusal(app, { prompt_id: 'science-no-such-prompt' })).to.equal('400 unknown_prompt')
      expect(await refusal(app, { prompt_id: '' })).to.equal('400 unknown_prompt')
      for (const reply_to of [0, -1, 2 ** 52, 2 ** 53, 1e300])
        expect(await refusal(app, { reply_to }), String(reply_to)).to.equal('400 unknown_reply_to')
    })

    it('marks what our own page posts, and nothing else', async () => {
      const origin = app.services.chat.pageOrigin
      const source = async (headers: Record<string, string>) => (await posted(app, {}, headers)).source
      expect(await source({ origin, 'x-assay-client': 'chat' })).to.equal('web')
      expect(await source({ origin })).to.equal('api')
      expect(await source({ 'x-assay-client': 'chat' })).to.equal('api')
      expect(await source({ origin: 'https://elsewhere.example', 'x-assay-client': 'chat' })).to.equal('api')
    })

    it('gives neighbours of the same moment ids without gaps, each once', async () => {
      const own = await startTestApp()
      try {
        const messages = await Promise.all(Array.from({ length: 100 }, () => posted(own)))
        const ids = idsOf(messages).sort((a, b) => a - b)
        expect(ids).to.deep.equal(ids.map((_, i) => i + 1))
        const { messages: all } = await listed(own, { after: 0, limit: 100 })
        expect(idsOf(all)).to.deep.equal(ids)
        expect(
          all.every((message, i) => i === 0 || message.created_at >= (all[i - 1]?.created_at ?? '')),
        ).to.equal(true)
      } finally {
        await own.close()
      }
    })
  })

  describe('reading', () => {
    let name: string
    let messages: Message[]
    before(async () => {
      name = someName()
      messages = []
      for (let i = 0; i < 7; i++) messages.push(await posted(app, { agent_name: name }))
    })

    it('pages from the newest to the oldest, every message once', async () => {
      const seen: number[] = []
      let before: number | undefined
      for (;;) {
        const page = await listed(app, { agent: name, limit: 3, ...(before && { before }) })
        expect(page.notice).to.equal(UNTRUSTED_NOTICE)
        expect(page.posting).to.equal('open')
        seen.push(...idsOf(page.messages))
        if (page.next_before === null) break
        before = page.next_before
      }
      expect(seen).to.deep.equal(idsOf(messages).reverse())
    })

    it('reads oldest first above `after`, and between `after` and `before`', async () => {
      const ids = idsOf(messages)
      const page = await listed(app, { agent: name, after: ids[1] ?? 0, limit: 3 })
      expect(idsOf(page.messages)).to.deep.equal(ids.slice(2, 5))
      expect(page.next_before).to.equal(null)
      const between = await listed(app, { agent: name, after: ids[0] ?? 0, before: ids[3] ?? 0 })
      expect(idsOf(between.messages)).to.deep.equal(ids.slice(1, 3))
    })

    it('finds an agent by its exact name only', async () => {
      expect(idsOf((await listed(app, { agent: ` ${name} ` })).messages)).to.deep.equal(
        idsOf(messages).reverse(),
      )
      expect((await listed(app, { agent: name.toUpperCase() })).messages).to.deep.equal([])
    })

    it('gives 50 messages unless another number is asked for, and at most 100', async () => {
      await Promise.all(Array.from({ length: 101 }, () => posted(app)))
      expect((await listed(app, {})).messages.length).to.equal(50)
      expect((await listed(app, { limit: 1 })).messages.length).to.equal(1)
      expect((await listed(app, { limit: 100 })).messages.length).to.equal(100)
    })

    it('refuses a query that can mean nothing', async () => {
      const queries = [
        'limit=0',
        'limit=101',
        'limit=x',
        'before=0',
        'before=x',
        'after=-1',
        'thread=0',
        'verified=0',
        'verified=true',
        'agent=',
        `agent=${'x'.repeat(49)}`,
        'q=',
        `q=${'x'.repeat(81)}`,
      ]
      for (const query of queries)
        expect(codeOf(await read(`/api/messages?${query}`)), query).to.equal('400 invalid_query')
      expect((await read(`/api/messages?q=${'x'.repeat(80)}`)).status).to.equal(200)
    })

    it('finds messages that hold every word, in any order and case', async () => {
      const word = `w${someText().slice(-13, -1)}`.replaceAll('-', '')
      const { id } = await posted(app, { text: `The ${word} is over THERE, near the river.` })
      const found = async (q: string) => idsOf((await listed(app, { q })).messages)
      expect(await found(word)).to.deep.equal([id])
      expect(await found(`river ${word.toUpperCase()}`)).to.deep.equal([id])
      expect(await found(`${word} bridge`)).to.deep.equal([])
      expect(await found('!?')).to.deep.equal([])
      expect(await found(`${word}:* | 'river`)).to.deep.equal([id])
    })

    it('tells verified messages from others', async () => {
      const agent = createAgent(app)
      const { id } = await agent.posted()
      await posted(app)
      const { messages: verified } = await listed(app, { verified: '1', limit: 100 })
      expect(idsOf(verified)).to.include(id)
      expect(verified.every((message) => message.verified)).to.equal(true)
    })
  })

  describe('threads', () => {
    it('hold all that follows from one message, and count direct replies', async () => {
      const root = await posted(app)
      const reply = await posted(app, { reply_to: root.id })
      const deeper = await posted(app, { reply_to: reply.id })
      const second = await posted(app, { reply_to: root.id })
      expect([reply, deeper, second].map(({ thread_id }) => thread_id)).to.deep.equal([
        root.id,
        root.id,
        root.id,
      ])
      const { body } = await read(`/api/messages/${deeper.id}`)
      expect(body.message.id).to.equal(deeper.id)
      expect(body.root_id).to.equal(root.id)
      expect(idsOf(body.thread)).to.deep.equal([root.id, reply.id, deeper.id, second.id])
      expect(body.thread.map(({ reply_count }) => reply_count)).to.deep.equal([2, 1, 0, 0])
      expect(body.next_after).to.equal(null)
      expect(idsOf((await listed(app, { thread: root.id })).messages)).to.deep.equal(
        idsOf(body.thread).reverse(),
      )
    })

    it('count replies of the same moment, each once', async () => {
      const root = await posted(app)
      await Promise.all(Array.from({ length: 20 }, () => posted(app, { reply_to: root.id })))
      expect((await read(`/api/messages/${root.id}`)).body.message.reply_count).to.equal(20)
    })

    it('are read in pages of 200', async () => {
      const root = await posted(app)
      const replies = await Promise.all(Array.from({ length: 204 }, () => posted(app, { reply_to: root.id })))
      const ids = idsOf(replies).sort((a, b) => a - b)
      const { body: first } = await read(`/api/messages/${root.id}`)
      expect(idsOf(first.thread)).to.deep.equal([root.id, ...ids.slice(0, 199)])
      expect(first.next_after).to.equal(ids[198])
      const { body: last } = await read(`/api/messages/${root.id}?after=${first.next_after}`)
      expect(idsOf(last.thread)).to.deep.equal(ids.slice(199))
      expect(last.next_after).to.equal(null)
      expect(last.message.id).to.equal(root.id)
    })

    it('do not exist for ids that no message has', async () => {
      for (const id of ['0', '-1', '1.5', 'x', '9007199254740991', '9007199254740993'])
        expect(codeOf(await read(`/api/messages/${id}`)), id).to.equal('404 not_found')
    })
  })

  it('counts and pages the messages of a prompt', async () => {
    // One that no other test of this file posts to.
    const prompt = app.services.prompts.list({}).at(-1)
    if (prompt === undefined) throw new Error('there are no prompts')
    const before = await app.services.chat.replies(prompt.id, {})
    const replies = await Promise.all(Array.from({ length: 22 }, () => posted(app, { prompt_id: prompt.id })))
    const ids = idsOf(replies).sort((a, b) => b - a)
    const page = await app.services.chat.replies(prompt.id, {})
    expect(page.reply_count).to.equal(before.reply_count + 22)
    expect(idsOf(page.replies)).to.deep.equal(ids.slice(0, 20))
    const next = await app.services.chat.replies(prompt.id, { before: page.next_before ?? 0 })
    expect(idsOf(next.replies).slice(0, 2)).to.deep.equal(ids.slice(20))
    expect(idsOf((await listed(app, { prompt_id: prompt.id, limit: 22 })).messages)).to.deep.equal(ids)
  })

  it('counts what was just posted here, in the counts and on the stream', async () => {
    const own = await startTestApp({ clock })
    try {
      const stats = async () => (await own.request<ChatStats>('GET', '/api/stats')).body
      const counts = async () => {
        const { messages, messages_24h, threads, agents, agents_24h, verified_messages } = await stats()
        return [messages, messages_24h, threads, agents, agents_24h, verified_messages]
      }
      expect(await counts()).to.deep.equal([0, 0, 0, 0, 0, 0])
      const first = await posted(own, { agent_name: 'Ada' })
      expect(await counts()).to.deep.equal([1, 1, 1, 1, 1, 0])
      await posted(own, { agent_name: 'Ada', reply_to: first.id })
      expect(await counts()).to.deep.equal([2, 2, 1, 1, 1, 0])
      const agent = createAgent(own, 'Cy')
      await agent.posted()
      expect(await counts()).to.deep.equal([3, 3, 2, 2, 2, 1])
      // What is taken back at once is in none of the counts but the agent's.
      const mistaken = await agent.posted()
      expect(await counts()).to.deep.equal([4, 4, 3, 2, 2, 2])
      expect((await agent.remove(mistaken.id)).status).to.equal(204)
      expect(await counts()).to.deep.equal([3, 3, 2, 2, 2, 1])
      const reader = await openStream(`${own.url}/api/stream`)
      await reader.until(({ of }) => of('stats').length > 0)
      expect(reader.of('stats')[0]?.data).to.include({ messages: 3, agents: 2 })
      reader.close()
      // Many at once, while others count.
      await Promise.all(
        Array.from({ length: 30 }, async (_, i) => {
          const seen = (await stats()).messages
          await posted(own, { agent_name: `Agent ${i}` })
          expect((await stats()).messages).to.be.greaterThan(seen)
        }),
      )
      expect(await counts()).to.deep.equal([33, 33, 32, 32, 32, 1])
    } finally {
      await own.close()
    }
  })

  it('counts what can be read, and what is new of the last 24 hours', async function () {
    this.timeout(STATS_TIMEOUT_MS)
    const own = await startTestApp({ clock })
    try {
      const stats = async () => (await own.request<ChatStats>('GET', '/api/stats')).body
      /** Counts are remembered for a while, the longer the slower the machine is. */
      const countedAs = async (expected: Partial<ChatStats>): Promise<void> => {
        const wanted = Object.entries(expected)
        const fits = (counts: object) => wanted.every(([name, value]) => Reflect.get(counts, name) === value)
        let counts = await stats()
        while (!fits(counts)) {
          await new Promise((resolve) => setTimeout(resolve, 100))
          counts = await stats()
        }
      }
      const empty = await stats()
      expect([
        empty.messages,
        empty.messages_24h,
        empty.threads,
        empty.agents,
        empty.agents_24h,
      ]).to.deep.equal([0, 0, 0, 0, 0])
      const old = await posted(own, { agent_name: 'Ada' })
      await posted(own, { agent_name: 'Bo', reply_to: old.id })
      clock.offsetMs += DAY_MS + 1
      await posted(own, { agent_name: 'Ada' })
      const agent = createAgent(own, 'Cy')
      const signed = await agent.posted()
      await countedAs({
        messages: 4,
        messages_24h: 2,
        threads: 3,
        agents: 3,
        agents_24h: 2,
        verified_messages: 1,
        posting: 'open',
        streams: 0,
        categories: 15,
      })
      expect((await stats()).prompts).to.equal(own.services.prompts.count)
      const { status } = await agent.remove(signed.id)
      expect(status).to.equal(204)
      await countedAs({
        messages: 3,
        messages_24h: 1,
        threads: 2,
        agents: 3,
        verified_messages: 0,
      })
    } finally {
      await own.close()
    }
  })
})
