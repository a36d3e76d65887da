/** What a terminal may accept without asking the server. @module */
import { DEFAULT_MAX_OFFLINE_AGE_MS } from '../protocol/sync.ts'
import { minorUnitsOf } from './payment-input.ts'
import type { Limits } from './types.ts'

const stricter = (a: number | null | undefined, b: number | null | undefined): number | undefined => {
  if (a == null) return b ?? undefined
  return b == null ? a : Math.min(a, b)
}

/** Of two sets of limits, the stricter one of each. The age is 30 days unless either says otherwise. */
export const effectiveLimits = (own: Limits, server: Limits): Limits => ({
  floorLimit: stricter(own.floorLimit, server.floorLimit),
  storedSumLimit: stricter(own.storedSumLimit, server.storedSumLimit),
  maxOfflineAgeMs: stricter(own.maxOfflineAgeMs, server.maxOfflineAgeMs) ?? DEFAULT_MAX_OFFLINE_AGE_MS,
})

interface Situation {
  /** Major units. */
  readonly amount: number
  readonly amountMinor: number
  readonly currency: string
  /** Minor units of the same currency that wait already. */
  readonly storedMinor: bigint
  /** Unix ms of the payment that has waited longest, if any. */
  readonly oldest: number | undefined
  readonly now: number
}

/** Why a payment may not be accepted offline, or undefined. */
export const offlineRefusal = (limits: Limits, situation: Situation): string | undefined => {
  const { amount, amountMinor, currency, storedMinor, oldest, now } = situation
  const { floorLimit, storedSumLimit, maxOfflineAgeMs } = limits
  if (floorLimit != null && amount > floorLimit) {
    return `LIMIT_EXCEEDED: offline, a payment may be at most ${floorLimit} ${currency}.`
  }
  if (storedSumLimit != null && storedMinor + BigInt(amountMinor) > minorUnitsOf(storedSumLimit, currency)) {
    return `LIMIT_EXCEEDED: payments that wait for upload may sum up to at most ${storedSumLimit} ${currency}.`
  }
  if (maxOfflineAgeMs != null && oldest !== undefined && now - oldest > maxOfflineAgeMs) {
    return `LIMIT_EXCEEDED: a payment has waited for upload for more than ${maxOfflineAgeMs} ms; connect first.`
  }
  return undefined
}

/** @throws RangeError naming the field */
export const checkLimits = (limits: Limits): Limits => {
  for (const name of ['floorLimit', 'storedSumLimit', 'maxOfflineAgeMs'] as const) {
    const value = limits[name]
    if (value != null && !(typeof value === 'number' && value >= 0)) {
      throw new RangeError(`limits.${name} must be a number from 0, not ${value}`)
    }
  }
  return limits
}
