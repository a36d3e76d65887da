/** What a merchant or a terminal may do while offline, as it is set, stored and told to terminals. @module */

/** A limit in major units of each currency, or none. */
export type AmountLimit = number | 'none'

export interface PaymentLimits {
  /** Greatest single offline payment, in major units of its currency. */
  readonly floorLimit?: AmountLimit
  /** Greatest sum of payments that wait to be uploaded, in major units, per currency. */
  readonly storedSumLimit?: AmountLimit
  /** Greatest age of an offline payment when it arrives. */
  readonly maxOfflineAgeMs?: number
  /** The least that must stand behind a payment. */
  readonly minAssurance?: 'structural' | 'mac'
}

/** What holds for a terminal unless something else is asked for. */
export const DEFAULT_AMOUNT_LIMITS = { floorLimit: 250, storedSumLimit: 5000 } as const

/** Only the known limits of what may be a larger object. */
export const pickLimits = (limits: PaymentLimits): PaymentLimits => ({
  floorLimit: limits.floorLimit,
  storedSumLimit: limits.storedSumLimit,
  maxOfflineAgeMs: limits.maxOfflineAgeMs,
  minAssurance: limits.minAssurance,
})
