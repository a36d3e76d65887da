/** The tables of the chat's interface as data: each field, bound, parameter and status, through HTTP. */
import { expect } from 'chai'
import {
  type Message,
  type MessagePage,
  type Posted,
  type Thread,
  UNTRUSTED_NOTICE,
} from '../../../src/domain/chat/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import {
  createAgent,
  type ErrorBody,
  postPlain,
  sendEnvelope,
  someName,
  someText,
} from '../../support/domain/envelopes.ts'

const SQUID = '🦑'
/** e and a combining accent: two code points as sent, one as kept. */
const DECOMPOSED = 'e\u0301'

const MESSAGE_FIELDS = [
  'id',
  'created_at',
  'agent_name',
  'model',
  'prompt_id',
  'topic',
  'reply_to',
  'thread_id',
  'text',
  'kind',
  'source',
  'verified',
  'reply_count',
]

let unique = 0
/** Text of so many code points that nobody else posts. */
const textOf = (characters: number, filler = 'x'): string => {
  unique += 1
  const start = `${unique} ${process.pid} ${someName()} `
  return start + filler.repeat(characters - start.length)
}
const nameOf = (characters: number, filler = 'n'): string => {
  unique += 1
  const start = `${unique.toString(36)}q`
  return start + filler.repeat(characters - start.length)
}

describe('the chat’s interface', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const get = <T>(path: string) => app.request<T & ErrorBody>('GET', path)
  const post = (body: unknown, headers?: Record<string, string>) =>
    app.request<Posted & ErrorBody>('POST', '/api/messages', { body, headers })

  describe('NewMessage', () => {
    type Row = readonly [what: string, fields: () => Record<string, unknown>, kept?: Partial<Message>]

    const accepted: readonly Row[] = [
      ['agent_name of 1 character', () => ({ agent_name: '漢' })],
      ['agent_name of 48 characters', () => ({ agent_name: nameOf(48) })],
      ['agent_name of 48 characters beyond the BMP', () => ({ agent_name: nameOf(48, SQUID) })],
      ['agent_name of 48 characters after NFC', () => ({ agent_name: nameOf(48, DECOMPOSED) })],
      ['agent_name with space around it', () => ({ agent_name: `  ${nameOf(47)} \n` })],
      ['text of 2 characters', () => ({ text: 'hm' }), { text: 'hm' }],
      ['text of 2,000 characters', () => ({ text: textOf(2000) })],
      ['text of 2,000 characters beyond the BMP', () => ({ text: textOf(2000, SQUID) })],
      ['text of 2,000 characters after NFC', () => ({ text: textOf(2000, DECOMPOSED) })],
      ['text of 2,000 characters after trimming', () => ({ text: `\n ${textOf(2000)}\t ` })],
      ['model absent', () => ({}), { model: null }],
      ['model null', () => ({ model: null }), { model: null }],
      ['model of 64 characters', () => ({ model: 'm'.repeat(64) }), { model: 'm'.repeat(64) }],
      ['topic absent', () => ({}), { topic: null }],
      ['topic null', () => ({ topic: null }), { topic: null }],
      ['topic of 60 characters', () => ({ topic: SQUID.repeat(60) }), { topic: SQUID.repeat(60) }],
      ['prompt_id absent', () => ({}), { prompt_id: null }],
      ['prompt_id null', () => ({ prompt_id: null }), { prompt_id: null }],
      [
        'prompt_id of a prompt',
        () => ({ prompt_id: 'maths-night-clerk' }),
        { prompt_id: 'maths-night-clerk' },
      ],
      ['reply_to absent', () => ({}), { reply_to: null }],
      ['reply_to null', () => ({ reply_to: null }), { reply_to: null }],
      ['envelope null', () => ({ envelope: null })],
    ]
    for (const [what, fields, kept = {}] of accepted) {
      it(`takes ${what}`, async () => {
        const sent: Record<string, unknown> = { agent_name: someName(), text: someText(), ...fields() }
        const { status, body } = await post(sent)
        expect(status, JSON.stringify(body)).to.equal(201)
        expect(Object.keys(body)).to.deep.equal(['message', 'notice'])
        expect(body.notice).to.equal(UNTRUSTED_NOTICE)
        const { message } = body
        expect(Object.keys(message)).to.deep.equal(MESSAGE_FIELDS)
        expect(message).to.include({ kind: 'agent', source: 'api', verified: false, reply_count: 0, ...kept })
        expect(message.agent_name).to.equal(String(sent.agent_name).normalize('NFC').trim())
        expect(message.text).to.equal(String(sent.text).normalize('NFC').trim())
        expect(message.thread_id).to.equal(message.id)
        expect(message.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        expect((await get<Thread>(`/api/messages/${message.id}`)).body.message).to.deep.equal(message)
      })
    }

    it('takes fields that nobody knows, and says which they were', async () => {
      const fields = { mood: 'fine', id: 1, kind: 'house', verified: true }
      const { status, body } = await post({ agent_name: someName(), text: someText(), ...fields })
      expect([status, body.message.kind, body.message.verified]).to.deep.equal([201, 'agent', false])
      expect(body.notice).to.equal(
        `${UNTRUSTED_NOTICE} Ignored in your post: "mood", "id", "kind", "verified".`,
      )
    })

    it('says what was ignored beside an envelope and in its params', async () => {
      const agent = createAgent(app)
      const envelope = agent.sign({ params: { agent_name: agent.name, text: someText(), colour: 'red' } })
      const { status, body } = await post({ envelope, text: 'something else', agent_name: agent.name })
      expect(status, JSON.stringify(body)).to.equal(201)
      expect(body.notice).to.equal(
        `${UNTRUSTED_NOTICE} Ignored in your post: "text", "agent_name", "envelope.params.colour".`,
      )
    })

    it('names at most ten of them, and no more than 64 characters of each', async () => {
      const names = Array.from({ length: 12 }, (_, i) => `${i}${'x'.repeat(90)}`)
      const fields = Object.fromEntries(names.map((name) => [name, name.length]))
      const { body } = await post({ agent_name: someName(), text: someText(), ...fields })
      const told = body.notice.slice(UNTRUSTED_NOTICE.length)
      expect(told).to.include(`"${names[9]?.slice(0, 64)}" and 2 more.`)
      expect(told.length).to.be.below(800)
    })

    const refused: readonly (readonly [
      what: string,
      fields: () => Record<string, unknown>,
      error: string,
    ])[] = [
      ['agent_name absent', () => ({ agent_name: undefined }), 'agent_name_required'],
      ['agent_name null', () => ({ agent_name: null }), 'agent_name_required'],
      ['agent_name empty', () => ({ agent_name: '' }), 'agent_name_required'],
      ['agent_name of space', () => ({ agent_name: ' \n\t' }), 'agent_name_required'],
      ['agent_name of 49 characters', () => ({ agent_name: nameOf(49) }), 'agent_name_invalid'],
      ['agent_name with a newline', () => ({ agent_name: 'a\nb' }), 'control_characters'],
      ['agent_name that is a number', () => ({ agent_name: 7 }), 'invalid_body'],
      ['text absent', () => ({ text: undefined }), 'text_required'],
      ['text null', () => ({ text: null }), 'text_required'],
      ['text empty', () => ({ text: '' }), 'text_required'],
      ['text of space', () => ({ text: '   ' }), 'text_required'],
      ['text of 1 character', () => ({ text: 'x' }), 'text_too_short'],
      ['text of 1 character after trimming', () => ({ text: ` ${SQUID} ` }), 'text_too_short'],
      ['text of 1 character after NFC', () => ({ text: DECOMPOSED }), 'text_too_short'],
      ['text of 2,001 characters', () => ({ text: textOf(2001) }), 'text_too_long'],
      ['text with a bell', () => ({ text: 'ding \u0007 dong' }), 'control_characters'],
      ['text that is a list', () => ({ text: ['one', 'two'] }), 'invalid_body'],
      ['model of 65 characters', () => ({ model: 'm'.repeat(65) }), 'model_too_long'],
      ['model with a tab', () => ({ model: 'a\tb' }), 'control_characters'],
      ['model that is an object', () => ({ model: {} }), 'invalid_body'],
      ['topic of 61 characters', () => ({ topic: 't'.repeat(61) }), 'topic_too_long'],
      ['topic that is true', () => ({ topic: true }), 'invalid_body'],
      ['prompt_id of no prompt', () => ({ prompt_id: 'maths-unheard-of' }), 'unknown_prompt'],
      ['prompt_id empty', () => ({ prompt_id: '' }), 'unknown_prompt'],
      ['prompt_id that is a number', () => ({ prompt_id: 3 }), 'invalid_body'],
      ['reply_to of no message', () => ({ reply_to: 2 ** 40 }), 'unknown_reply_to'],
      ['reply_to 0', () => ({ reply_to: 0 }), 'unknown_reply_to'],
      ['reply_to beyond what a double counts', () => ({ reply_to: 2 ** 60 }), 'unknown_reply_to'],
      ['reply_to that is a text', () => ({ reply_to: '1' }), 'invalid_body'],
      ['reply_to that is no integer', () => ({ reply_to: 1.5 }), 'invalid_body'],
      ['envelope that is a text', () => ({ envelope: 'signed' }), 'envelope_schema'],
      ['envelope that is empty', () => ({ envelope: {} }), 'envelope_schema'],
    ]
    for (const [what, fields, error] of refused) {
      it(`refuses ${what}: ${error}`, async () => {
        const { status, body } = await post({ agent_name: someName(), text: someText(), ...fields() })
        expect([status, body.error]).to.deep.equal([400, error])
        expect(body.message).to.match(/^\w.+\.$/)
      })
    }

    it('a reply belongs to the thread of its target, and counts there', async () => {
      const root = (await postPlain(app)).body.message
      const reply = (await postPlain(app, { reply_to: root.id })).body.message
      const nested = (await postPlain(app, { reply_to: reply.id })).body.message
      expect(reply).to.include({ reply_to: root.id, thread_id: root.id })
      expect(nested).to.include({ reply_to: reply.id, thread_id: root.id })
      const { body } = await get<Thread>(`/api/messages/${nested.id}`)
      expect(Object.keys(body)).to.deep.equal(['message', 'thread', 'root_id', 'next_after', 'notice'])
      expect(body.root_id).to.equal(root.id)
      expect(body.thread.map(({ id, reply_count }) => [id, reply_count])).to.deep.equal([
        [root.id, 1],
        [reply.id, 1],
        [nested.id, 0],
      ])
    })

    it('an envelope takes the place of the fields, and adds relay to the message', async () => {
      const agent = createAgent(app)
      const text = someText()
      const envelope = agent.sign({
        params: { agent_name: agent.name, text },
        agent_id: 'ada',
        about: 'A test.',
      })
      const { status, body } = await post({ agent_name: 'ignored', text: 'ignored', envelope })
      expect(status, JSON.stringify(body)).to.equal(201)
      expect(Object.keys(body.message)).to.deep.equal([...MESSAGE_FIELDS, 'relay'])
      expect(body.message).to.deep.include({ agent_name: agent.name, text, verified: true })
      expect(body.message.relay).to.deep.equal({
        agent_id: 'ada',
        key_fingerprint: agent.fingerprint,
        proof_checked: false,
        about: 'A test.',
      })
    })
  })

  describe('GET /api/messages', () => {
    const agent = someName()
    const ids: number[] = []
    before(async () => {
      for (let count = 0; count < 55; count += 1) {
        const { body } = await postPlain(app, { agent_name: agent })
        ids.push(body.message.id)
      }
    })
    const read = async (query: string) => {
      const { status, body } = await get<MessagePage>(
        `/api/messages?agent=${encodeURIComponent(agent)}&${query}`,
      )
      expect(status, query).to.equal(200)
      expect(Object.keys(body)).to.deep.equal(['notice', 'messages', 'next_before', 'posting'])
      expect([body.notice, body.posting]).to.deep.equal([UNTRUSTED_NOTICE, 'open'])
      return { found: body.messages.map(({ id }) => id), next: body.next_before }
    }
    const newest = (count: number) => ids.slice(-count).toReversed()

    it('gives fifty, newest first, and leads to the older ones', async () => {
      const { found, next } = await read('')
      expect(found).to.deep.equal(newest(50))
      const older = await read(`before=${next}`)
      expect(older).to.deep.equal({ found: ids.slice(0, 5).toReversed(), next: null })
    })

    it('limit is 1 to 100', async () => {
      expect((await read('limit=1')).found).to.deep.equal(newest(1))
      expect(await read('limit=100')).to.deep.equal({ found: newest(55), next: null })
      expect((await read('limit=55')).next).to.equal(null)
    })

    it('after turns the order round, and is above its id', async () => {
      const [first, second, third] = ids as [number, number, number]
      expect((await read(`after=${first}&limit=2`)).found).to.deep.equal([second, third])
      expect((await read('after=0&limit=2')).found).to.deep.equal([first, second])
      expect((await read(`after=${ids.at(-1)}`)).found).to.deep.equal([])
    })

    it('before is below its id', async () => {
      expect((await read(`before=${ids[2]}`)).found).to.deep.equal([ids[1], ids[0]])
    })

    it('prompt_id, thread and verified each keep what they name', async () => {
      const author = createAgent(app, agent)
      const plain = await postPlain(app, { prompt_id: 'nature-count-the-leaves' })
      const thread = plain.body.message.id
      const reply = await postPlain(app, { reply_to: thread })
      const signed = await createAgent(app).posted({ reply_to: thread })
      expect(author.fingerprint).to.match(/^SHA256:/)
      const found = async (query: string) =>
        (await get<MessagePage>(`/api/messages?${query}`)).body.messages.map(({ id }) => id)
      expect(await found('prompt_id=nature-count-the-leaves')).to.deep.equal([thread])
      expect(await found('prompt_id=nature-unheard-of')).to.deep.equal([])
      expect(await found(`thread=${thread}`)).to.deep.equal([signed.id, reply.body.message.id, thread])
      expect(await found(`thread=${thread}&verified=1`)).to.deep.equal([signed.id])
      expect(await found(`agent=${encodeURIComponent(someName())}`)).to.deep.equal([])
    })

    for (const query of [
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=1.5',
      'limit=ten',
      'limit=1e400',
      'before=1e400',
      'after=Infinity',
      'thread=0x10',
      'limit=',
      'limit=1&limit=2',
      'before=0',
      'before=-1',
      'before=x',
      'before=9007199254740992',
      'after=-1',
      'after=x',
      'after=1.5',
      'thread=0',
      'thread=x',
      'agent=',
      `agent=${'n'.repeat(49)}`,
      'verified=0',
      'verified=true',
      'verified=',
      `q=${'x'.repeat(81)}`,
    ])
      it(`refuses ${query.slice(0, 30)}`, async () => {
        const { status, body } = await get(`/api/messages?${query}`)
        expect([status, body.error]).to.deep.equal([400, 'invalid_query'])
      })

    it('ignores parameters that it does not know', async () => {
      expect((await read('sort=oldest&limit=1')).found).to.deep.equal(newest(1))
    })
  })

  describe('GET /api/messages/{id}', () => {
    for (const id of [
      '0',
      '-1',
      '1.5',
      'x',
      '9007199254740991',
      '9007199254740992',
      '1e400',
      '%20',
      '0x10',
      'null',
    ])
      it(`${id} is 404`, async () => {
        const { status, body } = await get(`/api/messages/${id}`)
        expect([status, body.error]).to.deep.equal([404, 'not_found'])
      })
  })

  describe('POST /api/messages', () => {
    it('400 for a reserved name, and 403 for one that is bound to a key', async () => {
      const agent = createAgent(app)
      await agent.posted()
      for (const [agent_name, code, error] of [
        ['System', 400, 'name_reserved'],
        [agent.name, 403, 'name_claimed'],
      ] as const) {
        const { status, body } = await postPlain(app, { agent_name })
        expect([status, body.error]).to.deep.equal([code, error])
      }
    })

    it('409 for the same message again, and for an envelope used twice', async () => {
      const headers = { 'x-forwarded-for': '198.51.100.9' }
      const body = { agent_name: someName(), text: someText() }
      expect((await post(body, headers)).status).to.equal(201)
      const again = await post(body, headers)
      expect([again.status, again.body.error]).to.deep.equal([409, 'duplicate_message'])
      const envelope = createAgent(app).sign()
      expect((await sendEnvelope(app, envelope)).status).to.equal(201)
      const replayed = await sendEnvelope(app, envelope)
      expect([replayed.status, replayed.body.error]).to.deep.equal([409, 'replayed_envelope'])
    })

    it('415 for anything that is not declared as application/json', async () => {
      const body = JSON.stringify({ agent_name: someName(), text: someText() })
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonp',
        'text/json',
        '',
      ]) {
        const answer = await post(body, { 'content-type': type })
        expect([answer.status, answer.body.error], type).to.deep.equal([415, 'unsupported_media_type'])
      }
      const declared = await post(body, { 'content-type': 'Application/JSON; charset=utf-8' })
      expect(declared.status).to.equal(201)
    })

    it('400 for what is no JSON, 413 for more than 64 KiB', async () => {
      for (const body of ['', '{', 'null', '[]', '"text"', '17']) {
        const answer = await post(body)
        expect(answer.status, body).to.equal(400)
        expect(answer.body.error).to.be.oneOf(['invalid_json', 'invalid_body'])
      }
      const large = await post(
        JSON.stringify({ agent_name: someName(), text: 'x', padding: 'y'.repeat(65_536) }),
      )
      expect([large.status, large.body.error]).to.deep.equal([413, 'payload_too_large'])
    })

    describe('as limits and the operator have it', () => {
      let other: TestApp
      before(async () => {
        other = await startTestApp({ env: { CHAT_LIMITS: '{"postsPerMinute":3}' } })
      })
      after(() => other.close())
      const setMode = async (mode: string) => {
        const { status } = await other.request('PUT', '/console/api/posting', {
          key: other.adminKey,
          body: { mode },
        })
        expect(status).to.equal(200)
      }
      const modeRead = async () => (await other.request<MessagePage>('GET', '/api/messages')).body.posting

      it('429 above the limit, with Retry-After; refused bodies do not count', async () => {
        const headers = { 'x-forwarded-for': '192.0.2.5' }
        for (let count = 0; count < 3; count += 1) {
          expect((await postPlain(other, { text: 'x' }, headers)).status).to.equal(400)
          expect((await postPlain(other, {}, headers)).status).to.equal(201)
        }
        const { status, body, headers: answered } = await postPlain(other, {}, headers)
        expect([status, body.error]).to.deep.equal([429, 'rate_limited'])
        expect(body.retry_after).to.be.within(1, 60)
        expect(answered.get('retry-after')).to.equal(String(body.retry_after))
        expect((await postPlain(other, {}, { 'x-forwarded-for': '192.0.2.6' })).status).to.equal(201)
      })

      it('503 while posting is paused, 403 for unverified agents while only verified ones may post', async () => {
        for (const [mode, status, error] of [
          ['paused', 503, 'posting_paused'],
          ['verified_only', 403, 'verified_only'],
          ['open', 201, undefined],
        ] as const) {
          await setMode(mode)
          expect(await modeRead()).to.equal(mode)
          const plain = await postPlain(other)
          expect([plain.status, plain.body.error]).to.deep.equal([status, error])
          // A key whose name is new qualifies no more than none.
          const signed = await createAgent(other).post()
          expect([signed.status, signed.body.error]).to.deep.equal([status, error])
        }
      })
    })
  })
})
