/** A set of lists, ready to be searched. @module */
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import type { Database } from '../../../store/database.ts'
import type { CheckType, ListEntry } from '../entry.ts'
import { buildScreening, type Screening } from '../screening.ts'
import type { ListProblem, SnapshotRow, StoredList } from '../store.ts'
import { sha256Hex, textFile } from './files/list-file.ts'
import { readContent } from './list-content.ts'
import { inTypeOrder, type ListSource, readSource } from './list-source.ts'
import { SAMPLE_FILE, SAMPLE_LIST_ID, SAMPLE_PUBLISHED_AT, SAMPLE_TEXT } from './sample.ts'

const SHOWN_HASH_DIGITS = 16

/** A list without where it is kept. */
export type KnownList = Omit<StoredList, 'content' | 'parts' | 'source'> & {
  readonly source: StoredList['source'] | 'sample'
}

export interface Snapshot {
  /** 0: nothing was ever loaded. */
  readonly number: number
  /** As answers name it. */
  readonly version: string
  readonly sha256: string
  /** Unix ms; undefined where nothing was loaded. */
  readonly loadedAt: number | undefined
  /** Whether the list that ships is among them, whose people are made up. */
  readonly isSample: boolean
  readonly lists: readonly KnownList[]
  /** Lists that could not be loaded as their files are now. */
  readonly problems: readonly ListProblem[]
  readonly screening: Screening
}

type Hashed = Pick<StoredList, 'listId' | 'sha256'>

/** SHA-256 over the RFC 8785 JSON of `[{listId, sha256}]`, by list id. */
export const snapshotHash = (lists: readonly Hashed[]): string => {
  const named = lists.map(({ listId, sha256 }) => ({ listId, sha256 }))
  return sha256Hex(canonicalJson(named.toSorted((a, b) => (a.listId < b.listId ? -1 : 1))))
}

/** Problems of lists of which no earlier entries are loaded either. */
export const neverLoaded = ({ lists, problems }: Pick<Snapshot, 'lists' | 'problems'>): ListProblem[] =>
  problems.filter((problem) => !lists.some(({ listId }) => listId === problem.listId))

/** What somebody can be checked for: what there are lists for, and no list is missing of those that are configured. */
export const checkableTypes = (snapshot: Pick<Snapshot, 'lists' | 'problems'>): CheckType[] => {
  const missing = new Set(neverLoaded(snapshot).flatMap(({ checkTypes }) => checkTypes))
  const covered = snapshot.lists.flatMap(({ checkTypes }) => checkTypes)
  return inTypeOrder(covered.filter((type) => !missing.has(type)))
}

/** How old a list is, in whole seconds: since it was published, or where its file does not say when, since it was loaded. @param now Unix ms */
export const ageSeconds = ({ publishedAt, loadedAt }: KnownList, now: number): number =>
  Math.max(0, Math.floor((now - (publishedAt ?? loadedAt)) / 1000))

/** The list that ships with the service. */
const readSample = async (): Promise<{
  readonly list: KnownList
  readonly entries: readonly ListEntry[]
}> => {
  const files = [textFile(SAMPLE_FILE, SAMPLE_TEXT)]
  const source: ListSource = { listId: SAMPLE_LIST_ID, format: 'opensanctions', files }
  const entries: ListEntry[] = []
  for await (const entry of readSource(source)) entries.push(entry)
  const list: KnownList = {
    listId: SAMPLE_LIST_ID,
    format: 'opensanctions',
    source: 'sample',
    checkTypes: inTypeOrder(entries.flatMap(({ types }) => types)),
    entries: entries.length,
    names: entries.reduce((sum, { names }) => sum + names.length, 0),
    sha256: sha256Hex(entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')),
    publishedAt: null,
    loadedAt: SAMPLE_PUBLISHED_AT,
    files: [{ name: SAMPLE_FILE, sha256: sha256Hex(SAMPLE_TEXT), bytes: Buffer.byteLength(SAMPLE_TEXT) }],
  }
  return { list, entries }
}

/**
 * What the database holds of a version, ready to be searched.
 * @param row absent: nothing was loaded yet
 * @param withSample adds the list that ships
 * @param known an earlier version, whose index is taken over where the entries are the same
 * @throws Error when entries are gone or altered
 */
export const readSnapshot = async (
  database: Database,
  row: SnapshotRow | undefined,
  { withSample, known }: { readonly withSample: boolean; readonly known?: Snapshot },
): Promise<Snapshot> => {
  const stored = row?.lists ?? []
  const sample = withSample ? await readSample() : undefined
  const lists: readonly KnownList[] = [
    ...stored.map(({ content: _content, parts: _parts, ...list }) => list),
    ...(sample ? [sample.list] : []),
  ]
  const sha256 = snapshotHash(lists)
  const number = row?.version ?? 0
  const build = (): Promise<Screening> =>
    buildScreening([
      ...stored.map((list) => ({ listId: list.listId, entries: readContent(database, list) })),
      ...(sample ? [{ listId: SAMPLE_LIST_ID, entries: sample.entries }] : []),
    ])
  return {
    number,
    version: `${sample ? 'sample-' : ''}v${number}-${sha256.slice(0, SHOWN_HASH_DIGITS)}`,
    sha256,
    loadedAt: row?.loaded_at,
    isSample: sample !== undefined,
    lists,
    problems: row?.problems ?? [],
    screening: known?.sha256 === sha256 ? known.screening : await build(),
  }
}

/** Whether two versions, as answers name them, hold the same entries. */
export const isSameVersion = (a: string, b: string): boolean =>
  a.slice(-SHOWN_HASH_DIGITS) === b.slice(-SHOWN_HASH_DIGITS)
