/** The first run of a decision, before its batch: it tells which keys have to be read, and how much will be appended. @module */
import { MAX_BATCH_ITEMS } from '../store/lane.ts'
import { type Decide, type Entry, type Held, type Json, type Place, type Tx, WithRoot } from './decision.ts'
import { type Keys, keyOf, noKeys } from './known.ts'
import { HASH_BYTES } from './tree/merkle.ts'

const NO_HASH = '0'.repeat(2 * HASH_BYTES)

/** Nothing was read, so every key is free but for those that the decision claims itself. */
class FirstRun implements Tx {
  readonly at: number
  readonly keys: Keys = noKeys()
  entries = 0
  rows = 0
  readonly #organisation: string
  readonly #place: Place
  readonly #claims = new Map<string, Held | undefined>()
  readonly #counters = new Map<string, number>()

  constructor(organisation: string, at: number) {
    this.#organisation = organisation
    this.at = at
    this.#place = { log: 0, index: 0, entryId: '', leafHash: NO_HASH, at }
  }

  holder(kind: string, key: string): Held | undefined {
    const name = keyOf(this.#organisation, kind, key)
    if (!this.#claims.has(name)) {
      this.#claims.set(name, undefined)
      this.keys.claims.push([this.#organisation, kind, key])
    }
    return this.#claims.get(name)
  }

  counter(name: string): number {
    const known = this.#counters.get(name)
    if (known !== undefined) return known
    this.#counters.set(name, 0)
    this.keys.counters.push([this.#organisation, name])
    return 0
  }

  claim(kind: string, key: string, holder: Json = null): void {
    this.holder(kind, key)
    this.#claims.set(keyOf(this.#organisation, kind, key), { holder, at: this.at })
  }

  add(counter: string, amount: number): number {
    const value = this.counter(counter) + amount
    this.#counters.set(counter, value)
    return value
  }

  append(_entry: Entry): Place {
    this.entries++
    return this.#place
  }

  write(): void {
    this.rows++
  }

  withRoot<R>(finish: (root: string, treeSize: number) => R): WithRoot<R> {
    return new WithRoot(finish)
  }
}

/** What the first run of a decision told. */
export interface Foreseen {
  readonly keys: Keys
  /** Entries, at least 1; what has more than a batch holds makes one by itself. */
  readonly weight: number
}

/**
 * Runs a decision for the first time.
 * @param at Unix ms: about the time of its batch
 * @returns what it names, or its answer where it named nothing: no other run could come to anything else
 */
export const foresee = <R>(
  organisation: string,
  decide: Decide<R>,
  at: number,
): Foreseen | { readonly answer: R } => {
  const run = new FirstRun(organisation, at)
  const { keys } = run
  try {
    const answer = decide(run)
    const isIdle = keys.claims.length + keys.counters.length + run.entries + run.rows === 0
    if (isIdle && !(answer instanceof WithRoot)) return { answer }
  } catch {
    // It was told that everything is free, which need not be so.
  }
  return { keys, weight: Math.min(Math.max(1, run.entries), MAX_BATCH_ITEMS) }
}
