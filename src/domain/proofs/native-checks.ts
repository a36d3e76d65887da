/** What has to hold of a known proof besides its pairing and its signals; a reason code for each thing that does not. @module */
import type { Caller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../store/database.ts'
import { elementsOf, toSeconds } from './binding.ts'
import { signalOf } from './signals.ts'
import type { ProofRecord, ReasonCode, Statement } from './statement.ts'
import * as store from './store.ts'

/** How far the `now` of a proof may lie from the clock. */
const MAX_NOW_DIFFERENCE_SECONDS = 120

interface Deps {
  readonly database: Database
  readonly clock: Clock
  readonly baseUrl: string
}

/** @returns a function that tells what is wrong with a proof whose signals are those of the record */
export const createNativeChecks = ({ database, clock, baseUrl }: Deps) => {
  /** Whether `ctx`, `scope` and `now` are what they must be: recomputed, never taken from the proof. */
  const bindingFaults = (
    { circuit }: Statement,
    record: ProofRecord,
    publicSignals: readonly string[],
    now: number,
  ): ReasonCode[] => {
    if (record.context === null) return ['CONTEXT_UNKNOWN']
    const { ctx, scope } = elementsOf(baseUrl, { ...record, ...record.context })
    const value = (name: string) => signalOf(circuit, publicSignals, name)
    const stated = value('now')
    const isOff = (seconds: string) => Math.abs(Number(seconds) - toSeconds(now)) > MAX_NOW_DIFFERENCE_SECONDS
    return [
      ...(value('ctx') === String(ctx) ? [] : ['CONTEXT_MISMATCH' as const]),
      ...([undefined, String(scope)].includes(value('scope')) ? [] : ['SCOPE_MISMATCH' as const]),
      ...(stated !== undefined && isOff(stated) ? ['NOW_OUT_OF_RANGE' as const] : []),
    ]
  }

  return async (
    caller: Caller,
    statement: Statement,
    record: ProofRecord,
    publicSignals: readonly string[],
  ): Promise<ReasonCode[]> => {
    const now = clock.now()
    const { circuit, nullifier } = statement
    const spent = nullifier === undefined ? undefined : signalOf(circuit, publicSignals, nullifier)
    const isRevoked = spent !== undefined && (await store.isNullifierRevoked(database, circuit.id, spent))
    const own = record.context && {
      caller,
      publicSignals,
      record,
      statement: record.context.statement,
      now,
    }
    return [
      ...bindingFaults(statement, record, publicSignals, now),
      ...(own ? await statement.check(own) : []),
      ...(record.expiresAt !== null && record.expiresAt <= now ? ['EXPIRED' as const] : []),
      ...(isRevoked ? ['NULLIFIER_REVOKED' as const] : []),
    ]
  }
}
