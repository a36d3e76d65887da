/**
 * One and two server processes on one PostgreSQL, in turns: items that they commit in a second (payments), what an item costs of the
 * servers' and of the database's processors, what it stores and writes ahead, and what the database's processes wait for meanwhile.
 * Nothing has a goal: which of these ends first depends on the machine. Linux only, and PostgreSQL on this machine: at DATABASE_URL, by default
 * 127.0.0.1:5432 as user postgres. `npx tsx bench/scale.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { clientOf, ok } from '../test/support/client.ts'
import { runLoad } from '../test/support/servers/http-load.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { type Row, report } from './support/interleaved.ts'
import { paymentRequest } from './support/payment-requests.ts'
import { mainThreadMs, processMs } from './support/process-times.ts'
import { median } from './support/processor-time.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { pidOf, startAsNpmDoes } from './support/started-server.ts'

const SLICES = Number(process.env.BENCH_SLICES ?? 7)
const SLICE_MS = 3000
const WARM_UP_MS = 2000
/** Of all servers together. */
const CONNECTIONS = 64
/** More than are answered in a slice. */
const REQUESTS_A_SECOND = 8000
const SAMPLE_EVERY_MS = 20
const MOST_WAITS = 5
const SETTLE_MS = 5000

/** Processes of PostgreSQL that work for everybody. */
const BACKGROUND = `backend_type IN ('walwriter', 'checkpointer', 'background writer')`

const rows: Row[] = []
const row = (what: string, ours: string): void => {
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach: '', ok: true })
}

interface Counters {
  readonly nodeMs: number
  readonly mainMs: number
  readonly backendMs: number
  readonly backgroundMs: number
  readonly walBytes: number
  readonly storedBytes: number
}

const sumOf = (pids: readonly number[], time: (pid: number) => number): number =>
  pids.reduce((sum, pid) => sum + time(pid), 0)

const countersOf = async (client: pg.Client, servers: readonly ServerProcess[]): Promise<Counters> => {
  const { rows: found } = await client.query<{ pid: number; shared: boolean }>(
    `SELECT pid, ${BACKGROUND} AS shared FROM pg_stat_activity
      WHERE ${BACKGROUND} OR (datname = current_database() AND pid <> pg_backend_pid())`,
  )
  const { rows: sizes } = await client.query<{ wal: string; stored: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal, pg_database_size(current_database()) AS stored`,
  )
  const pids = (shared: boolean) => found.filter((one) => one.shared === shared).map(({ pid }) => pid)
  return {
    nodeMs: sumOf(servers.map(pidOf), processMs),
    mainMs: sumOf(servers.map(pidOf), mainThreadMs),
    backendMs: sumOf(pids(false), processMs),
    backgroundMs: sumOf(pids(true), processMs),
    walBytes: Number(sizes[0]?.wal),
    storedBytes: Number(sizes[0]?.stored),
  }
}

/** What processes of the database are at, a look at a time. */
const createSampler = (client: pg.Client) => {
  const seen = new Map<string, number>()
  let looks = 0
  return {
    async sample(until: number): Promise<void> {
      for (; performance.now() < until; await pause(SAMPLE_EVERY_MS)) {
        const { rows: found } = await client.query<{ at: string }>(
          `SELECT coalesce(wait_event_type || ' ' || wait_event, 'processor') AS at FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`,
        )
        looks += 1
        for (const { at } of found) seen.set(at, (seen.get(at) ?? 0) + 1)
      }
    },
    /** Processes that were at something at a time, on average. */
    shares: (): (readonly [at: string, processes: number])[] =>
      [...seen].map(([at, count]) => [at, count / looks] as const).sort((a, b) => b[1] - a[1]),
  }
}

interface Asked {
  readonly server: ServerProcess
  readonly merchantId: string
}

/** @returns payments that were accepted */
const load = async (asked: readonly Asked[], key: string, milliseconds: number): Promise<number> => {
  const each = await Promise.all(
    asked.map(({ server, merchantId }) => {
      const count = Math.ceil((REQUESTS_A_SECOND * milliseconds) / 1000 / asked.length)
      const requests = Array.from({ length: count }, () => paymentRequest(key, merchantId))
      return runLoad({
        port: Number(new URL(server.url).port),
        connections: CONNECTIONS / asked.length,
        next: () => requests.pop(),
        expected: '"valid":true',
        milliseconds,
      })
    }),
  )
  for (const { unexpected, example } of each)
    if (unexpected > 0) throw new Error(`a payment was answered ${example}`)
  return each.reduce((sum, { answers }) => sum + answers, 0)
}

type Costs = Readonly<Record<'rate' | 'node' | 'main' | 'backend' | 'background' | 'wal' | 'stored', number>>

const measure = async (
  asked: readonly Asked[],
  key: string,
  client: pg.Client,
  sampler: ReturnType<typeof createSampler>,
): Promise<Costs> => {
  const servers = asked.map(({ server }) => server)
  const before = await countersOf(client, servers)
  const began = performance.now()
  const [items] = await Promise.all([load(asked, key, SLICE_MS), sampler.sample(began + SLICE_MS)])
  const seconds = (performance.now() - began) / 1000
  const after = await countersOf(client, servers)
  const micros = (name: 'nodeMs' | 'mainMs' | 'backendMs' | 'backgroundMs') =>
    ((after[name] - before[name]) * 1000) / items
  return {
    rate: items / seconds,
    node: micros('nodeMs'),
    main: micros('mainMs'),
    backend: micros('backendMs'),
    background: micros('backgroundMs'),
    wal: (after.walBytes - before.walBytes) / items,
    stored: (after.storedBytes - before.storedBytes) / items,
  }
}

const rowsOf = (name: string, slices: readonly Costs[], sampler: ReturnType<typeof createSampler>): void => {
  const of = (what: keyof Costs): number => median(slices.map((slice) => slice[what]))
  row(`${name}, items`, `${of('rate').toFixed(0)}/s`)
  row(
    `${name}, processor of the servers`,
    `${of('node').toFixed(0)} µs an item, main thread ${of('main').toFixed(0)} µs an item`,
  )
  row(
    `${name}, processor of the database`,
    `${of('backend').toFixed(0)} µs an item, writers ${of('background').toFixed(0)} µs an item`,
  )
  row(`${name}, written ahead`, `${(of('wal') / 1000).toFixed(1)} kB an item`)
  row(`${name}, stored`, `${(of('stored') / 1000).toFixed(1)} kB an item`)
  for (const [at, processes] of sampler.shares().slice(0, MOST_WAITS))
    row(`${name}, processes of the database at: ${at}`, `${processes.toFixed(2)} at a time`)
}

await measureInScratchDatabase('scale', async (databaseUrl) => {
  const key = `ak_bench_${randomBytes(16).toString('hex')}`
  const settings = {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: key,
  }
  const servers: ServerProcess[] = []
  const client = new pg.Client({ connectionString: databaseUrl })
  try {
    // One after the other: the first brings the schema up to date.
    for (let i = 0; i < 2; i++) servers.push(await startAsNpmDoes(settings))
    await client.connect()
    const [{ url } = { url: '' }] = servers
    const { merchantId } = await ok<{ merchantId: string }>(clientOf(url), 'GET', '/console/api/me', { key })
    const both = servers.map((server): Asked => ({ server, merchantId }))
    const contenders = [
      { name: 'one server', asked: both.slice(0, 1), slices: [] as Costs[], sampler: createSampler(client) },
      { name: 'two servers', asked: both, slices: [] as Costs[], sampler: createSampler(client) },
    ]
    await pause(SETTLE_MS)
    for (const { asked } of contenders) await load(asked, key, WARM_UP_MS)
    // Without it the first writes of each page would be written ahead whole in some slices and not in others.
    await client.query('CHECKPOINT')
    for (let slice = 0; slice < SLICES; slice++)
      for (const { asked, slices, sampler } of contenders)
        slices.push(await measure(asked, key, client, sampler))
    for (const { name, slices, sampler } of contenders) rowsOf(name, slices, sampler)
  } finally {
    await client.end()
    await Promise.all(servers.map((server) => server.end()))
  }
  report(rows)
  return true
})
