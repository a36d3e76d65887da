/** Prompts, through the real app: the list, the one of the day, a random one. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { loadCatalogue } from '../../../src/domain/chat/prompts/catalogue.ts'
import {
  CATEGORY_IDS,
  type Category,
  type Daily,
  type Prompt,
  type PromptList,
  type PromptPage,
} from '../../../src/domain/chat/prompts/schemas-prompts.ts'
import { UNTRUSTED_NOTICE } from '../../../src/domain/chat/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { postPlain } from '../../support/domain/envelopes.ts'

type Failure = { error: string; details: { path: string; message: string }[] }

const catalogue = loadCatalogue()
/** Prompts of the days from 2026-01-01 on. */
const recorded: { daily: string[] } = JSON.parse(
  readFileSync(new URL('../../vectors/prompt-catalogue.json', import.meta.url), 'utf8'),
)
const ids = (prompts: readonly { id: string }[]) => prompts.map(({ id }) => id)

describe('prompts', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const get = <T>(path: string, headers: Record<string, string> = {}, of = app) =>
    of.request<T & Failure>('GET', path, { headers })
  const list = async (query: Record<string, string>): Promise<PromptList> => {
    const { status, body } = await get<PromptList>(`/api/prompts?${new URLSearchParams(query)}`)
    expect(status, JSON.stringify(query)).to.equal(200)
    expect(body.count).to.equal(body.prompts.length)
    return body
  }

  describe('GET /api/prompts', () => {
    it('lists the whole catalogue with its categories and the prompt of the day', async () => {
      const before = (await get<Daily>('/api/prompts/daily')).body
      const { body } = await get<PromptList>('/api/prompts')
      expect(Object.keys(body)).to.deep.equal(['count', 'categories', 'prompts', 'daily'])
      expect(body.prompts).to.deep.equal(catalogue.prompts)
      expect(ids(body.categories)).to.deep.equal([...CATEGORY_IDS])
      expect(body.categories).to.deep.equal(catalogue.categories satisfies readonly Category[])
      // Another day may have begun meanwhile.
      expect([before, (await get<Daily>('/api/prompts/daily')).body]).to.deep.include(body.daily)
    })

    for (const category of CATEGORY_IDS) {
      it(`category=${category} keeps that one, and all categories are listed still`, async () => {
        const body = await list({ category })
        expect(body.count).to.be.at.least(12)
        expect(new Set(body.prompts.map((prompt) => prompt.category))).to.deep.equal(new Set([category]))
        expect(body.categories).to.have.length(CATEGORY_IDS.length)
      })
    }

    const oneTerm = ids(catalogue.prompts.filter((prompt) => /hilbert/i.test(JSON.stringify(prompt))))
    for (const [what, q] of [
      ['any case', 'hILBERT'],
      ['full-width letters', 'Ｈｉｌｂｅｒｔ'],
      ['part of a word', 'ilber'],
      ['space around it', '  hilbert '],
    ] as const)
      it(`q finds text in ${what}`, async () => {
        expect(oneTerm).to.include('maths-night-clerk')
        expect(ids((await list({ q })).prompts)).to.deep.equal(oneTerm)
      })

    it('q finds titles, tags and several words in any order, within the category', async () => {
      expect(ids((await list({ q: 'night clerk' })).prompts)).to.include('maths-night-clerk')
      expect(ids((await list({ q: 'clerk humour infinity coaches' })).prompts)).to.deep.equal([
        'maths-night-clerk',
      ])
      expect((await list({ q: 'clerk infinity', category: 'science' })).prompts).to.deep.equal([])
      expect((await list({ q: 'no-such-word-here' })).count).to.equal(0)
    })

    it('q without words keeps all', async () => {
      for (const q of ['', '   ', '\t\n'])
        expect((await list({ q })).count).to.equal(catalogue.prompts.length)
    })

    it('q is text and no pattern', async () => {
      for (const q of ['.*', '(a+)+$', '[a-z]', '\\', '%', '$&', "'; --"])
        expect(ids((await list({ q })).prompts), q).to.deep.equal(
          ids(catalogue.prompts.filter((prompt) => `${prompt.title}\n${prompt.text}`.includes(q))),
        )
    })

    it('q may have eighty characters, not code units, and no more', async () => {
      for (const character of ['x', '🦑']) {
        expect((await list({ q: character.repeat(80) })).count).to.equal(0)
        const { status, body } = await get(`/api/prompts?q=${encodeURIComponent(character.repeat(81))}`)
        expect([status, body.error, body.details[0]?.path]).to.deep.equal([400, 'invalid_query', 'query/q'])
        expect(body.details[0]?.message).to.contain('80')
      }
    })

    for (const [query, path] of [
      ['category=Science', 'query/category'],
      ['category=', 'query/category'],
      ['category=science&category=maths', 'query/category'],
      ['q=a&q=b', 'query/q'],
    ] as const)
      it(`refuses ${query}`, async () => {
        const { status, body } = await get(`/api/prompts?${query}`)
        expect([status, body.error, body.details[0]?.path]).to.deep.equal([400, 'invalid_query', path])
      })

    it('ignores parameters that it does not know', async () => {
      expect((await list({ sort: 'title' })).count).to.equal(catalogue.prompts.length)
    })
  })

  describe('GET /api/prompts/random', () => {
    it('gives each prompt sooner or later, is never kept, and says nothing else', async () => {
      const seen = new Set<string>()
      const all = ids(catalogue.prompts.filter((prompt) => prompt.category === 'debates'))
      // Thirteen of them are seen after a thousand tries but for one time in 10^33.
      for (let tries = 0; seen.size < all.length && tries < 1000; tries += 1) {
        const { body, headers } = await get<{ prompt: Prompt }>('/api/prompts/random?category=debates')
        expect(Object.keys(body)).to.deep.equal(['prompt'])
        expect(body.prompt.category).to.equal('debates')
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('etag')).to.equal(null)
        seen.add(body.prompt.id)
      }
      expect([...seen]).to.have.members(all)
    })

    it('without a category is any', async () => {
      const { status, body } = await get<{ prompt: Prompt }>('/api/prompts/random')
      expect(status).to.equal(200)
      expect(catalogue.prompts).to.deep.include(body.prompt)
    })

    it('refuses an unknown category', async () => {
      const { status, body } = await get('/api/prompts/random?category=cooking')
      expect([status, body.error, body.details[0]?.path]).to.deep.equal([
        400,
        'invalid_query',
        'query/category',
      ])
    })
  })

  describe('GET /api/prompts/{id}', () => {
    const REPLIES = 45
    const prompt = catalogue.prompts.find(({ id }) => id === 'stories-paragraph-relay') as Prompt
    const page = async (query = '') => (await get<PromptPage>(`/api/prompts/${prompt.id}${query}`)).body

    it('is found for every id of the catalogue', async () => {
      for (const { id } of catalogue.prompts) {
        const { status, body } = await get<PromptPage>(`/api/prompts/${id}`)
        expect([status, body.prompt.id]).to.deep.equal([200, id])
      }
    })

    it('has no replies at first, and says how things stand with posting', async () => {
      const body = await page()
      expect(body).to.deep.equal({
        prompt,
        replies: [],
        reply_count: 0,
        next_before: null,
        posting: 'open',
        notice: UNTRUSTED_NOTICE,
      })
    })

    it('leads through all messages that answer it, newest first, twenty at a time', async () => {
      const posted: number[] = []
      for (let count = 0; count < REPLIES; count += 1) {
        const { body } = await postPlain(app, { prompt_id: prompt.id })
        posted.push(body.message.id)
        if (count % 10 === 0) await postPlain(app, { prompt_id: 'stories-no-adjectives' })
      }
      const first = await page()
      expect(first.reply_count).to.equal(REPLIES)
      const second = await page(`?before=${first.next_before}`)
      const third = await page(`?before=${second.next_before}`)
      expect([first, second, third].map(({ replies }) => replies.length)).to.deep.equal([20, 20, 5])
      expect(third.next_before).to.equal(null)
      const read = [first, second, third].flatMap(({ replies }) => replies)
      expect(read.map(({ id }) => id)).to.deep.equal(posted.toReversed())
      expect(new Set(read.map(({ prompt_id }) => prompt_id))).to.deep.equal(new Set([prompt.id]))
    })

    it('is never kept, since replies come in', async () => {
      expect((await get(`/api/prompts/${prompt.id}`)).headers.get('cache-control')).to.equal('no-store')
    })

    for (const id of [
      'maths',
      'maths-',
      'MATHS-NIGHT-CLERK',
      'constructor',
      '__proto__',
      `maths-${'x'.repeat(3000)}`,
    ])
      it(`${id.slice(0, 20)} is 404`, async () => {
        const { status, body } = await get(`/api/prompts/${id}`)
        expect([status, body.error]).to.deep.equal([404, 'not_found'])
      })

    for (const before of ['0', '-1', 'x', '1.5', '9007199254740992'])
      it(`refuses before=${before}`, async () => {
        const { status, body } = await get(`/api/prompts/${prompt.id}?before=${before}`)
        expect([status, body.error, body.details[0]?.path]).to.deep.equal([
          400,
          'invalid_query',
          'query/before',
        ])
      })
  })

  it('may be read from pages of any origin, without credentials', async () => {
    for (const path of ['', '/daily', '/random', '/maths-night-clerk']) {
      const { headers } = await get(`/api/prompts${path}`, { origin: 'https://elsewhere.example' })
      expect(headers.get('access-control-allow-origin'), path).to.equal('*')
      expect(headers.get('access-control-allow-credentials'), path).to.equal(null)
    }
  })

  describe('around midnight UTC', () => {
    const MIDNIGHT = Date.parse('2026-03-01T00:00:00Z')
    let now = MIDNIGHT
    let other: TestApp
    before(async () => {
      other = await startTestApp({ clock: { now: () => now }, env: { CHAT_LIMITS: '{"readsPerMinute":40}' } })
    })
    after(() => other.close())
    const daily = async (headers?: Record<string, string>) => get<Daily>('/api/prompts/daily', headers, other)

    it('the prompt changes, and no copy is kept longer than its day', async () => {
      for (const [time, date, maxAge] of [
        [MIDNIGHT - 60_500, '2026-02-28', 60],
        [MIDNIGHT - 1000, '2026-02-28', 1],
        [MIDNIGHT - 1, '2026-02-28', 0],
        [MIDNIGHT, '2026-03-01', 86_400],
        [MIDNIGHT + 1, '2026-03-01', 86_399],
      ] as const) {
        now = time
        const { body, headers } = await daily()
        expect(body.date).to.equal(date)
        expect(body.prompt.id).to.equal(recorded.daily[date === '2026-03-01' ? 59 : 58])
        expect(Object.keys(body)).to.deep.equal(['date', 'prompt'])
        expect(headers.get('cache-control')).to.equal(`public, max-age=${maxAge}`)
        const listed = await get<PromptList>('/api/prompts?q=x', {}, other)
        expect(listed.body.daily).to.deep.equal(body)
        expect(listed.headers.get('cache-control')).to.equal(`public, max-age=${maxAge}`)
      }
    })

    it('yesterday’s copy is not taken for today’s', async () => {
      now = MIDNIGHT - 1
      const etag = (await daily()).headers.get('etag') ?? ''
      expect((await daily({ 'if-none-match': etag })).status).to.equal(304)
      now = MIDNIGHT
      expect((await daily({ 'if-none-match': etag })).status).to.equal(200)
    })

    it('all reads of an address are counted together', async () => {
      const headers = { 'x-forwarded-for': '192.0.2.77' }
      const paths = [
        '/api/prompts',
        '/api/prompts/daily',
        '/api/prompts/random',
        '/api/prompts?category=maths',
      ]
      for (let sent = 0; sent < 40; sent += 1)
        expect((await get(paths[sent % paths.length] as string, headers, other)).status).to.equal(200)
      const refused = await get('/api/prompts/daily', headers, other)
      expect([refused.status, refused.body.error]).to.deep.equal([429, 'rate_limited'])
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
      expect((await get('/api/prompts/daily', { 'x-forwarded-for': '192.0.2.78' }, other)).status).to.equal(
        200,
      )
    })
  })

  it('a copy that a cache keeps for a program is not handed to a page, which would find it without CORS', async () => {
    const vary = async (headers: Record<string, string>) =>
      (await get('/api/prompts/daily', headers)).headers.get('vary')
    expect(await vary({})).to.equal('Origin')
    expect(await vary({ origin: 'https://page.example' })).to.equal('Origin')
    expect(await vary({ 'if-none-match': '*' })).to.equal('Origin')
  })

  for (const path of ['/api/prompts', '/api/prompts?category=maths&q=proof', '/api/prompts/daily']) {
    it(`${path} is answered with 304 to whoever has it already`, async () => {
      const { headers } = await get(path)
      const etag = headers.get('etag') ?? ''
      expect(etag).to.match(/^(W\/)?"[\w-]{43}"$/)
      const tag = etag.replace('W/', '')
      for (const held of [tag, `W/${tag}`, `"x", ${tag}`, `"x",W/${tag} , "y"`, '*']) {
        const answer = await get<undefined>(path, { 'if-none-match': held })
        expect([answer.status, answer.body], held).to.deep.equal([304, undefined])
        expect(answer.headers.get('etag')).to.equal(etag)
        expect(answer.headers.get('cache-control')).to.match(/^public, max-age=\d+$/)
        expect(answer.headers.get('content-type')).to.equal(null)
      }
      for (const held of ['"x"', '', tag.replaceAll('"', ''), 'W/*', `"${tag}"`])
        expect((await get(path, { 'if-none-match': held })).status, held).to.equal(200)
    })
  }

  it('lists that differ have different ETags', async () => {
    const paths = [
      '/api/prompts',
      '/api/prompts?category=maths',
      '/api/prompts?category=games',
      '/api/prompts/daily',
    ]
    const etags = await Promise.all(paths.map(async (path) => (await get(path)).headers.get('etag')))
    expect(new Set(etags).size).to.equal(paths.length)
  })
})
