/** Look-ups of one moment asked as one question. @module */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** Nobody waits longer for the question before, which may be stuck. */
const MAX_WAIT_MS = 20

/**
 * One question is asked at a time and the next one gathers meanwhile, so that batches grow with the load.
 * @param loadAll answers what it finds, by key
 * @returns looks up one key, together with all others that are asked for in the same turn of the event loop, or until the
 *   question before is answered; undefined where there is none
 */
export const createBatchedLoad = <V>(
  loadAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): ((key: string) => Promise<V | undefined>) => {
  let gathering: { readonly keys: string[]; readonly answer: Promise<ReadonlyMap<string, V>> } | undefined
  let before: Promise<unknown> = Promise.resolve()

  const gather = () => {
    const keys: string[] = []
    const answered = before
    const ask = async (): Promise<ReadonlyMap<string, V>> => {
      await Promise.race([answered, pause(MAX_WAIT_MS, undefined, { ref: false })])
      await turn()
      gathering = undefined
      return loadAll(keys)
    }
    const answer = ask()
    before = answer.catch(() => undefined)
    return { keys, answer }
  }

  return async (key) => {
    gathering ??= gather()
    gathering.keys.push(key)
    return (await gathering.answer).get(key)
  }
}
