/** Searching messages: what is found, and that no search goes on for ever or comes as cheap as a page. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  createSearch,
  MAX_SEARCHES,
  MAX_SEARCHES_WAITING,
  SEARCH_TIMEOUT_MS,
} from '../../../src/domain/chat/search.ts'
import { analyseMessages } from '../../../src/domain/chat/store.ts'
import { searchWindow, windowsOf } from '../../../src/domain/chat/store-search.ts'
import { AppError } from '../../../src/errors.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { codeOf, from, idsOf } from '../../support/chat/chat.ts'
import { commitMessages } from '../../support/chat/chat-stream.ts'
import { callTool } from '../../support/chat/mcp.ts'

/** More than the embedded database is asked about at a time. */
const MESSAGES = 2500

const BLOCK_IDS = [2 ** 10, 2 ** 14, 2 ** 18]

/** The ids of a block that is named as the index names it, the lowest first. */
const rangeOf = (block: string): readonly [number, number] => {
  const [level = 0, number = 0] = block.trim().split('.').map(Number)
  const size = BLOCK_IDS[level] ?? Number.NaN
  return [number * size, (number + 1) * size - 1]
}

describe('the windows of a search', () => {
  const id = fc.oneof(fc.nat(5000), fc.nat(2 ** 22), fc.nat(2 ** 27)).map((n) => n + 1)

  it('follow one another from the first id to the last, and leave none out', () => {
    fc.assert(
      fc.property(id, id, (first, last) => {
        const step = first <= last ? 1 : -1
        let next = first
        for (const { blocks, ...span } of windowsOf({ first, last })) {
          expect(span.last).to.equal(last)
          if (blocks === undefined) {
            expect(span.first).to.equal(next)
            next = last + step
          }
          for (const block of blocks ?? []) {
            const [low, high] = rangeOf(block)
            expect(next).to.be.within(low, high)
            next = step > 0 ? high + 1 : low - 1
          }
        }
        expect((next - last) * step).to.be.above(0)
      }),
    )
  })

  it('grow, but each to no more than some forty times what came before', () => {
    fc.assert(
      fc.property(id, id, (first, last) => {
        let searched = 2 * 1024
        for (const { blocks } of windowsOf({ first, last })) {
          if (blocks === undefined) continue
          const size = blocks.map(rangeOf).reduce((sum, [low, high]) => sum + high - low + 1, 0)
          expect(size).to.be.at.most(40 * searched)
          searched += size
        }
      }),
    )
    expect([...windowsOf({ first: 40, last: 1 })]).to.deep.equal([{ first: 40, last: 1, blocks: [' 0.0'] }])
  })
})

describe('searching messages', () => {
  let app: TestApp
  let first: number
  before(async () => {
    app = await startTestApp({ env: { CHAT_LIMITS: '{"readsPerMinute": 100}' } })
    const { database } = app.services
    const [rare] = await commitMessages(database, 1, 'a rare marmoset ')
    await commitMessages(database, MESSAGES, 'common ')
    await commitMessages(database, 1, 'a rare marmoset again ')
    first = rare?.id ?? 0
  })
  after(() => app.close())

  const search = (words: string, query: object = {}) =>
    createSearch(app.services.database)(words, { limit: 10, ...query })
  const failure = async (searching: Promise<unknown>): Promise<string> => {
    const error = await searching.catch((caught: unknown) => caught)
    return error instanceof AppError ? `${error.status} ${error.code}` : 'none'
  }

  it('finds the newest first, however far back they are, and the oldest first above a message', async () => {
    const last = first + MESSAGES + 1
    expect(idsOf(await search('marmoset'))).to.deep.equal([last, first])
    expect(idsOf(await search('marmoset', { after: 0 }))).to.deep.equal([first, last])
    expect(idsOf(await search('marmoset', { before: last }))).to.deep.equal([first])
    expect(idsOf(await search('marmoset', { after: first }))).to.deep.equal([last])
    expect(idsOf(await search('marmoset', { limit: 1 }))).to.deep.equal([last])
    expect(await search('marmoset common')).to.deep.equal([])
    const common = Array.from({ length: 10 }, (_, i) => i)
    expect(idsOf(await search('common'))).to.deep.equal(common.map((i) => last - 1 - i))
    expect(idsOf(await search('common', { after: 0 }))).to.deep.equal(common.map((i) => first + 1 + i))
    expect(idsOf(await search('common', { after: first + 1500, before: first + 1503 }))).to.deep.equal([
      first + 1501,
      first + 1502,
    ])
  })

  it('finds nothing for what holds no word, and no message by the marks that its index has beside the words', async () => {
    for (const words of ['...', '" v"', ' 0.0', ' aAda', "' v'"]) {
      expect(await search(words), words).to.deep.equal([])
      expect(await search(words, { agent: 'Ada' }), words).to.deep.equal([])
    }
  })

  it('finds of one agent, thread, prompt or standing only, whatever is in their names', async () => {
    const { database } = app.services
    const names = ["O'Neil", 'back\\slash', "' | ' v", '愛 子']
    const posted = await commitMessages(database, names.length + 1, 'an odd quokka ')
    for (const [i, name] of names.entries())
      await database.query('UPDATE chat_messages SET agent_name = $2 WHERE id = $1', [posted[i]?.id, name])
    const last = posted.at(-1)?.id ?? 0
    await database.query(
      "UPDATE chat_messages SET verified = true, prompt_id = 'p''1', thread_id = $2 WHERE id = $1",
      [last, posted[0]?.id],
    )
    for (const [i, agent] of names.entries())
      expect(idsOf(await search('quokka', { agent })), agent).to.deep.equal([posted[i]?.id])
    expect(idsOf(await search('quokka', { agent: 'Ada' }))).to.deep.equal([last])
    expect(idsOf(await search('quokka', { thread: posted[0]?.id }))).to.deep.equal([last, posted[0]?.id])
    expect(idsOf(await search('quokka', { promptId: "p'1" }))).to.deep.equal([last])
    expect(
      idsOf(await search('QUOKKA odd', { verified: true, agent: 'Ada', promptId: "p'1" })),
    ).to.deep.equal([last])
    expect(await search('quokka', { promptId: 'p' })).to.deep.equal([])
    expect(await search('quokka', { agent: 'Ad' })).to.deep.equal([])
  })

  it('finds a message no more once it is removed', async () => {
    const [gone, stays] = await commitMessages(app.services.database, 2, 'a shy numbat ')
    // Its text would be gone as well.
    await app.services.database.query('UPDATE chat_messages SET removed_at = 1 WHERE id = $1', [gone?.id])
    expect(idsOf(await search('numbat'))).to.deep.equal([stays?.id])
  })

  it('reads what it finds by its index, and no other messages', async () => {
    const { database } = app.services
    await analyseMessages(database)
    const span = { first: first + 3000, last: 1 }
    await database.knex.transaction(async (trx) => {
      // As queries that are timed; the embedded database finds it cheapest anyway.
      await trx.raw('SET LOCAL enable_seqscan = off')
      for (const window of [...windowsOf(span), span]) {
        const lines: string[] = []
        const explain = async (text: string, values: readonly unknown[]) => {
          const query = text.replace(/\$\d/g, '?')
          const numbers = [...text.matchAll(/\$(\d)/g)].map(([, number]) => values[Number(number) - 1])
          const { rows } = await trx.raw(`EXPLAIN ${query}`, numbers as string[])
          lines.push(...rows.map((row: Record<string, string>) => row['QUERY PLAN'] ?? ''))
          return { rows: [], rowCount: 0 }
        }
        await searchWindow(explain, 'common', { limit: 10, agent: 'Ada' }, window, false)
        expect(lines.join('\n')).to.contain('Bitmap Index Scan on chat_messages_words')
        expect(lines.join('\n')).not.to.contain('Seq Scan')
      }
    })
  })

  it('is ended after its time, and says so', async () => {
    const { database } = app.services
    if (database.kind === 'pglite') {
      expect(await failure(createSearch(database, 0)('marmoset common', { limit: 10 }))).to.equal(
        '422 search_too_broad',
      )
      return
    }
    await database.knex.transaction(async (trx) => {
      await trx.raw('LOCK TABLE chat_messages IN ACCESS EXCLUSIVE MODE')
      expect(await failure(createSearch(database, 50)('x', { limit: 10 }))).to.equal('422 search_too_broad')
      const began = performance.now()
      const answer = await app.request('GET', '/api/messages?q=marmoset')
      expect(codeOf(answer)).to.equal('422 search_too_broad')
      expect(performance.now() - began).to.be.at.least(SEARCH_TIMEOUT_MS)
    })
    expect(codeOf(await app.request('GET', '/api/messages?q=marmoset'))).to.equal('200')
  }).timeout(30_000)

  it('runs a few at a time, has some others wait for their turn, and refuses the rest', async () => {
    const { database } = app.services
    let running = 0
    let most = 0
    const counted =
      <A extends unknown[], R>(ask: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        most = Math.max(most, ++running)
        return ask(...args).finally(() => running--)
      }
    const watched = { ...database, query: counted(database.query) as typeof database.query }
    if (database.queryWithin) Object.assign(watched, { queryWithin: counted(database.queryWithin) })
    const searching = createSearch(watched)
    const answers = await Promise.all(
      Array.from({ length: MAX_SEARCHES + MAX_SEARCHES_WAITING + 3 }, () =>
        failure(searching('marmoset', { limit: 10 })),
      ),
    )
    expect(answers.filter((answer) => answer === '503 unavailable')).to.have.length(3)
    expect(answers.filter((answer) => answer === 'none')).to.have.length(MAX_SEARCHES + MAX_SEARCHES_WAITING)
    expect(most).to.equal(MAX_SEARCHES)
    expect(await failure(searching('marmoset', { limit: 10 }))).to.equal('none')
  })

  it('has nobody wait for a turn for longer than it says, and runs no search that nobody waits for', async () => {
    const { database } = app.services
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    const hold =
      <A extends unknown[], R>(ask: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        asked++
        await held
        return ask(...args)
      }
    const slow = { ...database, query: hold(database.query) as typeof database.query }
    const searching = createSearch(slow, SEARCH_TIMEOUT_MS, 50)
    const first = Array.from({ length: MAX_SEARCHES }, () => failure(searching('marmoset', { limit: 10 })))
    expect(await failure(searching('marmoset', { limit: 10 }))).to.equal('503 unavailable')
    expect(asked).to.equal(MAX_SEARCHES)
    release()
    expect(await Promise.all(first)).to.deep.equal(first.map(() => 'none'))
    const askedByThese = asked
    expect(await failure(searching('marmoset', { limit: 10 }))).to.equal('none')
    expect(askedByThese).to.equal(MAX_SEARCHES * (asked - askedByThese))
  })

  it('costs an address as much as 20 pages, over HTTP and MCP', async () => {
    const ask = (path: string, address: string) => app.request('GET', path, { headers: from(address) })
    const answers = []
    for (let i = 0; i < 6; i++) answers.push(codeOf(await ask('/api/messages?q=marmoset', '198.51.100.1')))
    expect(answers).to.deep.equal(['200', '200', '200', '200', '200', '429 rate_limited'])
    expect(codeOf(await ask('/api/messages', '198.51.100.1'))).to.equal('429 rate_limited')
    for (let i = 0; i < 85; i++) await ask('/api/messages', '198.51.100.4')
    const { headers } = await ask('/api/messages?q=marmoset', '198.51.100.4')
    expect(headers.get('ratelimit')).to.equal(`"default";r=0;t=${headers.get('retry-after')}`)
    const pages = await Promise.all(Array.from({ length: 20 }, () => ask('/api/messages', '198.51.100.2')))
    expect(pages.every(({ status }) => status === 200)).to.equal(true)
    const tool = () => callTool(app, 'search_messages', { q: 'marmoset' }, from('198.51.100.3'))
    for (let i = 0; i < 5; i++) expect((await tool()).isError).to.equal(undefined)
    expect((await ask('/api/messages', '198.51.100.3')).status).to.equal(429)
  })
})
