/** Watch lists and outcomes of checks. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'
import type { CheckType } from './entry.ts'
import type { ListFormat } from './lists/list-source.ts'
import type { Outcome } from './screening.ts'

/** A list of a snapshot, as it is stored and shown. */
export interface StoredList {
  readonly listId: string
  readonly format: ListFormat
  /** Lists of the directory are replaced by reloading it. */
  readonly source: 'directory' | 'console'
  readonly checkTypes: readonly CheckType[]
  readonly entries: number
  readonly names: number
  /** Of its entries as they were stored: the same files give the same hash. Lower-case hex. */
  readonly sha256: string
  readonly files: readonly { readonly name: string; readonly sha256: string; readonly bytes: number }[]
  /** Where its entries are. */
  readonly content: string
  readonly parts: number
}

export interface SnapshotRow {
  version: number
  /** Over its lists' hashes, lower-case hex. */
  sha256: string
  directory: string | null
  lists: readonly StoredList[]
  loaded_at: number
}

const SNAPSHOTS = 'aml_snapshots'
const CONTENTS = 'aml_contents'
/** Older versions' entries are kept for servers that are just reading them. */
const KEPT_SNAPSHOTS = 2

interface ContentRow {
  content: string
  part: number
  bytes: Uint8Array
  staged_at: number
}

/** The newest snapshot. */
export const findSnapshot = (knex: Knex): Promise<SnapshotRow | undefined> =>
  knex<SnapshotRow>(SNAPSHOTS).orderBy('version', 'desc').first()

/** Version of the newest snapshot, 0 where there is none. */
export const findVersion = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM aml_snapshots',
    [],
    'aml-version',
  )
  return Number(rows[0]?.version ?? 0)
}

/** Whether a directory in this state was ever loaded. @param directory hash */
export const wasLoaded = async ({ knex }: Database, directory: string): Promise<boolean> =>
  (await knex<SnapshotRow>(SNAPSHOTS).where({ directory }).first('version')) !== undefined

/** Inside the transaction that makes it count. */
export const insertSnapshot = async (trx: Knex, row: SnapshotRow): Promise<void> => {
  await trx(SNAPSHOTS).insert({ ...row, lists: JSON.stringify(row.lists) })
}

/**
 * Keeps a part of a list that nothing refers to yet, outside of the ledger: what counts is the snapshot that will name it.
 */
export const stagePart = async ({ knex }: Database, row: ContentRow): Promise<void> => {
  await knex(CONTENTS).insert(row)
}

/** @returns undefined where it is gone */
export const findPart = async (
  { knex }: Database,
  content: string,
  part: number,
): Promise<Uint8Array | undefined> =>
  (await knex<ContentRow>(CONTENTS).where({ content, part }).first('bytes'))?.bytes

/** How many parts of each content there are. */
export const countParts = async (
  trx: Knex,
  contents: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await trx<ContentRow>(CONTENTS)
    .whereIn('content', contents)
    .groupBy('content')
    .select<{ content: string; parts: string | number }[]>('content', trx.raw('count(*) AS parts'))
  return new Map(rows.map(({ content, parts }) => [content, Number(parts)]))
}

/** Forgets what the last snapshots don't name. @param before those staged later may be named soon */
export const forgetContents = async ({ knex }: Database, before: number): Promise<void> => {
  const kept = await knex<SnapshotRow>(SNAPSHOTS)
    .orderBy('version', 'desc')
    .limit(KEPT_SNAPSHOTS)
    .select('lists')
  const named = kept.flatMap(({ lists }) => lists.map(({ content }) => content))
  await knex<ContentRow>(CONTENTS).whereNotIn('content', named).where('staged_at', '<', before).delete()
}

/** Forgets parts of a list that turned out not to be wanted. */
export const forgetContent = async ({ knex }: Database, content: string): Promise<void> => {
  await knex<ContentRow>(CONTENTS).where({ content }).delete()
}

export interface OutcomeRow {
  organisation: string
  /** Keyed pseudonym. */
  subject: string
  check_type: CheckType
  result: Outcome
  reason: string | null
  risk_score: number
  list_version: string
  checked_at: number
  entry_index: number
}

export const amlOutcomes = table<OutcomeRow>(
  'aml_outcomes',
  [
    'organisation',
    'subject',
    'check_type',
    'result',
    'reason',
    'risk_score',
    'list_version',
    'checked_at',
    'entry_index',
  ],
  {
    key: ['organisation', 'subject', 'check_type'],
    columns: {
      result: 'last',
      reason: 'last',
      risk_score: 'last',
      list_version: 'last',
      checked_at: 'last',
      entry_index: 'last',
    },
  },
)

/** The last outcome of each type. */
export const findOutcomes = (
  { knex }: Database,
  organisation: string,
  subject: string,
): Promise<OutcomeRow[]> => knex<OutcomeRow>('aml_outcomes').where({ organisation, subject }).select()
