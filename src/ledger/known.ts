/** What a batch knows of claims, counters and stored answers, and what it has to ask for. @module */
import type { Held } from './decision.ts'
import type { AnswerRow } from './tables.ts'

/** What was read from the database, and what was asked for in vain. Named by `keyOf`. */
export interface Known {
  /** Null: free. */
  readonly claims: Map<string, Held | null>
  readonly counters: Map<string, number>
  /** Those that have not expired. */
  readonly answers: Map<string, AnswerRow>
}

/** Names and keys with a NUL never reach the database: text can't hold it. */
export const keyOf = (organisation: string, name: string, key = ''): string =>
  `${organisation}\0${name}\0${key}`

/** Claims and counters to be read. */
export interface Keys {
  readonly claims: [organisation: string, kind: string, key: string][]
  readonly counters: [organisation: string, counter: string][]
}

export const noKeys = (): Keys => ({ claims: [], counters: [] })
