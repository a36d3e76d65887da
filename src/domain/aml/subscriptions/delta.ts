/** What of the lists has changed since people were screened last, ready to be searched. @module */
import { LRUCache } from 'lru-cache'
import type { ListEntry } from '../entry.ts'
import type { ListsService } from '../lists/lists.ts'
import type { Snapshot } from '../lists/snapshots.ts'
import { type Among, buildScreening, type Subject } from '../screening.ts'

/** Where more entries changed, an index over them would cost as much as looking in all. */
const MAX_DELTA_ENTRIES = 5_000
/** People stand at few versions: the last one, and those of a change before that was not finished. */
const MAX_DELTAS = 4

export interface Delta {
  /** Whether a change may concern somebody: who is not found here needs no screening. */
  mayMatch(subject: Subject): Promise<boolean>
  /** Entries that are new or changed; undefined for all. */
  readonly among: Among | undefined
}

const EVERYTHING: Delta = { mayMatch: async () => true, among: undefined }

const deltaOf = async (
  lists: Pick<ListsService, 'changes'>,
  snapshot: Snapshot,
  from: number,
): Promise<Delta> => {
  const changed = new Map<string, Map<string, ListEntry>>()
  let count = 0
  for await (const { listId, entryId, entry } of lists.changes(from, snapshot.number)) {
    if (entry === undefined) continue
    if (++count > MAX_DELTA_ENTRIES) return EVERYTHING
    const entries = changed.get(listId) ?? new Map<string, ListEntry>()
    changed.set(listId, entries.set(entryId, entry))
  }
  const screening = await buildScreening(
    [...changed].map(([listId, entries]) => ({ listId, entries: entries.values() })),
    snapshot.screening,
  )
  return {
    mayMatch: (subject) => screening.mayMatch(subject),
    among: (listId, entryId) => changed.get(listId)?.has(entryId) === true,
  }
}

/** Remembers the last ones, since many people stand at the same version. */
export const createDeltas = (lists: Pick<ListsService, 'changes'>) => {
  const deltas = new LRUCache<string, Promise<Delta>>({ max: MAX_DELTAS })
  return {
    everything: EVERYTHING,

    /** @param from number of the snapshot that was screened against @throws Error when entries can't be read */
    since(snapshot: Snapshot, from: number): Promise<Delta> {
      const key = `${from}-${snapshot.number}`
      const known = deltas.get(key)
      if (known !== undefined) return known
      const delta = deltaOf(lists, snapshot, from)
      deltas.set(key, delta)
      delta.catch(() => deltas.delete(key))
      return delta
    },
  }
}
