/** What an agent wants to do, in exact terms, held against what it signed and what it may do. @module */
import { isCurrency } from '../../../protocol/currency.ts'
import { fromMinorUnits, toMinorUnits } from '../../../protocol/payment-proof.ts'
import type { AgentLimits } from '../enrol/service.ts'
import { refuseField } from './evidence/request-reading.ts'
import type { AuthorisationReason } from './reasons.ts'
import type { AuthoriseAgent } from './schemas-authorise.ts'

export interface Money {
  readonly currency: string
  /** Minor units, at most 2^53 − 1. */
  readonly minor: number
}

/** The amount, in minor units. @throws AppError validation_failed */
export const readMoney = ({ amount, currency }: AuthoriseAgent): Money | undefined => {
  // One is never without the other.
  if (amount === undefined || currency === undefined) return undefined
  if (!isCurrency(currency))
    return refuseField('/currency', 'currency', 'currency must be an ISO 4217 code in upper case')
  const read = toMinorUnits(amount, currency)
  return read.ok
    ? { currency, minor: read.minor }
    : refuseField('/amount', read.reason, `amount ${read.message}`)
}

/** Whether what was signed says exactly what is asked for: no less, no more, and nothing else. */
export const isSigned = (
  signed: Readonly<Record<string, unknown>> | undefined,
  { action, resource, payee }: AuthoriseAgent,
  money: Money | undefined,
): boolean => {
  if (signed === undefined) return false
  const same = (name: string, wanted: string | undefined) => (signed[name] ?? undefined) === wanted
  if (!same('action', action) || !same('resource', resource) || !same('payee', payee)) return false
  if (!same('currency', money?.currency)) return false
  const { amount } = signed
  if (money === undefined) return amount === undefined || amount === null
  if (typeof amount !== 'number') return false
  const read = toMinorUnits(amount, money.currency)
  return read.ok && read.minor === money.minor
}

const isAmong = (allowed: readonly string[] | undefined, name: string): boolean =>
  allowed === undefined || allowed.includes(name)

/** What speaks against it in the limits of the agent; the limit of a day is for the ledger to say. */
export const limitFaults = (
  limits: AgentLimits | null,
  { action, payee }: AuthoriseAgent,
  money: Money | undefined,
): AuthorisationReason[] => {
  const faults: AuthorisationReason[] = []
  if (!isAmong(limits?.allowedActions, action)) faults.push('ACTION_NOT_ALLOWED')
  if (payee !== undefined && !isAmong(limits?.allowedPayees, payee)) faults.push('PAYEE_NOT_ALLOWED')
  if (money === undefined) return faults
  if (payee === undefined && limits?.allowedPayees !== undefined) faults.push('PAYEE_REQUIRED')
  if (limits === null) faults.push('LIMITS_MISSING')
  else if (money.currency !== limits.currency) faults.push('CURRENCY_MISMATCH')
  else {
    const { perTransactionMinor, perDayMinor } = limits
    if (perTransactionMinor === undefined && perDayMinor === undefined) faults.push('LIMITS_MISSING')
    if (perTransactionMinor !== undefined && money.minor > perTransactionMinor)
      faults.push('PER_TRANSACTION_EXCEEDED')
  }
  return faults
}

/** What is left of a day's limit, in units of the currency. @param spentMinor so far */
export const remainingOf = (limits: AgentLimits | null, spentMinor: number): number | null =>
  limits?.perDayMinor === undefined
    ? null
    : fromMinorUnits(Math.max(limits.perDayMinor - spentMinor, 0), limits.currency)
