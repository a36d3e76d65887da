/** What this thread's heap holds once nothing is left that could be thrown away. @module */
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const RETURN_MS = 50

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes: of JavaScript, and of what it holds outside of its heap. */
export const heldMemory = async (): Promise<{ readonly heap: number; readonly outside: number }> => {
  // What was outside of the heap is given back by others, after a turn of the loop.
  for (let times = 0; times < 2; times++) {
    collectGarbage()
    await pause(RETURN_MS)
  }
  const { heapUsed, external } = process.memoryUsage()
  return { heap: heapUsed, outside: external }
}
