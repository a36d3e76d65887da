/** What an agent may do, as it is sent and as it is kept. @module */
import { iso } from '../../../clock.ts'
import { AppError } from '../../../errors.ts'
import { isCurrency } from '../../../protocol/currency.ts'
import { fromMinorUnits, toMinorUnits } from '../../../protocol/payment-proof.ts'
import type { AgentLimits } from './record.ts'
import type { Limits } from './schemas.ts'

const refuse = (member: keyof Limits, code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path: `/limits/${member}`, code, message }] })
}

const toMinor = (limits: Limits, member: 'per_transaction' | 'per_day'): number | undefined => {
  const amount = limits[member]
  if (amount === undefined) return undefined
  // A limit of nothing is one; as an amount it would be none.
  if (amount === 0) return 0
  const read = toMinorUnits(amount, limits.currency)
  return read.ok ? read.minor : refuse(member, read.reason, `${member} ${read.message}`)
}

/** @param now Unix ms @throws AppError validation_failed */
export const readLimits = (limits: Limits, now: number): AgentLimits => {
  const { currency, allowed_payees, allowed_actions, expires_at } = limits
  if (!isCurrency(currency)) refuse('currency', 'currency', 'currency must be an ISO 4217 code in upper case')
  const expiresAt = expires_at === undefined ? undefined : Date.parse(expires_at)
  if (expiresAt !== undefined && expiresAt <= now)
    refuse('expires_at', 'past', 'expires_at must be in the future')
  return {
    currency,
    perTransactionMinor: toMinor(limits, 'per_transaction'),
    perDayMinor: toMinor(limits, 'per_day'),
    allowedPayees: allowed_payees,
    allowedActions: allowed_actions,
    expiresAt,
  }
}

/** As they were sent. */
export const toWireLimits = (limits: AgentLimits): Limits => {
  const toUnits = (minor: number | undefined) =>
    minor === undefined ? undefined : fromMinorUnits(minor, limits.currency)
  return {
    currency: limits.currency,
    per_transaction: toUnits(limits.perTransactionMinor),
    per_day: toUnits(limits.perDayMinor),
    allowed_payees: limits.allowedPayees && [...limits.allowedPayees],
    allowed_actions: limits.allowedActions && [...limits.allowedActions],
    expires_at: limits.expiresAt === undefined ? undefined : iso(limits.expiresAt),
  }
}
