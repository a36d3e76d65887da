/**
 * What an organisation that asks without end gets beside others, on this checkout and on an older commit, in turns, on both databases: nothing
 * less beside whoever makes no proofs, and about half of it beside those whose proofs it gives way to. Needs BENCH_OLD, as
 * bench/old-and-new.ts does, and PostgreSQL at DATABASE_URL; is skipped without the first. Runs only by name: `npm run bench neighbours`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { currentCommit } from '../src/bin/benchmarks/machine.ts'
import { clientOf, ok } from '../test/support/client.ts'
import { type LoadResult, runLoad } from '../test/support/servers/http-load.ts'
import { createScratchDatabase } from '../test/support/servers/scratch-database.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { hotRoutes, type Work } from './support/hot-routes.ts'
import { median, type Row, report } from './support/interleaved.ts'
import { skipped } from './support/record.ts'
import { startAsNpmDoes } from './support/started-server.ts'

const { BENCH_OLD, DATABASE_URL } = process.env
const ROOT = join(import.meta.dirname, '..')
const TURNS = Number(process.env.BENCH_SLICES ?? 3)
const SLICE_MS = 4000
/** The others begin before, and end after it. */
const MARGIN_MS = 300
const CONNECTIONS = 64
const ASKED = ['tokens/validate', 'payments/validate']
/** Who else asks, each on one connection: so many organisations for this. Goals are parts of what the older commit gives. */
const BESIDE = [
  { who: 'nobody', work: 'verify', others: 0, goal: 0.9 },
  { who: 'one that validates tokens', work: 'tokens/validate', others: 1, goal: 0.9 },
  { who: 'one that reads the chat', work: 'GET /api/messages', others: 1, goal: 0.9 },
  { who: 'one that makes proofs', work: 'verify', others: 1, goal: 0.4 },
  { who: 'four that make proofs', work: 'verify', others: 4, goal: 0.4 },
] as const
const MAX_OTHERS = 4

interface Runner {
  readonly server: ServerProcess
  /** Of each organisation; the first is the one that asks without end. */
  readonly works: readonly (readonly Work[])[]
}

const start = async (root: string, database: Readonly<Record<string, string>>): Promise<Runner> => {
  const adminKey = `ak_bench_${randomBytes(16).toString('hex')}`
  const manyReads = JSON.stringify({ postsPerMinute: 1e6, postsPerHour: 1e8, readsPerMinute: 1e8 })
  const server = await startAsNpmDoes({ ADMIN_API_KEY: adminKey, CHAT_LIMITS: manyReads, ...database }, root)
  const works: (readonly Work[])[] = []
  for (let i = 0; i <= MAX_OTHERS; i++) {
    const { apiKey } = await ok<{ apiKey: string }>(
      clientOf(server.url),
      'POST',
      '/console/api/organisations',
      { key: adminKey, body: { name: `Organisation ${i}` } },
    )
    works.push(await hotRoutes(server.url, apiKey))
  }
  return { server, works }
}

const ask = (
  { server, works }: Runner,
  organisation: number,
  name: string,
  connections: number,
  milliseconds: number,
): Promise<LoadResult> => {
  const work = works[organisation]?.find((one) => one.name === name)
  if (work === undefined) throw new Error(`There is no work ${name}.`)
  const { request: next, expected } = work
  return runLoad({ port: Number(new URL(server.url).port), connections, next, expected, milliseconds })
}

interface Slice {
  readonly rate: number
  readonly othersRate: number
}

const slice = async (
  runner: Runner,
  asked: string,
  { work, others }: (typeof BESIDE)[number],
): Promise<Slice> => {
  const beside = Array.from({ length: others }, (_, i) =>
    ask(runner, i + 1, work, 1, SLICE_MS + 2 * MARGIN_MS),
  )
  await new Promise((begin) => setTimeout(begin, MARGIN_MS))
  const rateOf = ({ answers, seconds }: LoadResult): number => answers / seconds
  const own = await ask(runner, 0, asked, CONNECTIONS, SLICE_MS)
  const theirs = await Promise.all(beside)
  return { rate: rateOf(own), othersRate: theirs.reduce((sum, one) => sum + rateOf(one), 0) }
}

const figures = (slices: readonly Slice[]): string =>
  `${median(slices.map(({ rate }) => rate)).toFixed(0)}/s, others ${median(slices.map(({ othersRate }) => othersRate)).toFixed(1)}/s`

const compare = async (
  ours: Runner,
  older: Runner,
  names: { readonly database: string; readonly commit: string },
  asked: string,
  beside: (typeof BESIDE)[number],
): Promise<Row> => {
  const turns: { ours: Slice; theirs: Slice }[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    // Each goes first as often.
    const before = turn % 2 === 0 ? await slice(older, asked, beside) : undefined
    const own = await slice(ours, asked, beside)
    turns.push({ ours: own, theirs: before ?? (await slice(older, asked, beside)) })
  }
  const ratio = median(turns.map((turn) => turn.ours.rate / turn.theirs.rate))
  return {
    what: `${names.database}: ${asked} on ${CONNECTIONS} connections beside ${beside.who}`,
    ours: figures(turns.map((turn) => turn.ours)),
    peer: `commit ${names.commit}`,
    theirs: figures(turns.map((turn) => turn.theirs)),
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: `${beside.goal}×`,
    ok: ratio >= beside.goal,
  }
}

/** On one database; each commit has one of its own. */
const measure = async (oldRoot: string, database: string, rows: Row[]): Promise<void> => {
  const ends: (() => Promise<unknown>)[] = []
  const open = async (root: string): Promise<Runner> => {
    const scratch =
      database === 'embedded'
        ? undefined
        : await createScratchDatabase(DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres')
    if (scratch !== undefined) ends.unshift(() => scratch.drop())
    const runner = await start(root, scratch === undefined ? {} : { DATABASE_URL: scratch.url })
    ends.unshift(() => runner.server.end())
    return runner
  }
  try {
    const [older, ours] = [await open(oldRoot), await open(ROOT)]
    const names = { database, commit: currentCommit(oldRoot) }
    for (const asked of ASKED)
      for (const beside of BESIDE) rows.push(await compare(ours, older, names, asked, beside))
  } finally {
    for (const end of ends) await end()
  }
}

if (BENCH_OLD) {
  const rows: Row[] = []
  for (const database of ['embedded', 'PostgreSQL']) await measure(resolve(BENCH_OLD), database, rows)
  report(rows)
} else skipped('an older commit', 'BENCH_OLD names no checkout of one')
