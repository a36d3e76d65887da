/** What differs between two versions of the lists, entry by entry. @module */
import type { Database } from '../../../store/database.ts'
import { createBreather } from '../breather.ts'
import { entryDigest, type ListEntry } from '../entry.ts'
import { countParts, findSnapshotOf, type SnapshotRow, type StoredList } from '../store.ts'
import { WideMap } from '../wide-map.ts'
import { readContent } from './list-content.ts'

export interface EntryChange {
  readonly listId: string
  readonly entryId: string
  readonly change: 'added' | 'changed' | 'removed'
  /** {@link entryDigest} of the entry as it is now; of a removed one, as it was. */
  readonly digest: string
  /** As it is now; undefined where it was removed. */
  readonly entry: ListEntry | undefined
}

/** Digests by the entry's id. They are held as bytes: a list may have a million. */
type Digests = WideMap<Buffer>

const readDigests = async (database: Database, list: StoredList | undefined): Promise<Digests> => {
  const digests: Digests = new WideMap()
  if (list === undefined) return digests
  const breathe = createBreather()
  for await (const entry of readContent(database, list)) {
    digests.set(entry.id, Buffer.from(entryDigest(entry), 'hex'))
    await breathe()
  }
  return digests
}

/** @param before undefined where it was another list's, or is forgotten @param isForgotten whether all that is there may have changed */
async function* compareLists(
  database: Database,
  { before, after, isForgotten }: { before?: StoredList; after?: StoredList; isForgotten: boolean },
): AsyncGenerator<EntryChange> {
  const listId = after?.listId ?? before?.listId ?? ''
  const known = isForgotten ? new WideMap<Buffer>() : await readDigests(database, before)
  const breathe = createBreather()
  if (after !== undefined) {
    for await (const entry of readContent(database, after)) {
      const digest = entryDigest(entry)
      const was = known.get(entry.id)
      known.delete(entry.id)
      if (was?.toString('hex') !== digest) {
        const change = was === undefined && !isForgotten ? 'added' : 'changed'
        yield { listId, entryId: entry.id, change, digest, entry }
      }
      await breathe()
    }
  }
  for (const [entryId, was] of known)
    yield { listId, entryId, change: 'removed', digest: was.toString('hex'), entry: undefined }
}

const isKept = async (database: Database, list: StoredList): Promise<boolean> =>
  (await countParts(database.knex, [list.content])).get(list.content) === list.parts

/**
 * What differs between two versions, list by list, read as a stream. Lists of the same hash are left out unread. Of a list whose
 * earlier entries are forgotten every entry is `changed`, and which were removed is not known.
 * @param from version, 0: nothing @param to a later version
 * @throws Error when the entries of the later version are gone
 */
export async function* readChanges(
  database: Database,
  from: number,
  to: number,
): AsyncGenerator<EntryChange> {
  const [before, after] = await Promise.all([findSnapshotOf(database, from), findSnapshotOf(database, to)])
  const listsOf = (row: SnapshotRow | undefined) => new Map(row?.lists.map((list) => [list.listId, list]))
  const [earlier, later] = [listsOf(before), listsOf(after)]
  const isLost = from > 0 && before === undefined
  for (const listId of new Set([...earlier.keys(), ...later.keys()])) {
    const [was, is] = [earlier.get(listId), later.get(listId)]
    if (was?.sha256 === is?.sha256) continue
    const isForgotten = isLost || (was !== undefined && !(await isKept(database, was)))
    yield* compareLists(database, { before: was, after: is, isForgotten })
  }
}
