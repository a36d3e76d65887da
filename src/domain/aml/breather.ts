/** Long work in short pieces, so that requests are answered in between. @module */
import { setImmediate } from 'node:timers/promises'

/** Longest piece, in milliseconds. */
const PIECE_MS = 2

/** @returns to be called after each step; resolves at once, or after others had their turn */
export const createBreather = (): (() => Promise<void> | undefined) => {
  let until = performance.now() + PIECE_MS
  return () => {
    // Looked at each time: a step may be an entry with hundreds of names, and the clock costs far less than any step.
    if (performance.now() < until) return undefined
    return setImmediate().then(() => {
      until = performance.now() + PIECE_MS
    })
  }
}
