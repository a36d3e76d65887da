/** What a batch knows of claims and counters: what was read, and what its own units have won so far. @module */
import type { Held } from './item.ts'
import type { AnswerRow } from './tables.ts'

/** What was read from the database, and what was asked for in vain. Keys are made by `keyOf`. */
export interface Known {
  /** Null: free. */
  readonly claims: Map<string, Omit<Held, 'claim'> | null>
  readonly counters: Map<string, number>
  /** Those that have not expired. */
  readonly answers: Map<string, AnswerRow>
}

/** Names and keys with a NUL never reach the database: text can't hold it. */
export const keyOf = (...parts: string[]): string => parts.join('\0')

/** Claims or counters that nobody read, because only a replaced item names them. */
export interface Unread {
  readonly claims: [organisation: string, kind: string, key: string][]
  readonly counters: [organisation: string, counter: string][]
}

/** Claims and counters of the batch so far, laid over what was read; a unit's own lie on top until it is accepted. */
export class Overlay {
  readonly #below: Overlay | Known
  readonly claims = new Map<string, Omit<Held, 'claim'>>()
  readonly counters = new Map<string, number>()
  constructor(below: Overlay | Known) {
    this.#below = below
  }

  /** Undefined: nobody looked. */
  holderOf(key: string): Omit<Held, 'claim'> | null | undefined {
    const own = this.claims.get(key)
    if (own !== undefined) return own
    return this.#below instanceof Overlay ? this.#below.holderOf(key) : this.#below.claims.get(key)
  }

  /** Undefined: nobody looked. */
  valueOf(key: string): number | undefined {
    const own = this.counters.get(key)
    if (own !== undefined) return own
    return this.#below instanceof Overlay ? this.#below.valueOf(key) : this.#below.counters.get(key)
  }

  absorb(above: Overlay): void {
    for (const [key, held] of above.claims) this.claims.set(key, held)
    for (const [key, value] of above.counters) this.counters.set(key, value)
  }
}
