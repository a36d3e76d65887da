/**
 * Growth from one log to several. Where there is one, the index of an entry alone is the key of what is kept by it, so that servers of before
 * there were several work beside new ones as fast as ever. With the second log the keys become log and index: their great indexes are made
 * first, or were beforehand, CONCURRENTLY (docs/scaling.md); then all is changed in one short transaction.
 * @module
 */
import type { Knex } from 'knex'
import { isConflict, isLocked } from '../store/conflicts.ts'
import type { Database } from '../store/database.ts'
import { schemaChange } from '../store/migrate.ts'
import { headName } from './tables.ts'
import { rootOf } from './tree/merkle.ts'

/** Any fixed number: servers that grow the logs at once wait for each other on it. ("logs" in ASCII.) */
const ADVISORY_LOCK_KEY = '1819240307'

/**
 * Who knows log 0 by the name alone knows of no others, and would write into it what belongs to them: with the second log, this name is gone.
 * The row's lock also has batches wait before they hold anything that is changed here.
 */
const RENAME_LOG_0 = "UPDATE ledger_head SET name = 'ledger/0' WHERE log = 0"

/** Those that take long; IF NOT EXISTS takes over what was made beforehand. */
const GREAT_INDEXES: Readonly<Record<string, string>> = {
  ledger_entries_by_log:
    'CREATE UNIQUE INDEX IF NOT EXISTS ledger_entries_by_log ON ledger_entries (log, idx)',
  ledger_entries_by_time:
    'CREATE INDEX IF NOT EXISTS ledger_entries_by_time ON ledger_entries (log, at, idx)',
  poseidon_leaves_by_log:
    'CREATE UNIQUE INDEX IF NOT EXISTS poseidon_leaves_by_log ON poseidon_leaves (log, position)',
  poseidon_leaves_by_entry:
    'CREATE UNIQUE INDEX IF NOT EXISTS poseidon_leaves_by_entry ON poseidon_leaves (log, idx)',
}

/** How long a head or a table is waited for at a time: whoever comes meanwhile waits as long. */
const LOCK_TIMEOUT_MS = 500
const LONGEST_PAUSE_MS = 4_000

const KEYS_BY_LOG = [
  `ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_pkey,
    ADD CONSTRAINT ledger_entries_pkey PRIMARY KEY USING INDEX ledger_entries_by_log`,
  'DROP INDEX ledger_entries_at',
  'ALTER TABLE ledger_tiles DROP CONSTRAINT ledger_tiles_pkey, ADD PRIMARY KEY (log, level, tile)',
  `ALTER TABLE poseidon_leaves DROP CONSTRAINT poseidon_leaves_pkey, DROP CONSTRAINT poseidon_leaves_idx_key,
    ADD CONSTRAINT poseidon_leaves_pkey PRIMARY KEY USING INDEX poseidon_leaves_by_log,
    ADD CONSTRAINT poseidon_leaves_idx_key UNIQUE USING INDEX poseidon_leaves_by_entry`,
  'ALTER TABLE poseidon_roots DROP CONSTRAINT poseidon_roots_pkey, ADD PRIMARY KEY (log, shard, size)',
]

/** Numbers from 0 up to, but not including, this one. A number that is missing among them is a fault that `doctor` finds. */
export const countLogs = async (knex: Knex): Promise<number> => {
  const last = await knex<{ log: number }>('ledger_head').orderBy('log', 'desc').first('log')
  return last === undefined ? 0 : last.log + 1
}

/**
 * Whoever writes waits meanwhile; reads, however long, and this wait for nobody.
 * @throws Error naming an index that was made CONCURRENTLY, and failed: nothing would be found by it
 */
const makeGreatIndexes = async (trx: Knex): Promise<void> => {
  for (const [name, statement] of Object.entries(GREAT_INDEXES)) {
    await trx.raw(statement)
    const { rows } = await trx.raw<{ rows: { indisvalid: boolean }[] }>(
      'SELECT indisvalid FROM pg_index WHERE indexrelid = ?::regclass',
      [name],
    )
    if (!rows[0]?.indisvalid)
      throw new Error(
        `The index ${name} is invalid: making it CONCURRENTLY failed. Run DROP INDEX ${name}, make it again (docs/scaling.md) or leave it to the start with more logs, and start again. Nothing was changed.`,
      )
  }
}

/** @throws Error where a log was lost: it would be begun anew, over entries that it has */
const expectNothingLost = async (trx: Knex, there: number): Promise<void> => {
  if (there === 0) throw new Error('The ledger has no head: the schema is incomplete.')
  const lost = await trx<{ log: number }>('ledger_entries').where('log', '>=', there).first('log')
  if (lost !== undefined)
    throw new Error(
      `Log ${lost.log} has entries and no head: a row of ledger_head was lost. Nothing was changed.`,
    )
}

const begin = async (trx: Knex, wanted: number): Promise<void> => {
  const there = await countLogs(trx)
  if (there >= wanted) return
  await expectNothingLost(trx, there)
  await trx.raw(RENAME_LOG_0)
  if (there === 1) for (const statement of KEYS_BY_LOG) await trx.raw(statement)
  const root = Buffer.from(rootOf([]))
  const rows = Array.from({ length: wanted - there }, (_, i) => {
    const log = there + i
    return { log, name: headName(log), size: 0, root, edge: Buffer.alloc(0), updated_at: 0 }
  })
  await trx('ledger_head').insert(rows)
}

/**
 * Begins logs until there are as many as are wanted, all of them or none.
 * @throws Error when something uses the log's tables for so long that nothing could be changed, and when a log was lost
 */
export const growLogs = async (database: Pick<Database, 'knex' | 'kind'>, wanted: number): Promise<void> => {
  const change = schemaChange(database, ADVISORY_LOCK_KEY)
  if ((await countLogs(database.knex)) === 1) await change(makeGreatIndexes)
  const isInTheWay = (error: unknown): boolean => isConflict(error) || isLocked(error)
  const patience = { longestPauseMs: LONGEST_PAUSE_MS, isInTheWay, lockTimeoutMs: LOCK_TIMEOUT_MS }
  try {
    await change((trx) => begin(trx, wanted), patience)
  } catch (error) {
    if (!isLocked(error)) throw error
    throw new Error(
      `There are not ${wanted} logs yet, since a transaction has used the ledger for a minute (a dump?). Nothing was changed: start again when it has ended.`,
      { cause: error },
    )
  }
}
