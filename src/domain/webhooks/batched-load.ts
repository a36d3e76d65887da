/** Look-ups of one moment asked as one question. @module */
import { setImmediate as turn } from 'node:timers/promises'

/**
 * @param loadAll answers what it finds, by key
 * @returns looks up one key, together with all others that are asked for in the same turn of the event loop;
 *   undefined where there is none
 */
export const createBatchedLoad = <V>(
  loadAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): ((key: string) => Promise<V | undefined>) => {
  let gathering: { readonly keys: string[]; readonly answer: Promise<ReadonlyMap<string, V>> } | undefined

  const gather = () => {
    const keys: string[] = []
    const ask = async (): Promise<ReadonlyMap<string, V>> => {
      await turn()
      gathering = undefined
      return loadAll(keys)
    }
    return { keys, answer: ask() }
  }

  return async (key) => {
    gathering ??= gather()
    gathering.keys.push(key)
    return (await gathering.answer).get(key)
  }
}
