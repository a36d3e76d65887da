/**
 * Four organisations that pay, on one log and on four, in turns: items in a second, and what one costs of the server's and of the database's
 * processors. Then how long three of them wait while the head of the fourth one's log is held, and while it is not, in turns: with a log of its own each,
 * they must not notice. Linux only, and PostgreSQL on this machine: at DATABASE_URL, by default 127.0.0.1:5432 as user postgres.
 * `npx tsx bench/logs.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { clientOf, ok } from '../test/support/client.ts'
import { runLoad } from '../test/support/servers/http-load.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { type Row, report } from './support/interleaved.ts'
import { type Asked, type Contender, comparePayments } from './support/payment-costs.ts'
import { paymentRequest } from './support/payment-requests.ts'
import { median } from './support/processor-time.ts'
import { measureInScratchDatabase, withScratchDatabase } from './support/scratch-database.ts'
import { startAsNpmDoes } from './support/started-server.ts'

const LOGS = 4
const HELD_MS = 2000
const TURNS = 20
/** Of one organisation: they ask one after the other. */
const FEW_CONNECTIONS = 4
/** p99 while a head is held, beside p99 while none is. */
const MAX_RATIO = 1.1

interface Spread extends Contender {
  readonly server: ServerProcess
  /** What answers have in them: on one log a held head has some refused. */
  readonly expected: string
}

/** A server with so many logs, and four organisations: one of each log, or all of the one. */
const startSpread = async (databaseUrl: string, logs: number): Promise<Spread> => {
  const admin = `ak_bench_${randomBytes(16).toString('hex')}`
  const server = await startAsNpmDoes({
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: admin,
    LOG_SHARDS: String(logs),
  })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const asked: Asked[] = []
  for (let i = 0; i < LOGS; i++) {
    const path = '/console/api/organisations'
    const body = { name: `Shop ${i}` }
    const made = await ok<{ merchantId: string; apiKey: string }>(clientOf(server.url), 'POST', path, {
      key: admin,
      body,
    })
    asked.push({ server, merchantId: made.merchantId, key: made.apiKey })
  }
  return logs === 1
    ? { name: 'one log', expected: '', server, client, asked }
    : { name: `${logs} logs`, expected: '"valid":true', server, client, asked }
}

/** @returns the 99th percentile of what all but the last organisation wait for a payment, in ms */
const waited = async ({ asked, server, expected }: Spread): Promise<number> => {
  const loads = await Promise.all(
    asked.slice(0, -1).map(({ key, merchantId }) =>
      runLoad({
        port: Number(new URL(server.url).port),
        connections: FEW_CONNECTIONS,
        next: () => paymentRequest(key, merchantId),
        expected,
        milliseconds: HELD_MS,
      }),
    ),
  )
  for (const { unexpected, example } of loads)
    if (unexpected > 0) throw new Error(`a payment was answered ${example}`)
  const latencies = loads.flatMap((one) => [...one.latencies]).sort((a, b) => a - b)
  return latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
}

/** The same while the head of the last organisation's log is held. */
const waitedBesideHeld = async (spread: Spread): Promise<number> => {
  const { client, asked } = spread
  const { rows } = await client.query<{ log: number }>(
    'SELECT log FROM organisations WHERE default_merchant = $1',
    [asked.at(-1)?.merchantId],
  )
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM ledger_head WHERE log = $1 FOR UPDATE', [rows[0]?.log])
  const waiting = waited(spread)
  await pause(HELD_MS)
  await client.query('ROLLBACK')
  return waiting
}

const compareHeld = async (spread: Spread, mustReach: string): Promise<Row> => {
  const held: number[] = []
  const free: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    // Which comes first takes turns as well: the second finds more rows.
    if (turn % 2 === 0) free.push(await waited(spread))
    held.push(await waitedBesideHeld(spread))
    if (turn % 2 === 1) free.push(await waited(spread))
  }
  const ratio = median(held.map((ms, turn) => ms / (free[turn] ?? Number.NaN)))
  return {
    what: `${spread.name}: three organisations while the head of the fourth is held for ${HELD_MS / 1000} s`,
    ours: `p99 ${median(held).toFixed(1)} ms`,
    peer: 'while it is free',
    theirs: `p99 ${median(free).toFixed(1)} ms`,
    ratio: `${ratio.toFixed(2)}×`,
    mustReach,
    ok: mustReach === '' || ratio <= MAX_RATIO,
  }
}

await measureInScratchDatabase('one_log', (oneLog) =>
  withScratchDatabase('four_logs', async (fourLogs) => {
    const one = await startSpread(oneLog, 1)
    const four = await startSpread(fourLogs, LOGS)
    try {
      return report([
        ...(await comparePayments([one, four])),
        await compareHeld(one, ''),
        await compareHeld(four, `≤ ${MAX_RATIO}×`),
      ])
    } finally {
      await Promise.all([one, four].map(({ client }) => client.end()))
      await Promise.all([one, four].map(({ server }) => server.end()))
    }
  }),
)
