/** What callers say of a consent, as far as a schema can't check it. @module */
import { iso31661 } from 'iso-3166/1.js'
import { iso31662 } from 'iso-3166/2.js'
import { fail } from '../../errors.ts'
import type { LogConsent, VerifyConsent } from './schemas.ts'

/** The last millisecond that ISO 8601 writes with four digits of a year. */
const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** How far a caller's clock may be ahead of ours. */
const MAX_AHEAD_MS = 120_000
/** The URL parser drops or trims them silently; what is recorded is what was shown. */
const NOT_IN_URLS = /[\s\p{Cc}]/u

const COUNTRIES = new Set(iso31661.map(({ alpha2 }) => alpha2))
const SUBDIVISIONS = new Set(iso31662.map(({ code }) => code))

const refuse = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

const isHttpsUrl = (text: string): boolean => {
  if (NOT_IN_URLS.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return protocol === 'https:' && username === '' && password === ''
}

/** Well-formed by BCP 47 (RFC 5646 §2.1), but for grandfathered tags, extended languages and private use alone. */
const isLanguageTag = (text: string): boolean => {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    // The only way in which Intl says that a tag is malformed.
    return false
  }
}

/** @throws AppError validation_failed @param now Unix ms @returns Unix ms, null where it never expires */
const readExpiry = (text: string | undefined, now: number): number | null => {
  if (text === undefined) return null
  const at = Date.parse(text)
  if (at <= now) refuse('/expiresAt', 'out_of_range', 'must be in the future')
  if (at > MAX_TIME_MS) refuse('/expiresAt', 'out_of_range', 'must be before the year 10000')
  return at
}

/** @param now Unix ms @returns when it expires: Unix ms or null @throws AppError validation_failed */
export const checkConsent = (
  { noticeUrl, jurisdiction, language, expiresAt }: LogConsent,
  now: number,
): number | null => {
  if (noticeUrl !== undefined && !isHttpsUrl(noticeUrl))
    refuse('/noticeUrl', 'format', 'must be an absolute https URL without user and password')
  if (jurisdiction !== undefined && !COUNTRIES.has(jurisdiction) && !SUBDIVISIONS.has(jurisdiction))
    refuse('/jurisdiction', 'format', 'must be a code of ISO 3166-1 alpha-2 or ISO 3166-2')
  if (language !== undefined && !isLanguageTag(language))
    refuse('/language', 'format', 'must be a BCP 47 language tag')
  return readExpiry(expiresAt, now)
}

/** @param now Unix ms @returns the moment that is asked about, Unix ms, if one is @throws AppError validation_failed */
export const momentOf = ({ at }: VerifyConsent, now: number): number | undefined => {
  if (at === undefined) return undefined
  const moment = Date.parse(at)
  if (moment > now + MAX_AHEAD_MS) refuse('/at', 'out_of_range', 'must not be in the future')
  return moment
}
