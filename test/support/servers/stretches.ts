/** How long a thread gives nobody else a turn. @module */
import { createThreadClock } from './thread-time.ts'

/** The longest time between two turns of a timer of one millisecond. */
export interface Stretch {
  /** Processor time of the thread: what it did in between, however busy the machine is otherwise. */
  readonly processorMs: number
  readonly clockMs: number
}

const NONE: Stretch = { processorMs: 0, clockMs: 0 }

/**
 * Watches this thread.
 * @param ownMs processor time that does not count, in all so far
 * @returns a function that tells the longest stretches since it was called last
 */
export const watchStretches = (ownMs: () => number = () => 0): (() => Stretch) => {
  const processor = createThreadClock()
  const now = () => ({ processor: processor() - ownMs(), clock: performance.now() })
  let longest = NONE
  let last = now()
  setInterval(() => {
    const at = now()
    longest = {
      processorMs: Math.max(longest.processorMs, at.processor - last.processor),
      clockMs: Math.max(longest.clockMs, at.clock - last.clock),
    }
    last = at
  }, 1).unref()
  return () => {
    const taken = longest
    longest = NONE
    return taken
  }
}
