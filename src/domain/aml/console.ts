/** What operators do with the lists. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import type { WatchListState } from '../../metrics.ts'
import { CHECK_TYPES } from './entry.ts'
import { textFile } from './lists/files/list-file.ts'
import type { ListSource } from './lists/list-source.ts'
import type { ListsService } from './lists/lists.ts'
import { ageSeconds, checkableTypes, neverLoaded, type Snapshot } from './lists/snapshots.ts'
import type { ChangeLists, WatchLists } from './schemas-lists.ts'

type UploadList = Extract<ChangeLists, { action: 'upload' }>

export type WatchListsService = ReturnType<typeof createWatchLists>

const sourceOf = ({ listId, format, files, checkTypes }: UploadList): ListSource => ({
  listId,
  format,
  files: files.map(({ name, content }) => textFile(name, content)),
  ...(checkTypes && { checkTypes }),
})

/** A list that is configured and not there. */
const NOTHING = { entries: 0, ageSeconds: undefined, isFailed: true } as const

export const createWatchLists = (lists: ListsService, clock: Clock) => {
  const describe = (snapshot: Snapshot): WatchLists => {
    const checkable = checkableTypes(snapshot)
    const missing = neverLoaded(snapshot)
    const problem = lists.problem()
    return {
      listVersion: snapshot.version,
      sha256: snapshot.sha256,
      loadedAt: snapshot.loadedAt === undefined ? null : iso(snapshot.loadedAt),
      sample: snapshot.isSample,
      uncovered: CHECK_TYPES.filter((type) => !checkable.includes(type)),
      problem: problem === undefined ? null : { message: problem.message, at: iso(problem.since) },
      problems: snapshot.problems.map((one) => ({
        ...one,
        checkTypes: [...one.checkTypes],
        since: iso(one.since),
        earlierEntries: !missing.includes(one),
      })),
      lists: snapshot.lists.map((list) => ({
        ...list,
        publishedAt: list.publishedAt === null ? null : iso(list.publishedAt),
        loadedAt: iso(list.loadedAt),
        checkTypes: [...list.checkTypes],
        files: [...list.files],
      })),
    }
  }
  return {
    describe: (): WatchLists => describe(lists.current()),

    /** How each list is, for those who watch the service. */
    states(): WatchListState[] {
      const snapshot = lists.current()
      const failed = new Set(snapshot.problems.map(({ listId }) => listId))
      const problem = lists.problem()
      return [
        ...snapshot.lists.map((list) => ({
          list: list.listId,
          entries: list.entries,
          ageSeconds: ageSeconds(list, clock.now()),
          isFailed: failed.has(list.listId),
        })),
        ...neverLoaded(snapshot).map(({ listId }) => ({ ...NOTHING, list: listId })),
        ...(problem === undefined || failed.has(problem.name)
          ? []
          : [{ ...NOTHING, entries: undefined, list: problem.name }]),
      ]
    },

    /** @throws AppError list_invalid, not_found, conflict */
    async change(caller: Caller, input: ChangeLists): Promise<WatchLists> {
      if (input.action === 'remove') return describe(await lists.remove(caller, input.listId))
      const { acceptLoss = false } = input
      if (input.action === 'reload') return describe(await lists.reload(caller, acceptLoss))
      return describe(await lists.upload(caller, sourceOf(input), acceptLoss))
    },
  }
}
