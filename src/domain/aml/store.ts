/** Watch lists and results of checks. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'
import type { CheckType } from './entry.ts'
import type { ListFormat } from './lists/list-source.ts'
import type { ScreeningResult } from './screening.ts'

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
  /** When its publisher made it, as its file says; null where that says nothing. */
  readonly publishedAt: number | null
  /** When these entries were loaded first. */
  readonly loadedAt: number
  /** Where its entries are. */
  readonly content: string
  readonly parts: number
}

/** A list of the directory whose files could not be loaded. */
export interface ListProblem {
  readonly listId: string
  /** What nobody can be cleared of while no earlier entries of the list are loaded. */
  readonly checkTypes: readonly CheckType[]
  /** Without its folder. */
  readonly file: string
  /** From 1; null where no line is to blame. */
  readonly line: number | null
  /** Names the file and line. */
  readonly message: string
  readonly since: number
}

export const amlSnapshots = table('aml_snapshots', {
  version: integer().key(),
  /** Over its lists' hashes, lower-case hex. */
  sha256: text(),
  directory: text().null(),
  lists: json<readonly StoredList[]>(),
  problems: json<readonly ListProblem[]>(),
  loaded_at: integer(),
})

export type SnapshotRow = RowOf<typeof amlSnapshots>

/** Older versions' entries are kept for servers that are just reading them, and to tell what has changed since. */
const KEPT_SNAPSHOTS = 4

export const amlContents = table('aml_contents', {
  content: text().key(),
  part: integer().key(),
  bytes: bytes(),
  staged_at: integer(),
})

type ContentRow = RowOf<typeof amlContents>

/** The newest snapshot. */
export const findSnapshot = (knex: Knex): Promise<SnapshotRow | undefined> =>
  knex<SnapshotRow>(amlSnapshots.name).orderBy('version', 'desc').first()

/** @returns undefined for a version that never was, or is forgotten */
export const findSnapshotOf = ({ knex }: Database, version: number): Promise<SnapshotRow | undefined> =>
  knex<SnapshotRow>(amlSnapshots.name).where({ version }).first()

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
  (await knex<SnapshotRow>(amlSnapshots.name).where({ directory }).first('version')) !== undefined

/** Inside the transaction that makes it count. */
export const insertSnapshot = async (trx: Knex, row: SnapshotRow): Promise<void> => {
  await trx(amlSnapshots.name).insert({
    ...row,
    lists: JSON.stringify(row.lists),
    problems: JSON.stringify(row.problems),
  })
}

/**
 * Keeps a part of a list that nothing refers to yet, outside of the ledger: what counts is the snapshot that will name it.
 */
export const stagePart = async ({ knex }: Database, row: ContentRow): Promise<void> => {
  await knex(amlContents.name).insert(row)
}

/** @returns undefined where it is gone */
export const findPart = async (
  { knex }: Database,
  content: string,
  part: number,
): Promise<Uint8Array | undefined> =>
  (await knex<ContentRow>(amlContents.name).where({ content, part }).first('bytes'))?.bytes

/** How many parts of each content there are. */
export const countParts = async (
  trx: Knex,
  contents: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await trx<ContentRow>(amlContents.name)
    .whereIn('content', contents)
    .groupBy('content')
    .select<{ content: string; parts: string | number }[]>('content', trx.raw('count(*) AS parts'))
  return new Map(rows.map(({ content, parts }) => [content, Number(parts)]))
}

/** Forgets what the last snapshots don't name. @param before those staged later may be named soon */
export const forgetContents = async ({ knex }: Database, before: number): Promise<void> => {
  const kept = await knex<SnapshotRow>(amlSnapshots.name)
    .orderBy('version', 'desc')
    .limit(KEPT_SNAPSHOTS)
    .select('lists')
  const named = kept.flatMap(({ lists }) => lists.map(({ content }) => content))
  await knex<ContentRow>(amlContents.name)
    .whereNotIn('content', named)
    .where('staged_at', '<', before)
    .delete()
}

/** Forgets parts of a list that turned out not to be wanted. */
export const forgetContent = async ({ knex }: Database, content: string): Promise<void> => {
  await knex<ContentRow>(amlContents.name).where({ content }).delete()
}

export const amlResults = table('aml_outcomes', {
  organisation: text().key(),
  /** Keyed pseudonym. */
  subject: text().key(),
  check_type: text<CheckType>().key(),
  result: text<ScreeningResult>().merge('last'),
  reason: text().null().merge('last'),
  risk_score: integer().merge('last'),
  list_version: text().merge('last'),
  checked_at: integer().merge('last'),
  entry_index: integer().merge('last'),
})

export type AmlResultRow = RowOf<typeof amlResults>

/** The last result of each type. */
export const findResults = (
  { knex }: Database,
  organisation: string,
  subject: string,
): Promise<AmlResultRow[]> => knex<AmlResultRow>('aml_outcomes').where({ organisation, subject }).select()
