/** What a record says at a moment. @module */
import { iso } from '../../clock.ts'
import type { CheckRecord } from './person-records.ts'
import { INTERNAL_PROVIDER, type PersonStanding } from './schemas.ts'

/**
 * What was found, and whether it counts still: a person whose time is over has level `none`.
 * @param id of the check @param now Unix ms
 */
export const foundOf = (id: string, record: CheckRecord, now: number): Omit<PersonStanding, 'checkedAt'> => {
  const { status, level, provider, providerReference, checkedAt, expiresAt, checks, issued } = record
  const isVerified = status === 'verified'
  const isExpired = isVerified && expiresAt !== null && expiresAt <= now
  return {
    status: isExpired ? 'expired' : status,
    level: isExpired ? 'none' : level,
    source: provider === INTERNAL_PROVIDER ? 'self_asserted' : 'provider',
    provider,
    reference: id,
    providerReference,
    verifiedAt: isVerified ? iso(checkedAt) : null,
    expiresAt: isVerified && expiresAt !== null ? iso(expiresAt) : null,
    checks: [...checks],
    credentialIssued: issued !== undefined,
  }
}
