/** What has to hold of a known proof besides its pairing and its signals; a reason code for each thing that does not. @module */
import type { Caller } from '../../caller.ts'
import { isScopeOf } from '../../circuits/proof-facts.ts'
import type { Clock } from '../../clock.ts'
import { findStatusPlace } from '../../protocol/status.ts'
import type { Database } from '../../store/database.ts'
import type { StatusesService } from '../status/service.ts'
import { elementsOf, scopeOf, toSeconds } from './binding.ts'
import { signalOf } from './signals.ts'
import type { ProofRecord, ReasonCode, Stated, Statement } from './statement.ts'
import * as store from './store.ts'

/** How far the `now` of a proof may lie from the clock. */
const MAX_NOW_DIFFERENCE_SECONDS = 120

/** The output that tells the status of what was issued; 0 where it isn't told. */
export const DISCLOSED_STATUS = 'disclosedStatus'
/** What stands in an output that tells nothing. */
export const NONE = '0'

interface Deps {
  readonly database: Database
  readonly statuses: Pick<StatusesService, 'isSet'>
  readonly clock: Clock
  readonly baseUrl: string
}

/** @returns a function that tells what is wrong with a proof whose signals are those of the record */
export const createNativeChecks = ({ database, statuses, clock, baseUrl }: Deps) => {
  /** Whether `ctx`, `scope` and `now` are what they must be: recomputed, never taken from the proof. */
  const bindingFaults = (
    { circuit }: Statement,
    record: ProofRecord,
    publicSignals: readonly string[],
    now: number,
  ): ReasonCode[] => {
    if (record.context === null) return ['CONTEXT_UNKNOWN']
    const bound = { ...record, ...record.context }
    const value = (name: string) => signalOf(circuit, publicSignals, name)
    const [scope, stated] = [value('scope'), value('now')]
    const isScoped = scope === undefined || isScopeOf(circuit.id, scope, scopeOf(baseUrl, bound))
    const isOff = (seconds: string) => Math.abs(Number(seconds) - toSeconds(now)) > MAX_NOW_DIFFERENCE_SECONDS
    return [
      ...(value('ctx') === String(elementsOf(baseUrl, bound).ctx) ? [] : ['CONTEXT_MISMATCH' as const]),
      ...(isScoped ? [] : ['SCOPE_MISMATCH' as const]),
      ...(stated !== undefined && isOff(stated) ? ['NOW_OUT_OF_RANGE' as const] : []),
    ]
  }

  /** Whether the status is told where it is asked for, and isn't revoked. */
  const statusFaults = async (
    { circuit, status: demanded }: Statement,
    publicSignals: readonly string[],
    asked: Stated | undefined,
  ): Promise<ReasonCode[]> => {
    if (demanded === undefined) return []
    const status = signalOf(circuit, publicSignals, DISCLOSED_STATUS) ?? NONE
    const isWaived = demanded === 'waivable' && asked?.disclose === NONE
    if (status === NONE) return isWaived ? [] : ['STATUS_UNDISCLOSED']
    // Of a credential that somebody else signed it may be any number.
    if (findStatusPlace(Number(status)) === undefined) return ['STATUS_UNDISCLOSED']
    return (await statuses.isSet(Number(status))) ? ['CREDENTIAL_REVOKED'] : []
  }

  return async (
    caller: Caller,
    statement: Statement,
    record: ProofRecord,
    publicSignals: readonly string[],
  ): Promise<ReasonCode[]> => {
    const now = clock.now()
    const { circuit, spends } = statement
    const spent = spends === undefined ? undefined : signalOf(circuit, publicSignals, spends)
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
      ...(await statusFaults(statement, publicSignals, record.context?.statement)),
      ...(record.expiresAt !== null && record.expiresAt <= now ? ['EXPIRED' as const] : []),
      ...(isRevoked ? ['NULLIFIER_REVOKED' as const] : []),
    ]
  }
}
