/**
 * How the time of hot routes grows with the tables, by the clock and by what processors do for it: each beside an empty database, asked in turns in the same run, once every table that it
 * reads or writes has 10^4, 10^6 and 4·10^6 rows. The processors' time is that of the server and of the database's processes, which must run on this machine;
 * unlike the clock it says as much where the machine has other work. Rows are put into the tables at once; the newest of each, which pages show, are real.
 * Needs PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres, and some 20 GB of its disk for the largest.
 * `ROWS=10000,100000 npx tsx bench/growth.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../src/store/database.ts'
import { quantile, runLoad } from '../test/support/servers/http-load.ts'
import { createScratchDatabase, type ScratchDatabase } from '../test/support/servers/scratch-database.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { fillChat } from './support/chat-messages.ts'
import { fillTables } from './support/grown-tables.ts'
import { getting, hotRoutes, type Work } from './support/hot-routes.ts'
import { type Row, report } from './support/interleaved.ts'
import { processMs } from './support/process-times.ts'
import { median } from './support/processor-time.ts'
import { fillEntries, seedTree } from './support/seeded-tree.ts'
import { pidOf, startAsNpmDoes } from './support/started-server.ts'

const SIZES = (process.env.ROWS ?? '10000,1000000,4000000').split(',').map(Number)
const SLICES = Number(process.env.BENCH_SLICES ?? 15)
const SLICE_MS = 250
const CONNECTIONS = 2
/** Requests of a slice at most, made before it begins. */
const REQUESTS = 1000
/** After which a server has done what it does at its start. */
const SETTLE_MS = 8000
const MOST_GROWTH = 1.25
const MOST_SEARCH_MS = 10
/** More than pages show. */
const REAL_ROWS = 51
const EMPTY_TREE = 1000

interface Runner {
  /** Of its database. */
  readonly client: pg.Client
  readonly server: ServerProcess
  readonly scratch: ScratchDatabase
  readonly works: readonly Work[]
}

/** What the server is asked, about things that were made for it last. */
const worksOf = async ({ url }: ServerProcess, key: string, size: number): Promise<Work[]> => {
  const index = 100 * Math.floor((size - 1) / 200)
  return [
    ...(await hotRoutes(url, key, REAL_ROWS)),
    getting(key, `/api/audit/inclusion?index=${index}&treeSize=${size}`, '"hashes":', 'audit/inclusion'),
    getting(key, '/api/audit?limit=50', '"entries":', 'GET /api/audit'),
    ...['payments', 'results', 'proofs', 'tokens', 'tickets', 'consents?subject=ada'].map((list) =>
      getting(key, `/console/api/${list}`, '"nextCursor":'),
    ),
  ]
}

/** A server on a database with so many rows in each table. @param size at least {@link EMPTY_TREE}, of the ledger */
const grown = async (rows: number, size: number): Promise<Runner> => {
  const base = process.env.DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres'
  const scratch = await createScratchDatabase(base)
  const client = new pg.Client({ connectionString: scratch.url })
  let server: ServerProcess | undefined
  try {
    await fillChat(scratch.url, rows)
    const database = await openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' })
    await seedTree(database, size)
    await fillEntries(database, 0, size - (size % 256))
    // Tree 2 would be busy with all of them for minutes.
    await database.knex('ledger_followers').insert({ name: 'poseidon', cursor: size, held_until: 0 })
    const key = `ak_bench_${randomBytes(16).toString('hex')}`
    server = await startAsNpmDoes({ DATABASE_URL: scratch.url, ADMIN_API_KEY: key })
    const works = await worksOf(server, key, size)
    await database.close()
    await client.connect()
    await fillTables(client, rows)
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
    await pause(SETTLE_MS)
    return { client, server, scratch, works }
  } catch (error) {
    await client.end()
    await server?.end()
    await scratch.drop()
    throw error
  }
}

const end = async ({ client, server, scratch }: Runner): Promise<void> => {
  await client.end()
  await server.end()
  await scratch.drop()
}

/** Of the server and of all that work in its database, so far, in ms. */
const processorMs = async ({ client, server }: Runner): Promise<number> => {
  const { rows: backends } = await client.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  const pids = [pidOf(server), ...backends.map(({ pid }) => pid)]
  return pids.reduce((sum, pid) => sum + processMs(pid), 0)
}

/** Ms of an answer, median and p99; answers, and what processors did for them. */
const slice = async (runner: Runner, { name, expected, request }: Work) => {
  const { server } = runner
  const requests = Array.from({ length: REQUESTS }, request)
  const before = await processorMs(runner)
  const { answers, latencies, unexpected, example } = await runLoad({
    port: Number(new URL(server.url).port),
    connections: CONNECTIONS,
    next: () => requests.pop(),
    expected,
    milliseconds: SLICE_MS,
  })
  if (unexpected > 0) throw new Error(`${name} answered ${example}`)
  const processor = (await processorMs(runner)) - before
  return { answers, processor, median: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

const rows: Row[] = []

type Slice = Awaited<ReturnType<typeof slice>>

/** Over all slices: the kernel counts hundredths of a second. */
const processorMsEach = (slices: readonly Slice[]): number =>
  slices.reduce((sum, { processor }) => sum + processor, 0) /
  slices.reduce((sum, { answers }) => sum + answers, 0)

const compared = (what: string, ours: number, theirs: number, ratio: number, goal?: number): Row => ({
  what,
  ours: `${ours.toFixed(2)} ms`,
  peer: 'an empty database (ratio: of times)',
  theirs: `${theirs.toFixed(2)} ms`,
  ratio: `${ratio.toFixed(2)}×`,
  mustReach: goal === undefined ? '' : `≤ ${goal}×`,
  ok: goal === undefined || ratio <= goal,
})

const compare = async (size: number, empty: Runner, full: Runner): Promise<void> => {
  for (const [i, work] of full.works.entries()) {
    const other = empty.works[i] as Work
    await slice(empty, other)
    await slice(full, work)
    const taken: { ours: Slice; theirs: Slice }[] = []
    for (let turn = 0; turn < SLICES; turn++) {
      // Each goes first as often.
      const before = turn % 2 === 0 ? await slice(empty, other) : undefined
      const ours = await slice(full, work)
      taken.push({ ours, theirs: before ?? (await slice(empty, other)) })
    }
    const [ours, theirs] = [taken.map((turn) => turn.ours), taken.map((turn) => turn.theirs)]
    const what = `${work.name}, ${size.toLocaleString('en')} rows`
    const middle = (slices: readonly Slice[]): number => median(slices.map((one) => one.median))
    const growth = median(taken.map((turn) => turn.ours.median / turn.theirs.median))
    rows.push(compared(what, middle(ours), middle(theirs), growth, MOST_GROWTH))
    const [own, peer] = [processorMsEach(ours), processorMsEach(theirs)]
    rows.push(compared(`${what}, processor`, own, peer, own / peer))
  }
}

/** Of words that nearly every message has, that some have, and none: an empty database has nothing to compare that with. */
const search = async (size: number, full: Runner): Promise<void> => {
  for (const [kind, words] of Object.entries({ common: 'w3', rare: 'w31000', missing: 'w2+nobody' })) {
    const bytes = Buffer.from(`GET /api/messages?q=${words} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    const work: Work = { name: `search for ${kind} words`, expected: '"next_before":', request: () => bytes }
    await slice(full, work)
    const p99s: number[] = []
    for (let turn = 0; turn < SLICES; turn++) p99s.push((await slice(full, work)).p99)
    const p99 = median(p99s)
    rows.push({
      what: `${work.name}, ${size.toLocaleString('en')} messages`,
      ours: `p99 ${p99.toFixed(1)} ms`,
      peer: '',
      theirs: '',
      ratio: '',
      mustReach: `p99 ≤ ${MOST_SEARCH_MS} ms`,
      ok: p99 <= MOST_SEARCH_MS,
    })
  }
}

const empty = await grown(1, EMPTY_TREE)
try {
  for (const size of SIZES) {
    const full = await grown(size, size)
    try {
      await compare(size, empty, full)
      await search(size, full)
    } finally {
      await end(full)
    }
  }
} finally {
  await end(empty)
}
report(rows)
