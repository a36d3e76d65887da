/**
 * `payments/validate` on PostgreSQL with 64 connections, beside two bare node:http + pg servers that check nothing:
 * one does only the insert that makes a nullifier unique, the other commits the rows that we commit, a transaction
 * each. Every server is a process of its own on the same database; the load alternates between them in short slices
 * and ratios are taken slice by slice.
 *
 * What a request costs our main thread, which serves everybody, is read around our slices; Linux only, which tells threads apart.
 *
 * Needs DATABASE_URL or a PostgreSQL on 127.0.0.1:5432; works in a database of its own that is dropped at the end.
 * @module
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { clientOf, ok } from '../test/support/client.ts'
import { quantile, runLoad } from '../test/support/servers/http-load.ts'
import { type Row, report } from './support/interleaved.ts'
import { paymentRequest } from './support/payment-requests.ts'
import { mainThreadMs } from './support/process-times.ts'
import { median } from './support/processor-time.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { pidOf, startAsNpmDoes } from './support/started-server.ts'

const CONNECTIONS = 64
const SLICES = Number(process.env.BENCH_SLICES ?? 11)
const SLICE_MS = Number(process.env.BENCH_SLICE_MS ?? 1000)
const WARM_UP_MS = 2 * SLICE_MS
/** More than any of the servers answers in one slice. */
const REQUESTS_PER_SLICE = 40_000
const POOL_SIZES = [8, 16, 32]
const TUNING_MS = 0.7 * SLICE_MS
const PEER_KINDS = ['insert', 'transaction', 'statement'] as const
type PeerKind = (typeof PEER_KINDS)[number]
/** Of each peer's rate, what ours must reach. */
const GOALS: Readonly<Record<PeerKind, number>> = { insert: 0.55, transaction: 1.3, statement: 0.9 }
const MOST_MAIN_THREAD_MICROS = 150

interface Payment {
  proofData: string
  amount: number
  currency: string
  timestamp: number
  transactionId: string
}

/** Tables of our shape, keys and indexes included. */
const PEER_TABLES = `
  CREATE TABLE peer_claims (LIKE ledger_claims INCLUDING ALL);
  CREATE TABLE peer_entries (LIKE ledger_entries INCLUDING ALL);
  CREATE TABLE peer_payments (LIKE payments INCLUDING ALL);
  CREATE SEQUENCE peer_entry_index;
`

const CLAIM = 'INSERT INTO peer_claims (organisation, kind, key, holder, at) VALUES ($1, $2, $3, $4, $5)'
const BOTH_CLAIMS = `${CLAIM}, ($6, $7, $8, $9, $10)`
const ENTRY = `INSERT INTO peer_entries (idx, id, organisation, type, at, key_id, digest, leaf_hash, entry)
  VALUES (nextval('peer_entry_index'), $1, $2, $3, $4, $5, $6, $7, $8)`
const PAYMENT = `INSERT INTO peer_payments (id, organisation, entry_index, status, channel, transaction_id, merchant, origin,
  proof, amount_minor, currency, assurance, stamped_at, received_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

/** `$1` becomes `$(1 + by)`, to put several inserts into one statement. */
const shifted = (text: string, by: number): string => text.replace(/\$(\d+)/g, (_, n) => `$${Number(n) + by}`)

const ORGANISATION = `org_${'0'.repeat(26)}`
const KEY_ID = `key_${'0'.repeat(26)}`
const MERCHANT = `mer_${'0'.repeat(26)}`

/** The rows of one payment, as large as ours. */
const rowsOf = (payment: Payment, proof: Buffer) => {
  const now = Date.now()
  const id = `pay_${randomBytes(13).toString('hex')}`
  const nullifier = proof.subarray(0, 12).toString('hex')
  const content = randomBytes(16).toString('hex')
  const first = JSON.stringify({ content, status: 'accepted', assurance: 'mac' })
  const spender = JSON.stringify({
    payment: id,
    transactionId: payment.transactionId,
    origin: KEY_ID,
    content,
    assurance: 'mac',
  })
  const hash = randomBytes(32)
  const entryId = `ent_${randomBytes(13).toString('hex')}`
  const digest = proof.subarray(0, 27).toString('hex')
  const entry = JSON.stringify({
    actor: hash.toString('hex'),
    data: { amountMinor: 1250, assurance: 'mac', channel: 'validate', currency: 'GBP', decision: 'accepted' },
    digest,
    id: entryId,
    org: ORGANISATION,
    salt: content,
    subject: hash.toString('hex'),
    ts: now,
    type: 'payment',
    v: 1,
  })
  return {
    nullifier: [ORGANISATION, 'nullifier', nullifier, spender, now],
    transaction: [ORGANISATION, 'transaction', `${KEY_ID}/${payment.transactionId}`, first, now],
    entry: [entryId, ORGANISATION, 'payment', now, KEY_ID, digest, hash, entry],
    payment: [
      id,
      ORGANISATION,
      1,
      'accepted',
      'validate',
      payment.transactionId,
      MERCHANT,
      KEY_ID,
      proof,
      Math.round(payment.amount * 100),
      payment.currency,
      'mac',
      payment.timestamp,
      now,
    ],
  }
}

/** @returns what books a payment in the peer's way; throws when the nullifier is taken */
const peerWork = (pool: pg.Pool, kind: PeerKind): ((payment: Payment) => Promise<unknown>) => {
  const decode = (payment: Payment) => Buffer.from(payment.proofData, 'base64url')
  if (kind === 'insert') {
    return (payment) =>
      pool.query({ name: 'claim', text: CLAIM, values: rowsOf(payment, decode(payment)).nullifier })
  }
  if (kind === 'statement') {
    const text = `WITH a AS (${BOTH_CLAIMS}), b AS (${shifted(ENTRY, 10)}) ${shifted(PAYMENT, 18)}`
    return (payment) => {
      const rows = rowsOf(payment, decode(payment))
      const values = [...rows.transaction, ...rows.nullifier, ...rows.entry, ...rows.payment]
      return pool.query({ name: 'all', text, values })
    }
  }
  return async (payment) => {
    const rows = rowsOf(payment, decode(payment))
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query({
        name: 'claims',
        text: BOTH_CLAIMS,
        values: [...rows.transaction, ...rows.nullifier],
      })
      await client.query({ name: 'entry', text: ENTRY, values: rows.entry })
      await client.query({ name: 'payment', text: PAYMENT, values: rows.payment })
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }
}

/** A peer, in its own process: `payments.ts --peer <kind> <pool size>`; sends its port to its parent. */
const servePeer = (kind: PeerKind, poolSize: number): void => {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: poolSize })
  const work = peerWork(pool, kind)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const first = chunks[0]
      const payment = JSON.parse(
        (chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString(),
      ) as Payment
      const valid = await work(payment).then(
        () => true,
        () => false,
      )
      const body = JSON.stringify({
        valid,
        transactionId: payment.transactionId,
        doubleSpend: !valid,
        assurance: 'none',
      })
      response.writeHead(200, {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      })
      response.end(body)
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.on('disconnect', () => process.exit(0))
}

interface Runner {
  readonly name: string
  /** Undefined: ours. */
  readonly kind?: PeerKind
  readonly pid: number
  readonly port: number
  readonly key: string
  readonly merchantId: string
  end(): Promise<void>
}

const startPeer = async (databaseUrl: string, kind: PeerKind, poolSize: number): Promise<Runner> => {
  const child = fork(import.meta.filename, ['--peer', kind, String(poolSize)], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  })
  const [port] = (await once(child, 'message')) as [number]
  return {
    name: `${kind}, pool of ${poolSize}`,
    kind,
    pid: child.pid ?? 0,
    port,
    key: 'nobody checks it',
    merchantId: MERCHANT,
    async end() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

const startOurs = async (databaseUrl: string): Promise<Runner> => {
  const key = `ak_bench_${randomBytes(16).toString('hex')}`
  const server = await startAsNpmDoes({ DATABASE_URL: databaseUrl, ADMIN_API_KEY: key })
  const { merchantId } = await ok<{ merchantId: string }>(clientOf(server.url), 'GET', '/console/api/me', {
    key,
  })
  return {
    name: 'ours',
    pid: pidOf(server),
    port: Number(new URL(server.url).port),
    key,
    merchantId,
    end: async () => {
      await server.end()
    },
  }
}

const prepare = ({ key, merchantId }: Runner, count: number): (() => Buffer | undefined) => {
  const requests = Array.from({ length: count }, (_, i) => paymentRequest(key, merchantId, i % 65536))
  return () => requests.pop()
}

interface Slice {
  readonly rate: number
  /** Ms. */
  readonly p99: number
  /** Processor time of the main thread a request, µs. */
  readonly mainThread: number
}

const run = async (runner: Runner, milliseconds: number): Promise<Slice> => {
  const next = prepare(runner, Math.ceil((REQUESTS_PER_SLICE * milliseconds) / 1000))
  const before = mainThreadMs(runner.pid)
  const { answers, seconds, latencies, unexpected, example } = await runLoad({
    port: runner.port,
    connections: CONNECTIONS,
    next,
    expected: '"valid":true',
    milliseconds,
  })
  if (unexpected > 0) throw new Error(`${runner.name} answered ${example}`)
  const mainThread = ((mainThreadMs(runner.pid) - before) * 1000) / answers
  return { rate: answers / seconds, p99: quantile(latencies, 0.99), mainThread }
}

/** Starts a peer with the pool size that serves it best. */
const startBestPeer = async (databaseUrl: string, kind: PeerKind): Promise<Runner> => {
  let best = { size: 0, rate: 0 }
  for (const size of POOL_SIZES) {
    const peer = await startPeer(databaseUrl, kind, size)
    await run(peer, TUNING_MS)
    const { rate } = await run(peer, TUNING_MS)
    await peer.end()
    if (rate > best.rate) best = { size, rate }
  }
  return startPeer(databaseUrl, kind, best.size)
}

const WHAT = `payments/validate, ${CONNECTIONS} connections`

const tableOf = (runners: readonly Runner[], slices: ReadonlyMap<Runner, readonly Slice[]>): Row[] => {
  const [ours, ...peers] = runners
  const own = (ours && slices.get(ours)) ?? []
  const figures = (of: readonly Slice[]): string =>
    `${median(of.map(({ rate }) => rate)).toFixed(0)}/s, p99 ${median(of.map(({ p99 }) => p99)).toFixed(1)} ms`
  const compared = peers.map((peer): Row => {
    const theirs = slices.get(peer) ?? []
    const goal = peer.kind === undefined ? 0 : GOALS[peer.kind]
    const ratio = median(theirs.map(({ rate }, i) => (own[i]?.rate ?? Number.NaN) / rate))
    return {
      what: WHAT,
      ours: figures(own),
      peer: `bare node:http and pg: ${peer.name}`,
      theirs: figures(theirs),
      ratio: `${ratio.toFixed(2)}×`,
      mustReach: `${goal}×`,
      ok: ratio >= goal,
    }
  })
  const micros = median(own.map(({ mainThread }) => mainThread))
  const mainThread: Row = {
    what: `${WHAT}, main thread`,
    ours: `${micros.toFixed(0)} µs a request`,
    peer: '',
    theirs: '',
    ratio: '',
    mustReach: `≤ ${MOST_MAIN_THREAD_MICROS} µs`,
    ok: micros <= MOST_MAIN_THREAD_MICROS,
  }
  return [...compared, mainThread]
}

const measure = async (databaseUrl: string): Promise<boolean> => {
  const runners: Runner[] = []
  try {
    const ours = await startOurs(databaseUrl)
    runners.push(ours)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await client.query(PEER_TABLES)
    await client.end()
    for (const kind of PEER_KINDS) runners.push(await startBestPeer(databaseUrl, kind))
    for (const runner of runners) await run(runner, WARM_UP_MS)
    const slices = new Map<Runner, Slice[]>(runners.map((runner) => [runner, []]))
    for (let slice = 0; slice < SLICES; slice++) {
      // Each takes its turn at every place in the row.
      for (let i = 0; i < runners.length; i++) {
        const runner = runners[(slice + i) % runners.length]
        if (runner) slices.get(runner)?.push(await run(runner, SLICE_MS))
      }
    }
    const rows = tableOf(runners, slices)
    report(rows)
    return rows.every(({ ok: isOk }) => isOk)
  } finally {
    await Promise.all(runners.map((runner) => runner.end()))
  }
}

const [flag, kind, size] = process.argv.slice(2)
if (flag === '--peer') servePeer(kind as PeerKind, Number(size))
else await measureInScratchDatabase('payments', measure)
