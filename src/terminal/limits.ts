/** What a terminal may accept without asking the server. @module */
import { DEFAULT_AMOUNT_LIMITS } from '../protocol/payment-limits.ts'
import { DEFAULT_MAX_OFFLINE_AGE_MS } from '../protocol/sync.ts'
import { minorUnitsOf } from './payment-input.ts'
import type { EffectiveLimits, Limits, ServerLimits, Timeouts } from './types.ts'

const AMOUNTS = ['floorLimit', 'storedSumLimit'] as const
const LONGEST_TIMEOUT_MS = 600_000

const stricter = (a: number | null | undefined, b: number | null | undefined): number | undefined => {
  if (a == null) return b ?? undefined
  return b == null ? a : Math.min(a, b)
}

/** Of two sets of limits, the stricter one of each; where nobody has said anything yet, the default. */
export const effectiveLimits = (own: Limits, server: ServerLimits | undefined): EffectiveLimits => {
  const amountLimit = (name: (typeof AMOUNTS)[number]): number | undefined => {
    const asked = own[name] ?? (server ? 'none' : DEFAULT_AMOUNT_LIMITS[name])
    return stricter(asked === 'none' ? undefined : asked, server?.[name])
  }
  return {
    floorLimit: amountLimit('floorLimit'),
    storedSumLimit: amountLimit('storedSumLimit'),
    maxOfflineAgeMs: stricter(own.maxOfflineAgeMs, server?.maxOfflineAgeMs) ?? DEFAULT_MAX_OFFLINE_AGE_MS,
  }
}

interface Situation {
  /** Major units. */
  readonly amount: number
  readonly amountMinor: number
  readonly currency: string
  /** Minor units of the same currency that wait already. */
  readonly storedMinor: bigint
  /** Unix ms of the payment that has waited longest, this one included; Infinity where that is unknown. */
  readonly oldest: number
  readonly now: number
}

/** Why a payment may not be accepted offline, or undefined. */
export const offlineRefusal = (limits: EffectiveLimits, situation: Situation): string | undefined => {
  const { amount, amountMinor, currency, storedMinor, oldest, now } = situation
  const { floorLimit, storedSumLimit, maxOfflineAgeMs } = limits
  if (floorLimit !== undefined && amount > floorLimit) {
    return `LIMIT_EXCEEDED: offline, a payment may be at most ${floorLimit} ${currency}.`
  }
  if (
    storedSumLimit !== undefined &&
    storedMinor + BigInt(amountMinor) > minorUnitsOf(storedSumLimit, currency)
  ) {
    return `LIMIT_EXCEEDED: payments that wait for upload may sum up to at most ${storedSumLimit} ${currency}.`
  }
  if (now - oldest > maxOfflineAgeMs) {
    return `LIMIT_EXCEEDED: a payment has waited for upload for more than ${maxOfflineAgeMs} ms; connect first.`
  }
  return undefined
}

/** @throws RangeError naming the field */
export const checkLimits = (limits: Limits): void => {
  const isLimit = (value: unknown): boolean =>
    value === undefined || (typeof value === 'number' && value >= 0)
  for (const name of AMOUNTS) {
    const value = limits[name]
    if (value !== 'none' && !isLimit(value))
      throw new RangeError(`limits.${name} must be a number from 0 or 'none', not ${value}`)
  }
  if (!isLimit(limits.maxOfflineAgeMs))
    throw new RangeError(`limits.maxOfflineAgeMs must be a number from 0, not ${limits.maxOfflineAgeMs}`)
}

/** @throws RangeError naming the field */
export const checkTimeouts = (timeouts: Timeouts): void => {
  for (const name of ['quickMs', 'requestMs'] as const) {
    const value: unknown = timeouts[name]
    if (value === undefined) continue
    if (!(typeof value === 'number' && value >= 1 && value <= LONGEST_TIMEOUT_MS))
      throw new RangeError(`timeouts.${name} must be a number from 1 to ${LONGEST_TIMEOUT_MS}, not ${value}`)
  }
}
