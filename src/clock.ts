/** Time as an argument, so that tests can move it. @module */

export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** The last moment that four digits of a year can tell (RFC 3339 §5.6): the end of 9999, in Unix ms. */
export const LAST_MS = 253_402_300_799_999

/** ISO 8601 UTC with milliseconds, the form of every time in a body. */
export const iso = (unixMs: number): string => new Date(unixMs).toISOString()
