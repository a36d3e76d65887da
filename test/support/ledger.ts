/** A ledger on a database of its own, and what tests of it ask again and again. */
import { expect } from 'chai'
import type { Caller } from '../../src/caller.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { fail } from '../../src/errors.ts'
import { createPseudonyms } from '../../src/keys/pseudonyms.ts'
import { createSealing, type Sealing } from '../../src/keys/sealing.ts'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import { type Decide, type Entry, type Place, type Receipt, WithRoot } from '../../src/ledger/decision.ts'
import { createLedger, type Ledger, type LedgerDeps } from '../../src/ledger/ledger.ts'
import type { Database } from '../../src/store/database.ts'
import type { Row } from '../../src/store/table.ts'
import { leafHash, rootOf } from './reference/merkle.ts'
import { openTestDatabase } from './servers/database.ts'

const MASTER_KEY = new Uint8Array(32).fill(7)

export interface TestLedger {
  readonly ledger: Ledger
  readonly database: Database
  close(): Promise<void>
}

/**
 * A second ledger on an open database, as another server would have one.
 * @param options.sealing of a database that a server opened, which has keys of its own; absent: that of tests' ledgers
 */
export const ledgerOn = (
  database: Database,
  options: Partial<
    Pick<LedgerDeps, 'logs' | 'onBatch' | 'onClockSkew' | 'maxBatchItems' | 'checkDecisions'>
  > & {
    clock?: Clock
    sealing?: Sealing
  } = {},
): Promise<Ledger> => {
  const clock = options.clock ?? systemClock
  const sealing = options.sealing ?? createSealing(MASTER_KEY)
  return createLedger({
    checkDecisions: true,
    ...options,
    database,
    sealing,
    clock,
    pseudonyms: createPseudonyms({ database, sealing, clock }),
  })
}

export const openTestLedger = async (options: Parameters<typeof ledgerOn>[1] = {}): Promise<TestLedger> => {
  const database = await openTestDatabase()
  const ledger = await ledgerOn(database, options)
  return {
    ledger,
    database,
    async close() {
      await ledger.close()
      await database.close()
    },
  }
}

/** Empties the log, with all that was made of it, on a database that no server uses at the moment. */
export const emptyLog = async ({ knex }: Database): Promise<void> => {
  await knex.raw(`TRUNCATE ledger_entries, ledger_tiles, ledger_claims, ledger_counters, ledger_checkpoint,
    ledger_followers, ledger_heads, poseidon_leaves, poseidon_roots, signing_keys`)
  await knex('ledger_head').update({ size: 0, root: rootOf([]), edge: Buffer.alloc(0) })
}

/** A key of an organisation, without any right. */
export const callerOf = (organisation: string, idempotency?: Caller['idempotency']): Caller => ({
  organisation,
  credential: { kind: 'key', id: 'key_1', keyId: 'key_1' },
  scopes: new Set(),
  requestId: 'req_1',
  ...(idempotency && { idempotency }),
})

interface Claiming {
  readonly entry?: Entry
  readonly rows?: (place: Place) => readonly Row[]
}

/** Claims a key, or fails with `double_spend`; answers with the receipt of its entry. */
export const claiming =
  (key: string, { entry, rows }: Claiming = {}): Decide<Receipt> =>
  (tx) => {
    if (tx.holder(CLAIM_KINDS.paymentNullifier, key)) fail('double_spend')
    tx.claim(CLAIM_KINDS.paymentNullifier, key, { first: key })
    const place = tx.append(entry ?? { type: 'payment', subject: ['terminal', 'ter_1'], data: { key } })
    for (const row of rows?.(place) ?? []) tx.write(row)
    return tx.withRoot((root, treeSize) => ({ ...place, root, treeSize }))
  }

/** Several decisions as one, with all of their answers. */
export const together =
  <R>(decisions: readonly Decide<R>[]): Decide<R[]> =>
  (tx) => {
    const answers = decisions.map((decide) => decide(tx))
    return tx.withRoot((root, treeSize) =>
      answers.map((answer) => (answer instanceof WithRoot ? answer.finish(root, treeSize) : answer)),
    )
  }

interface StoredEntry {
  idx: number
  id: string
  organisation: string
  type: string
  entry: string
  leaf_hash: Uint8Array
}

/**
 * Reads the whole log and checks it: indexes without gap or repetition, every leaf and the root recomputed from the
 * entries' text, every full tile. @returns the entries
 */
export const expectWholeLog = async ({ knex }: Database, log = 0): Promise<StoredEntry[]> => {
  const entries: StoredEntry[] = await knex('ledger_entries').where({ log }).orderBy('idx')
  const head: { size: number; root: Uint8Array } = await knex('ledger_head').where({ log }).first()
  expect(
    entries.every(({ idx }, position) => idx === position),
    'an index is skipped or used twice',
  ).to.equal(true)
  expect(head.size).to.equal(entries.length)
  const leaves = entries.map(({ entry }) => leafHash(Buffer.from(entry)))
  for (const [index, { leaf_hash }] of entries.entries()) {
    expect(leaves[index]?.equals(leaf_hash), `leaf ${index}`).to.equal(true)
  }
  expect(Buffer.from(head.root).toString('hex')).to.equal(rootOf(leaves).toString('hex'))

  const tiles: { level: number; tile: number; root: Uint8Array; hashes: Uint8Array }[] = await knex(
    'ledger_tiles',
  )
    .where({ log })
    .orderBy(['level', 'tile'])
  const expected: { log: number; level: number; tile: number; root: Buffer; hashes: Buffer }[] = []
  let hashes = leaves
  for (let level = 0; hashes.length >= 256; level++) {
    const roots: Buffer[] = []
    for (let tile = 0; (tile + 1) * 256 <= hashes.length; tile++) {
      const part = hashes.slice(tile * 256, (tile + 1) * 256)
      const root = rootOf(part)
      roots.push(root)
      expected.push({ log, level, tile, root, hashes: Buffer.concat(part) })
    }
    hashes = roots
  }
  expect(
    tiles.map(({ root, hashes, ...rest }) => ({
      ...rest,
      root: Buffer.from(root),
      hashes: Buffer.from(hashes),
    })),
  ).to.deep.equal(expected)
  return entries
}
