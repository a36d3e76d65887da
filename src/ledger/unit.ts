/** What the ledger's lane queues. @module */
import type { Knex } from 'knex'
import type { Caller, Idempotency } from '../caller.ts'
import type { LaneUnit } from '../store/lane.ts'
import type { Entry, Item } from './item.ts'
import type { Unread } from './overlay.ts'

/** Items that stand or fall together, for one caller. */
export interface Unit {
  readonly caller: Caller
  readonly items: readonly Item<unknown>[]
  /** Turns the items' results into the unit's answer. Pure. */
  readonly finish: (results: unknown[]) => unknown
  /** The claim of the caller's Idempotency-Key, where this unit carries it. */
  readonly idempotency?: Pick<Idempotency, 'organisation' | 'key' | 'requestHash'>
}

/** What an administrative change leaves behind: an entry, unless nothing worth one happened, and the answer. */
export interface Change<R> {
  readonly entry?: Entry
  readonly result: R
}

/** An administrative change: code that runs inside the transaction, alone in its batch. */
export interface ChangeUnit extends Pick<Unit, 'caller' | 'idempotency'> {
  readonly change: (trx: Knex) => Promise<Change<unknown>>
}

/** A unit in the lane's queue. */
export type Queued = LaneUnit & (Unit | ChangeUnit)

export const isChange = (unit: Unit | ChangeUnit): unit is ChangeUnit => 'change' in unit

/** Every claim, counter and stored answer that the units name. */
export const keysOf = (
  units: readonly Unit[],
): Unread & { readonly answers: [organisation: string, key: string][] } => {
  const keys: Unread & { answers: [string, string][] } = { claims: [], counters: [], answers: [] }
  for (const { caller, items, idempotency } of units) {
    const { organisation } = caller
    if (idempotency) keys.answers.push([idempotency.organisation, idempotency.key])
    for (const { claims = [], takes = [] } of items) {
      for (const { kind, key } of claims) keys.claims.push([organisation, kind, key])
      for (const { counter } of takes) keys.counters.push([organisation, counter])
    }
  }
  return keys
}
