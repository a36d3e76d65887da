/** What a merchant or a terminal may do while offline, as it is set, stored and told to terminals. @module */

export interface PaymentLimits {
  /** Greatest single offline payment, in major units of its currency. */
  readonly floorLimit?: number
  /** Greatest sum of payments that wait to be uploaded, in major units, per currency. */
  readonly storedSumLimit?: number
  /** Greatest age of an offline payment when it arrives. */
  readonly maxOfflineAgeMs?: number
  /** The least that must stand behind a payment. */
  readonly minAssurance?: 'structural' | 'mac'
}

/** Only the known limits of what may be a larger object. */
export const pickLimits = (limits: PaymentLimits): PaymentLimits => ({
  floorLimit: limits.floorLimit,
  storedSumLimit: limits.storedSumLimit,
  maxOfflineAgeMs: limits.maxOfflineAgeMs,
  minAssurance: limits.minAssurance,
})
