/** Time as an argument, so that tests can move it. @module */

export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** ISO 8601 UTC with milliseconds, the form of every time in a body. */
export const iso = (unixMs: number): string => new Date(unixMs).toISOString()
