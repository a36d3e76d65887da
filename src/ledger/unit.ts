/** What the ledger's lane queues. @module */
import type { Knex } from 'knex'
import type { Caller, Idempotency } from '../caller.ts'
import type { LaneUnit } from '../store/lane.ts'
import type { Row } from '../store/table.ts'
import type { Decide, Entry } from './decision.ts'
import { type Keys, noKeys } from './known.ts'

/** A decision of one caller, which stands or falls as a whole. */
export interface Unit {
  readonly caller: Caller
  readonly decide: Decide<unknown>
  /** What its first run named. */
  readonly keys: Keys
  /** The claim of the caller's Idempotency-Key, where this unit carries it. */
  readonly idempotency?: Pick<Idempotency, 'organisation' | 'key' | 'requestHash'>
  /** Its answer is kept for whoever repeats the request even if nothing was written. */
  readonly isAlwaysKept?: boolean
}

/** What an administrative change leaves behind: an entry, or several, unless nothing worth one happened, and the answer. */
export interface Change<R> {
  readonly entry?: Entry | readonly Entry[]
  /** Rows that are written with the entry. */
  readonly rows?: readonly Row[]
  /** Counters that move on by one, so that decisions which rest on what is changed can see that it was. */
  readonly advances?: readonly string[]
  readonly result: R
}

/** An administrative change: code that runs inside a transaction of its own. */
export interface ChangeUnit extends Pick<Unit, 'caller' | 'idempotency'> {
  readonly change: (trx: Knex) => Promise<Change<unknown>>
}

/** A unit in the lane's queue. */
export type Queued = LaneUnit & (Unit | ChangeUnit)

export const isChange = (unit: Unit | ChangeUnit): unit is ChangeUnit => 'change' in unit

/** Every claim, counter and stored answer that the units name. */
export const keysOf = (
  units: readonly Unit[],
): Keys & { readonly answers: [organisation: string, key: string][] } => {
  const all = { ...noKeys(), answers: [] as [string, string][] }
  for (const { keys, idempotency } of units) {
    if (idempotency) all.answers.push([idempotency.organisation, idempotency.key])
    all.claims.push(...keys.claims)
    all.counters.push(...keys.counters)
  }
  return all
}
