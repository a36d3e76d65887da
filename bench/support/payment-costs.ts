/**
 * Payments against servers on one PostgreSQL: items committed in a second, what each costs of the servers' and of the database's processors, what
 * it stores and writes ahead, and what the database's processes wait for meanwhile. Linux only, and PostgreSQL on this machine.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { runLoad } from '../../test/support/servers/http-load.ts'
import type { ServerProcess } from '../../test/support/servers/server-process.ts'
import type { Row } from './interleaved.ts'
import { paymentRequest } from './payment-requests.ts'
import { mainThreadMs, processMs } from './process-times.ts'
import { median } from './processor-time.ts'
import { pidOf } from './started-server.ts'

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

/** Who pays where: an organisation's merchant and key, and a server. */
export interface Asked {
  readonly server: ServerProcess
  readonly merchantId: string
  readonly key: string
}

/** @returns payments that were accepted */
const load = async (asked: readonly Asked[], milliseconds: number): Promise<number> => {
  const each = await Promise.all(
    asked.map(({ server, merchantId, key }) => {
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
  client: pg.Client,
  sampler: ReturnType<typeof createSampler>,
): Promise<Costs> => {
  const servers = [...new Set(asked.map(({ server }) => server))]
  const before = await countersOf(client, servers)
  const began = performance.now()
  const [items] = await Promise.all([load(asked, SLICE_MS), sampler.sample(began + SLICE_MS)])
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

/** A figure without a goal. */
export const figure = (what: string, ours: string): Row => ({
  what,
  ours,
  peer: '',
  theirs: '',
  ratio: '',
  mustReach: '',
  ok: true,
})

const rowsOf = ({ name, slices, sampler }: Measured): Row[] => {
  const of = (what: keyof Costs): number => median(slices.map((slice) => slice[what]))
  return [
    figure(`${name}, items`, `${of('rate').toFixed(0)}/s`),
    figure(
      `${name}, processor of the servers`,
      `${of('node').toFixed(0)} µs an item, main thread ${of('main').toFixed(0)} µs an item`,
    ),
    figure(
      `${name}, processor of the database`,
      `${of('backend').toFixed(0)} µs an item, writers ${of('background').toFixed(0)} µs an item`,
    ),
    figure(`${name}, written ahead`, `${(of('wal') / 1000).toFixed(1)} kB an item`),
    figure(`${name}, stored`, `${(of('stored') / 1000).toFixed(1)} kB an item`),
    ...sampler
      .shares()
      .slice(0, MOST_WAITS)
      .map(([at, processes]) =>
        figure(`${name}, processes of the database at: ${at}`, `${processes.toFixed(2)} at a time`),
      ),
  ]
}

export interface Contender {
  readonly name: string
  readonly asked: readonly Asked[]
  /** Of the database that they write to. */
  readonly client: pg.Client
}

interface Measured {
  readonly name: string
  readonly slices: Costs[]
  readonly sampler: ReturnType<typeof createSampler>
}

/** Has contenders paid at in turns. */
export const comparePayments = async (contenders: readonly Contender[]): Promise<Row[]> => {
  const measured = contenders.map((one) => ({
    ...one,
    slices: [] as Costs[],
    sampler: createSampler(one.client),
  }))
  await pause(SETTLE_MS)
  for (const { asked } of contenders) await load(asked, WARM_UP_MS)
  // Without it the first writes of each page would be written ahead whole in some slices and not in others.
  for (const client of new Set(contenders.map((one) => one.client))) await client.query('CHECKPOINT')
  for (let slice = 0; slice < SLICES; slice++)
    for (const { asked, client, slices, sampler } of measured)
      slices.push(await measure(asked, client, sampler))
  return measured.flatMap(rowsOf)
}
