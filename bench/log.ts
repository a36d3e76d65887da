/**
 * What appending and proving cost as the log grows, from a thousand to ten million leaves. Trees are made up of equal
 * tiles, so that they are true trees and yet seeded in seconds; every proof is verified. Needs PostgreSQL at
 * DATABASE_URL, by default 127.0.0.1:5432 as user postgres; works in a database of its own. `npx tsx bench/log.ts`
 * @module
 */
import { randomInt } from 'node:crypto'
import { systemCaller } from '../src/caller.ts'
import { systemClock } from '../src/clock.ts'
import { createPseudonyms } from '../src/keys/pseudonyms.ts'
import { createSealing } from '../src/keys/sealing.ts'
import { createSigners } from '../src/keys/signers.ts'
import { createCheckpoints } from '../src/ledger/checkpoints/checkpoint.ts'
import { createLedger } from '../src/ledger/ledger.ts'
import { createLog } from '../src/ledger/tree/log.ts'
import { rootOf, TILE_HASHES } from '../src/ledger/tree/merkle.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { verifyConsistency, verifyInclusion } from '../test/support/reference/merkle-proofs.ts'
import { createScratchDatabase } from '../test/support/servers/scratch-database.ts'
import { type Row, report } from './support/interleaved.ts'
import { edgeOf, LEAVES, seedTree } from './support/seeded-tree.ts'

const SIZES = [1e3, 1e4, 1e5, 1e6, 1e7]
const ROUNDS = 300
const CHECKPOINT_ROUNDS = 12
/** From ten thousand to ten million leaves the tree is 1.75 times as high, and a proof touches twice as many tiles. */
const GOAL_GROWTH = 2.5
const COMPARED = 1e4

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Medians in milliseconds. */
const time = async (rounds: number, work: (round: number) => Promise<() => void>): Promise<number> => {
  const taken: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    const check = await work(round)
    taken.push(performance.now() - start)
    check()
  }
  return median(taken)
}

const ensure = (accepted: boolean, what: string): void => {
  if (!accepted) throw new Error(`A wrong proof: ${what}.`)
}

interface Measured {
  readonly size: number
  readonly inclusion: number
  readonly consistency: number
  readonly append: number
  readonly checkpoint: number
}

const measure = async (database: Database, size: number): Promise<Measured> => {
  await seedTree(database, size)
  // What seeding left to do is done before the clock starts.
  await database.knex.raw('VACUUM ANALYZE ledger_tiles, ledger_entries')
  await database.knex.raw('CHECKPOINT')
  const log = createLog(database)
  const sealing = createSealing(new Uint8Array(32).fill(1))
  const clock = systemClock
  const signers = await createSigners({ database, sealing, clock })
  const pseudonyms = createPseudonyms({ database, sealing, clock })
  const ledger = await createLedger({ database, sealing, pseudonyms, clock })
  const checkpoints = createCheckpoints({
    database,
    log,
    signers,
    clock,
    origin: 'bench.example',
    directory: undefined,
    onInconsistency: (reason) => {
      throw new Error(reason)
    },
  })
  const root = await log.root(size)
  const inclusion = () =>
    time(ROUNDS, async () => {
      const index = randomInt(size)
      const path = await log.inclusion(index, size)
      return () =>
        ensure(verifyInclusion(index, size, LEAVES[index % TILE_HASHES] as Buffer, path, root), 'inclusion')
    })
  await inclusion()
  const inclusionMs = await inclusion()
  const consistencyMs = await time(ROUNDS, async () => {
    const earlier = 1 + randomInt(size)
    const proof = await log.consistency(earlier, size)
    const before = rootOf(edgeOf(earlier))
    return () => ensure(verifyConsistency(earlier, size, before, root, proof), 'consistency')
  })
  const append = () =>
    ledger.append(systemCaller('org_bench', 'bench'), (tx) => {
      tx.append({ type: 'verify', data: {} })
    })
  const appendMs = await time(ROUNDS, async () => {
    await append()
    return () => {}
  })
  const checkpointMs = await time(CHECKPOINT_ROUNDS, async () => {
    await append()
    await checkpoints.latest()
    return () => {}
  })
  await ledger.close()
  return {
    size,
    inclusion: inclusionMs,
    consistency: consistencyMs,
    append: appendMs,
    checkpoint: checkpointMs,
  }
}

const NAMES = {
  inclusion: 'inclusion proof',
  consistency: 'consistency proof',
  append: 'append',
  checkpoint: 'append and checkpoint',
} as const
const rows: Row[] = []

const main = async (): Promise<void> => {
  const server = process.env.DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres'
  const scratch = await createScratchDatabase(server)
  try {
    const database = await openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' })
    const all: Measured[] = []
    for (const size of SIZES) all.push(await measure(database, size))
    await database.close()
    const small = all.find(({ size }) => size === COMPARED)
    for (const measured of all)
      for (const what of ['inclusion', 'consistency', 'append', 'checkpoint'] as const) {
        const growth = measured[what] / (small?.[what] ?? Number.NaN)
        const hasGoal = measured === all.at(-1) && what !== 'checkpoint'
        rows.push({
          what: `${NAMES[what]}, ${measured.size.toLocaleString('en')} leaves`,
          ours: `${measured[what].toFixed(2)} ms`,
          peer: measured === small ? '' : `at ${COMPARED.toLocaleString('en')} leaves (ratio: of times)`,
          theirs: measured === small ? '' : `${small?.[what].toFixed(2)} ms`,
          ratio: measured === small ? '' : `${growth.toFixed(2)}×`,
          mustReach: hasGoal ? `≤ ${GOAL_GROWTH}×` : '',
          ok: !hasGoal || growth <= GOAL_GROWTH,
        })
      }
    report(rows)
  } finally {
    await scratch.drop()
  }
}

await main()
