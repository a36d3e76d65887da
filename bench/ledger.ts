/**
 * The ledger under load: group commit against the same code one by one, and a lone caller against a bare transaction
 * with the same inserts. Needs PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres; works in a
 * database of its own. `npx tsx bench/ledger.ts`
 * @module
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Caller } from '../src/caller.ts'
import { systemClock } from '../src/clock.ts'
import { fail } from '../src/errors.ts'
import { createPseudonyms } from '../src/keys/pseudonyms.ts'
import { createSealing } from '../src/keys/sealing.ts'
import { CLAIM_KINDS } from '../src/ledger/claim-kinds.ts'
import type { Decide } from '../src/ledger/decision.ts'
import { createLedger, type Ledger } from '../src/ledger/ledger.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { bytes, integer, table, text } from '../src/store/table.ts'
import { createScratchDatabase } from '../test/support/servers/scratch-database.ts'
import { type Row, report } from './support/interleaved.ts'

const CALLERS = 128
const SLICE_MS = 800
const SLICES = 7
const LONE_ROUNDS = 600
/** 152 × 65,536: every growing tile is empty there, so that only tiles, and no entries, need to be made up. */
const GREAT_SIZE = 9_961_472

const GOAL_ITEMS_PER_SECOND = 5_000
const GOAL_P99_MS = 50
const GOAL_OVER_SINGLE = 10
const GOAL_LONE_RATIO = 1.5

const payments = table('bench_payments', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  status: text(),
  transaction_id: text(),
  merchant: text(),
  proof: bytes(),
  amount_minor: integer(),
  currency: text(),
  received_at: integer(),
})

const SCHEMA = `CREATE TABLE bench_payments (id text COLLATE "C" PRIMARY KEY, organisation text NOT NULL,
  entry_index bigint NOT NULL, status text NOT NULL, transaction_id text NOT NULL, merchant text NOT NULL,
  proof bytea NOT NULL, amount_minor bigint NOT NULL, currency text NOT NULL, received_at bigint NOT NULL)`

const caller: Caller = {
  organisation: 'org_bench',
  credential: {
    kind: 'terminal',
    id: 'mtk_1',
    terminalId: 'ter_1',
    merchantId: 'mer_1',
    keyId: 'key_1',
    keyRevoked: false,
  },
  scopes: new Set(),
  requestId: 'req_bench',
}

const PROOF = randomBytes(49)
let serial = 0

/** Hex that looks random, so that index pages are met at random, and costs the callers next to nothing. */
const distinctHex = (characters: number): string =>
  randomUUID().replaceAll('-', '').padEnd(characters, '5eed').slice(0, characters)

/** What a payment commits: two claims, a row, an entry. */
const newPayment = () => ({
  id: `pay_${(serial++).toString(36).padStart(26, '0')}`,
  transactionId: `txn_${randomUUID()}`,
  nullifier: distinctHex(24),
  digest: distinctHex(54),
})
type Payment = ReturnType<typeof newPayment>

const rowOf = ({ id, transactionId }: Payment, index: number, at: number) =>
  payments.row({
    id,
    organisation: caller.organisation,
    entry_index: index,
    status: 'accepted',
    transaction_id: transactionId,
    merchant: 'mer_1',
    proof: PROOF,
    amount_minor: 1250,
    currency: 'GBP',
    received_at: at,
  })

const deciding = (payment: Payment): Decide<string> => {
  const { id, transactionId, nullifier, digest } = payment
  return (tx) => {
    if (tx.holder(CLAIM_KINDS.paymentTransaction, transactionId)) fail('transaction_conflict')
    if (tx.holder(CLAIM_KINDS.paymentNullifier, nullifier)) fail('double_spend')
    tx.claim(CLAIM_KINDS.paymentTransaction, transactionId, { id })
    tx.claim(CLAIM_KINDS.paymentNullifier, nullifier, { transactionId, id })
    const { index, entryId } = tx.append({
      type: 'payment',
      subject: ['terminal', 'ter_1'],
      digest,
      data: { decision: 'accepted', assurance: 'mac', amountMinor: 1250, currency: 'GBP', offline: true },
    })
    tx.write(rowOf(payment, index, tx.at))
    return entryId
  }
}

const openLedger = (database: Database, maxBatchItems?: number): Promise<Ledger> => {
  const sealing = createSealing(new Uint8Array(32).fill(1))
  const pseudonyms = createPseudonyms({ database, sealing, clock: systemClock })
  return createLedger({ database, sealing, pseudonyms, clock: systemClock, maxBatchItems })
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const sort = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)
const median = (values: readonly number[]): number => quantile(sort(values), 0.5)

interface Slice {
  readonly perSecond: number
  /** Milliseconds. */
  readonly latencies: number[]
}

/** Callers that append one item after the other for a while. */
const load = async (ledger: Ledger, callers: number, durationMs = SLICE_MS): Promise<Slice> => {
  const latencies: number[] = []
  const start = performance.now()
  const run = async (): Promise<void> => {
    while (performance.now() - start < durationMs) {
      const begun = performance.now()
      await ledger.append(caller, deciding(newPayment()))
      latencies.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: callers }, run))
  return { perSecond: (latencies.length / (performance.now() - start)) * 1000, latencies }
}

/** One payment as a plain transaction: the rows the ledger writes, one prepared statement each, head and hash left out. */
const createBare = async (client: pg.Client): Promise<() => Promise<void>> => {
  for (const name of ['ledger_claims', 'ledger_entries', 'bench_payments']) {
    await client.query(`CREATE TABLE bare_${name} (LIKE ${name} INCLUDING ALL)`)
  }
  const insert = (name: string, columns: number) => {
    const places = Array.from({ length: columns }, (_, index) => `$${index + 1}`).join(', ')
    return (values: unknown[]) =>
      client.query({ name, text: `INSERT INTO bare_${name} VALUES (${places})`, values })
  }
  const [claim, entry, payment] = [
    insert('ledger_claims', 5),
    insert('ledger_entries', 11),
    insert('bench_payments', 10),
  ]
  const text = JSON.stringify({ filler: 'x'.repeat(480) })
  let index = 0
  return async () => {
    const made = newPayment()
    const { id, transactionId, nullifier, digest } = made
    const at = Date.now()
    const entryId = `ent_${index}`
    await client.query('BEGIN')
    for (const [kind, key, holder] of [
      [CLAIM_KINDS.paymentTransaction, transactionId, { id }],
      [CLAIM_KINDS.paymentNullifier, nullifier, { transactionId, id }],
    ])
      await claim([caller.organisation, kind, key, JSON.stringify(holder), at])
    const { organisation } = caller
    await entry([
      index,
      entryId,
      organisation,
      'payment',
      at,
      null,
      null,
      null,
      digest,
      randomBytes(32),
      text,
    ])
    await payment(Object.values(rowOf(made, index++, at).values))
    await client.query('COMMIT')
  }
}

const rows: Row[] = []
const row = (what: string, ours: string, goal?: { mustReach: string; ok: boolean }, peer = {}): void => {
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach: '', ok: true, ...goal, ...peer })
}

const throughput = async (database: Database): Promise<void> => {
  const grouped = await openLedger(database)
  const single = await openLedger(database, 1)
  await load(grouped, CALLERS)
  await load(single, CALLERS, SLICE_MS / 2)
  const pairs: { grouped: Slice; single: Slice }[] = []
  for (let slice = 0; slice < SLICES; slice++) {
    pairs.push({ grouped: await load(grouped, CALLERS), single: await load(single, CALLERS) })
  }
  await Promise.all([grouped.close(), single.close()])
  const rate = median(pairs.map((pair) => pair.grouped.perSecond))
  const singleRate = median(pairs.map((pair) => pair.single.perSecond))
  const latencies = sort(pairs.flatMap((pair) => pair.grouped.latencies))
  // Of the median slice: one hiccup of a shared machine is not the ledger's.
  const p99 = median(pairs.map((pair) => quantile(sort(pair.grouped.latencies), 0.99)))
  const over = median(pairs.map((pair) => pair.grouped.perSecond / pair.single.perSecond))
  row(`group commit, ${CALLERS} callers`, `${rate.toFixed(0)} items/s`, {
    mustReach: `≥ ${GOAL_ITEMS_PER_SECOND} items/s`,
    ok: rate >= GOAL_ITEMS_PER_SECOND,
  })
  row(
    `group commit, ${CALLERS} callers, latency`,
    `median ${quantile(latencies, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    { mustReach: `p99 < ${GOAL_P99_MS} ms`, ok: p99 < GOAL_P99_MS },
  )
  row(
    `group commit, ${CALLERS} callers, beside one by one`,
    `${rate.toFixed(0)} items/s`,
    { mustReach: `${GOAL_OVER_SINGLE}×`, ok: over >= GOAL_OVER_SINGLE },
    {
      peer: 'the same code one by one',
      theirs: `${singleRate.toFixed(0)} items/s`,
      ratio: `${over.toFixed(1)}×`,
    },
  )
}

const loneCaller = async (database: Database, url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const bare = await createBare(client)
  const ledger = await openLedger(database)
  const time = async (work: () => Promise<unknown>): Promise<number> => {
    const start = performance.now()
    await work()
    return performance.now() - start
  }
  const append = () => ledger.append(caller, deciding(newPayment()))
  for (let round = 0; round < LONE_ROUNDS / 10; round++) await Promise.all([bare(), append()])
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < LONE_ROUNDS; round++) {
    // Whoever goes second finds the disk busy with the first one's log, so they take turns.
    if (round % 2 === 0) ours.push(await time(append))
    theirs.push(await time(bare))
    if (round % 2 === 1) ours.push(await time(append))
  }
  await ledger.close()
  await client.end()
  const ratio = median(ours) / median(theirs)
  row(
    'a lone caller',
    `${median(ours).toFixed(2)} ms`,
    { mustReach: `≤ ${GOAL_LONE_RATIO}×`, ok: ratio <= GOAL_LONE_RATIO },
    {
      peer: 'a bare transaction with the same inserts (ratio: of times)',
      theirs: `${median(theirs).toFixed(2)} ms`,
      ratio: `${ratio.toFixed(2)}×`,
    },
  )
}

/** Makes up a tree of ten million leaves: its head, and a row for each of its full tiles. */
const seedGreatTree = async ({ knex }: Database): Promise<void> => {
  await knex.raw('TRUNCATE ledger_entries, ledger_tiles, ledger_claims, bench_payments')
  for (const [level, tiles] of [
    [0, GREAT_SIZE / 256],
    [1, GREAT_SIZE / 65_536],
  ]) {
    await knex.raw(
      `INSERT INTO ledger_tiles SELECT ${level}, tile, sha256(tile::text::bytea), decode(repeat('ab', 8192), 'hex')
       FROM generate_series(0, ${tiles} - 1) AS tile`,
    )
  }
  const edge = Buffer.alloc(32 * 3, 1)
  await knex('ledger_head').update({ size: GREAT_SIZE, edge })
}

const greatTree = async (database: Database): Promise<void> => {
  const small = await openLedger(database)
  const before = await load(small, CALLERS, SLICE_MS * 2)
  await small.close()
  await seedGreatTree(database)
  const great = await openLedger(database)
  await load(great, CALLERS, SLICE_MS / 2)
  const after = await load(great, CALLERS, SLICE_MS * 2)
  await great.close()
  row('group commit at 10 million leaves', `${after.perSecond.toFixed(0)} items/s`, undefined, {
    peer: 'before',
    theirs: `${before.perSecond.toFixed(0)} items/s`,
    ratio: `${(after.perSecond / before.perSecond).toFixed(2)}×`,
  })
}

const embedded = async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  const database = await openDatabase({ dataDir: directory })
  try {
    await database.knex.raw(SCHEMA)
    const ledger = await openLedger(database)
    await load(ledger, CALLERS)
    const many = await load(ledger, CALLERS, SLICE_MS * 2)
    const lone = await load(ledger, 1, SLICE_MS * 2)
    await ledger.close()
    row(
      `embedded database with fsync, ${CALLERS} callers`,
      `${many.perSecond.toFixed(0)} items/s, p99 ${quantile(sort(many.latencies), 0.99).toFixed(1)} ms`,
    )
    row('embedded database with fsync, a lone caller', `${median(lone.latencies).toFixed(2)} ms`)
  } finally {
    await database.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const main = async (): Promise<void> => {
  const server = process.env.DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres'
  const scratch = await createScratchDatabase(server)
  try {
    const database = await openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' })
    await database.knex.raw(SCHEMA)
    await throughput(database)
    await loneCaller(database, scratch.url)
    await greatTree(database)
    await database.close()
    await embedded()
  } finally {
    await scratch.drop()
  }
  report(rows)
}

await main()
