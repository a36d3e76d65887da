/** What operators do with the lists. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { CHECK_TYPES } from './entry.ts'
import type { ListSource } from './list-source.ts'
import { type ListsService, problemOf } from './lists.ts'
import { textFile } from './loaders/list-file.ts'
import type { ChangeLists, WatchLists } from './schemas-lists.ts'
import { coveredTypes, type Snapshot } from './snapshots.ts'

export type WatchListsService = ReturnType<typeof createWatchLists>

/** @throws AppError validation_failed where the action needs a field that is absent */
const need = <K extends 'listId' | 'format' | 'files'>(
  input: ChangeLists,
  field: K,
): NonNullable<ChangeLists[K]> => {
  const value = input[field]
  if (value !== undefined) return value
  const message = `${field} is needed for ${input.action}`
  throw new AppError('validation_failed', { details: [{ path: `/${field}`, code: 'required', message }] })
}

const sourceOf = (input: ChangeLists): ListSource => ({
  listId: need(input, 'listId'),
  format: need(input, 'format'),
  files: need(input, 'files').map(({ name, content }) => textFile(name, content)),
  ...(input.checkTypes && { checkTypes: input.checkTypes }),
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

    /** @throws AppError validation_failed, list_invalid, not_found, conflict */
    async change(caller: Caller, input: ChangeLists): Promise<WatchLists> {
      const { action, acceptLoss = false } = input
      if (action === 'reload') return describe(await lists.reload(caller, acceptLoss))
      if (action === 'remove') return describe(await lists.remove(caller, need(input, 'listId')))
      return describe(await lists.upload(caller, sourceOf(input), acceptLoss))
    },
  }
}
