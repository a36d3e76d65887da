/**
 * The provider `internal`: whether what was typed in is complete, plausible and free of contradictions. It compares
 * nothing with a person or a document, so that its level is basic at the most and its source is `self_asserted`.
 * @module
 */
import { dayNumber, dayOf, endOf, isBirthDate, isDay, MAX_AGE_YEARS, yearsBetween } from './calendar-date.ts'
import { countryOf } from './countries.ts'
import { contradictionsOf, isComparable, isNameOf, readZone, type Zone } from './machine-readable-zone.ts'
import type { ProviderResult } from './provider-result.ts'
import type { Check, KycData } from './schemas.ts'

const MIN_AGE_YEARS = 18

const NAME = /^[\p{L}\p{M}][\p{L}\p{M}\p{Zs}.,'’ʼ·-]*$/u
const DOCUMENT_NUMBER = /^[A-Z0-9][A-Z0-9 /.-]{2,39}$/i

/** A check, and whether its failure rejects: what is missing or unclear is for people to look at instead. */
interface Finding extends Check {
  readonly rejects?: boolean
}

const finding = (name: string, fault: string | undefined, rejects = false): Finding =>
  fault === undefined
    ? { name, result: 'passed' }
    : { name, result: 'failed', reason: fault, ...(rejects && { rejects }) }

const skipped = (name: string): Finding => ({ name, result: 'skipped' })

const nameFault = ({ givenName, familyName }: KycData): string | undefined => {
  if (givenName === undefined || familyName === undefined) return 'givenName and familyName are required.'
  return NAME.test(givenName) && NAME.test(familyName)
    ? undefined
    : 'A name contains characters that do not occur in names.'
}

const birthFault = (birth: string | undefined, today: string): string | undefined => {
  if (birth === undefined) return 'dateOfBirth is required.'
  if (!isDay(birth)) return 'This is not a calendar date.'
  return isBirthDate(birth, today) ? undefined : `An age of 0 to ${MAX_AGE_YEARS} years is expected.`
}

const ageFinding = (birth: string | undefined, today: string): Finding => {
  if (birth === undefined || birthFault(birth, today) !== undefined) return skipped('age')
  const isAdult = yearsBetween(dayNumber(birth), dayNumber(today)) >= MIN_AGE_YEARS
  return finding('age', isAdult ? undefined : `The person is younger than ${MIN_AGE_YEARS}.`)
}

const documentFault = ({ type, number }: NonNullable<KycData['document']>): string | undefined => {
  if (type === undefined || number === undefined) return 'document.type and document.number are required.'
  return DOCUMENT_NUMBER.test(number) ? undefined : 'This is not a valid document number.'
}

const countryFault = (country: string | undefined): string | undefined => {
  if (country === undefined) return 'document.country is required.'
  return countryOf(country) === undefined ? 'This is not a known country.' : undefined
}

const expiryFinding = (expiresAt: string | undefined, now: number): Finding => {
  const name = 'document_expiry'
  if (expiresAt === undefined) return finding(name, 'document.expiresAt is required.')
  if (!isDay(expiresAt)) return finding(name, 'This is not a calendar date.')
  return finding(name, endOf(expiresAt) <= now ? 'The document has expired.' : undefined, true)
}

const zoneNameFinding = (name: string, { givenName, familyName }: KycData, zone: Zone): Finding => {
  const differs = (typed: string | undefined, zoned: string | undefined) =>
    typed !== undefined && zoned !== undefined && !isNameOf(zoned, typed, zone.mayBeCut)
  const isOther = differs(familyName, zone.familyName) || differs(givenName, zone.givenName)
  if (isOther) return finding(name, 'The machine-readable zone has another name.')
  const isCompared = [givenName, familyName].every((typed) => typed === undefined || isComparable(typed))
  return isCompared ? finding(name, undefined) : skipped(name)
}

const ZONE_CHECKS = ['mrz_format', 'mrz_check_digits', 'mrz_matches_data', 'mrz_matches_name'] as const

/** A contradiction rejects only where the check digits say that the zone was read well. */
const zoneFindings = (data: KycData): Finding[] => {
  const [format, digits, matches, name] = ZONE_CHECKS
  const text = data.document?.mrz
  if (text === undefined) return ZONE_CHECKS.map(skipped)
  const zone = readZone(text)
  if (zone === undefined)
    return [
      finding(format, 'This is not a machine-readable zone of TD1, TD2 or TD3.'),
      ...[digits, matches, name].map(skipped),
    ]
  const { wrongCheckDigits: wrong, wrongFields } = zone
  const listed = (labels: readonly string[]) =>
    labels.length === 0 ? undefined : `Wrong: ${labels.join(', ')}.`
  const differing = contradictionsOf(data, zone)
  return [
    finding(format, listed(wrongFields)),
    finding(digits, listed(wrong)),
    finding(
      matches,
      differing.length === 0 ? undefined : `The machine-readable zone differs in ${differing.join(', ')}.`,
      wrong.length === 0,
    ),
    zoneNameFinding(name, data, zone),
  ]
}

/** @param now Unix ms */
export const checkPlausibility = (data: KycData, now: number): ProviderResult => {
  const { dateOfBirth, document = {} } = data
  const today = dayOf(now)
  const findings = [
    finding('name', nameFault(data)),
    finding('date_of_birth', birthFault(dateOfBirth, today)),
    ageFinding(dateOfBirth, today),
    finding('document', documentFault(document)),
    finding('document_country', countryFault(document.country)),
    expiryFinding(document.expiresAt, now),
    ...zoneFindings(data),
  ]
  const failed = findings.filter(({ result }) => result === 'failed')
  const isVerified = failed.length === 0
  return {
    status: isVerified ? 'verified' : failed.some(({ rejects }) => rejects) ? 'rejected' : 'review',
    level: isVerified ? 'basic' : 'none',
    checks: findings.map(({ rejects: _, ...check }) => check),
    providerReference: null,
    expiresAt: document.expiresAt !== undefined && isVerified ? endOf(document.expiresAt) : null,
    birthDate: birthFault(dateOfBirth, today) === undefined ? dateOfBirth : undefined,
    country: document.country === undefined ? undefined : countryOf(document.country),
  }
}
