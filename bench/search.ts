/**
 * `GET /api/messages?q=` in a chat of millions of messages, and what it does to others: searches one after the other by kinds of words,
 * then reads of the newest messages and of `/health/live` without and beside twelve searchers. Words are drawn as in a language:
 * the n-th most common is n times as rare as the first, of 50,000. Needs PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as
 * user postgres, and some 4 GB of its disk. `BENCH_MESSAGES=400000 npx tsx bench/search.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile, runLoad } from '../test/support/servers/http-load.ts'
import { startServerProcess } from '../test/support/servers/server-process.ts'
import { fillChat } from './support/chat-messages.ts'
import { type Row, report } from './support/interleaved.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { askSteadily, get } from './support/steady-load.ts'

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 4_000_000)
const SEARCHES = Number(process.env.BENCH_SEARCHES ?? 200)
const SEARCHERS = 12
/** Others ask so often: at a rate, as strangers do, and not as fast as they are answered. */
const OTHERS_EVERY_MS = 10
const OTHERS_MS = 5000
const MOST_SEARCH_MS = 10
/** How much longer others may wait beside searchers. */
const MOST_DELAY_MS = 10

const rows: Row[] = []
const limit = (what: string, ours: string, mustReach = '', ok = true): void => {
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok })
}
const ms = (value: number): string => `${value.toFixed(1)} ms`

const anyOf = (from: number, to: number): string => `w${from + Math.floor(Math.random() * (to - from))}`

/** The n-th most common word is in one of n · 0.3 messages, or nearly all of them. */
const KINDS: Readonly<Record<string, () => string>> = {
  'a common word': () => anyOf(1, 20),
  'a word in one message of a thousand': () => anyOf(2000, 6000),
  'a word in one message of ten thousand': () => anyOf(30_000, 49_000),
  'two common words': () => `${anyOf(1, 20)} ${anyOf(20, 60)}`,
  'five words, seldom together': () => [20, 40, 60, 80, 100].map((n) => anyOf(n, n + 20)).join(' '),
  'a common word and one that nobody used': () => `${anyOf(1, 20)} nobody`,
  'a word of one agent': () => `${anyOf(100, 2000)}&agent=agent ${Math.floor(Math.random() * 300)}`,
}

const requestOf = (path: string): Buffer => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
const search = (words: string): Buffer =>
  requestOf(encodeURI(`/api/messages?q=${words}`).replaceAll('%20', '+'))
const anySearch = (): Buffer => {
  const kinds = Object.values(KINDS)
  return search(kinds[Math.floor(Math.random() * kinds.length)]?.() ?? '')
}

const searchOneByOne = async (port: number): Promise<void> => {
  for (const [kind, words] of Object.entries(KINDS)) {
    let left = SEARCHES
    const next = () => (left-- > 0 ? search(words()) : undefined)
    const { latencies, unexpected, example } = await runLoad({
      port,
      connections: 1,
      next,
      expected: '"next_before":',
      milliseconds: 600_000,
    })
    if (unexpected > 0) throw new Error(`a search answered ${example}`)
    const p99 = quantile(latencies, 0.99)
    limit(
      `search for ${kind}`,
      `median ${ms(quantile(latencies, 0.5))}, p99 ${ms(p99)}`,
      `p99 ≤ ${MOST_SEARCH_MS} ms`,
      p99 <= MOST_SEARCH_MS,
    )
  }
}

const besideSearchers = async (port: number): Promise<void> => {
  const paths = ['/api/messages', '/health/live']
  const both = () =>
    Promise.all(
      paths.map((path) =>
        askSteadily(() => get(`http://127.0.0.1:${port}${path}`), OTHERS_EVERY_MS, OTHERS_MS),
      ),
    )
  await both()
  const alone = await both()
  const searching = runLoad({
    port,
    connections: SEARCHERS,
    next: anySearch,
    // Some are told that enough others search.
    expected: '{',
    milliseconds: OTHERS_MS + 1000,
  })
  await pause(500)
  const beside = await both()
  const { answers, seconds } = await searching
  limit(`${SEARCHERS} searchers`, `${(answers / seconds).toFixed(0)} answers/s`)
  paths.forEach((path, i) => {
    const [quiet, busy] = [alone, beside].map((all) => quantile(all[i] ?? new Float64Array(), 0.99))
    const delay = (busy ?? Number.NaN) - (quiet ?? Number.NaN)
    limit(
      `GET ${path} beside ${SEARCHERS} searchers, p99`,
      `${ms(busy ?? Number.NaN)}, alone ${ms(quiet ?? Number.NaN)}`,
      `+ ${MOST_DELAY_MS} ms`,
      delay <= MOST_DELAY_MS,
    )
  })
}

await measureInScratchDatabase('search', async (databaseUrl) => {
  const { indexSeconds } = await fillChat(databaseUrl, MESSAGES)
  limit('making the index', `${indexSeconds.toFixed(0)} s`)
  const server = await startServerProcess({
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: `ak_bench_${randomBytes(16).toString('hex')}`,
    RATE_LIMITS: 'off',
    DATA_DIR: 'memory',
  })
  try {
    const port = Number(new URL(server.url).port)
    limit('messages', MESSAGES.toLocaleString('en'))
    await searchOneByOne(port)
    await besideSearchers(port)
  } finally {
    await server.end()
  }
  report(rows)
  return rows.every(({ ok }) => ok)
})
