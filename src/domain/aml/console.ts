/** What operators do with the lists. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { CHECK_TYPES } from './entry.ts'
import type { ListSource } from './lists/list-source.ts'
import { type ListsService, problemOf } from './lists/lists.ts'
import { textFile } from './lists/loaders/list-file.ts'
import { coveredTypes, type Snapshot } from './lists/snapshots.ts'
import type { ChangeLists, WatchLists } from './schemas-lists.ts'

type UploadList = Extract<ChangeLists, { action: 'upload' }>

export type WatchListsService = ReturnType<typeof createWatchLists>

const sourceOf = ({ listId, format, files, checkTypes }: UploadList): ListSource => ({
  listId,
  format,
  files: files.map(({ name, content }) => textFile(name, content)),
  ...(checkTypes && { checkTypes }),
})

export const createWatchLists = (lists: ListsService) => {
  const describe = (snapshot: Snapshot): WatchLists => {
    const covered = coveredTypes(snapshot.lists)
    const problem = lists.problem()
    return {
      listVersion: snapshot.version,
      sha256: snapshot.sha256,
      loadedAt: snapshot.loadedAt === undefined ? null : iso(snapshot.loadedAt),
      sample: snapshot.isSample,
      uncovered: CHECK_TYPES.filter((type) => !covered.includes(type)),
      problem: problem === undefined ? null : problemOf(problem),
      lists: snapshot.lists.map((list) => ({
        ...list,
        checkTypes: [...list.checkTypes],
        files: [...list.files],
      })),
    }
  }
  return {
    describe: (): WatchLists => describe(lists.current()),

    /** @throws AppError list_invalid, not_found, conflict */
    async change(caller: Caller, input: ChangeLists): Promise<WatchLists> {
      if (input.action === 'remove') return describe(await lists.remove(caller, input.listId))
      const { acceptLoss = false } = input
      if (input.action === 'reload') return describe(await lists.reload(caller, acceptLoss))
      return describe(await lists.upload(caller, sourceOf(input), acceptLoss))
    },
  }
}
