/** What a provider found out, whichever it was. @module */
import type { Check, KycLevel, KycStatus } from './schemas.ts'

export interface ProviderResult {
  readonly status: KycStatus
  /** `none` unless the status is `verified`. */
  readonly level: KycLevel
  readonly checks: readonly Check[]
  readonly providerReference: string | null
  /** Unix ms: until when it may count at the longest, of a review once it is approved; null where nothing was said. */
  readonly expiresAt: number | null
  /** `yyyy-mm-dd`; a credential needs it. */
  readonly birthDate: string | undefined
  /** ISO 3166-1 alpha-2; a credential needs it. */
  readonly country: string | undefined
}
