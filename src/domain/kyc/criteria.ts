/** What may be asked of a person inside a proof, as its circuit takes it. @module */
import { type ErrorDetail, fail } from '../../errors.ts'
import { dayNumber, isDay, latestBirthDate } from './calendar-date.ts'
import { COUNTRY_CODES, countryOf } from './countries.ts'
import { countryElement, levelNumber } from './credential.ts'
import { type AskableLevel, KYC_LEVELS } from './schemas.ts'

/** As it is asked; one of the two in the middle. */
export interface AskedOfPerson {
  readonly minLevel: AskableLevel
  /** `yyyy-mm-dd` */
  readonly latestBirthDate?: string
  /** Years. */
  readonly minAge?: number
  /** Absent: any. */
  readonly countries?: readonly string[]
}

export interface KycCriteria {
  readonly minLevel: bigint
  /** yyyymmdd */
  readonly latestBirthDate: bigint
  readonly countries: readonly bigint[]
}

let codes: ReadonlyMap<bigint, string> | undefined

/** The country that an element stands for; undefined where it stands for none. */
const countryCode = (element: bigint): string | undefined => {
  codes ??= new Map(COUNTRY_CODES.map((code) => [countryElement(code), code]))
  return codes.get(element)
}

const refuse = (detail: ErrorDetail): never => fail('validation_failed', { details: [detail] })

const bornBy = ({ latestBirthDate: day, minAge }: AskedOfPerson, now: number): number => {
  if ((day === undefined) === (minAge === undefined))
    return refuse({
      path: '/inputs',
      code: 'required',
      message: 'must have one of latestBirthDate and minAge',
    })
  if (day === undefined) return latestBirthDate(minAge ?? 0, now)
  return isDay(day)
    ? dayNumber(day)
    : refuse({ path: '/inputs/latestBirthDate', code: 'date', message: 'is not a calendar date' })
}

/** From this level on somebody else than the person has confirmed the data. */
const CHECKED_LEVEL = levelNumber('standard')

/** Whether whoever meets these criteria was checked by a provider. */
export const meansChecked = ({ minLevel }: KycCriteria): boolean => minLevel >= CHECKED_LEVEL

const DAY_NUMBER = /^(\d{4})(\d\d)(\d\d)$/

/**
 * What holds of whoever meets criteria, in a sentence. Criteria that can't be said, since they are no days or countries, are left
 * out: the sentence then says less, and is true.
 */
export const sentenceOf = ({ minLevel, latestBirthDate: born, countries }: KycCriteria): string => {
  const level = KYC_LEVELS[Number(minLevel)]
  const day = DAY_NUMBER.exec(String(born))
  const codes = countries.map(countryCode)
  const named = [...new Set(codes)].sort().join(' or ')
  const parts = [
    level === undefined || level === 'none' ? 'was checked' : `was checked at level ${level} or above`,
    ...(day ? [`was born on ${day.slice(1).join('-')} or earlier`] : []),
    ...(codes.includes(undefined) ? [] : [`has the country ${named}`]),
  ]
  return `Holds a credential of somebody who ${new Intl.ListFormat('en-GB').format(parts)}.`
}

/** @param now Unix ms @throws AppError validation_failed, whose paths begin at the inputs of a proof */
export const criteriaOf = (asked: AskedOfPerson, now: number): KycCriteria => ({
  minLevel: levelNumber(asked.minLevel),
  latestBirthDate: BigInt(bornBy(asked, now)),
  countries: (asked.countries ?? []).map((code, i) => {
    const country = countryOf(code)
    return country === undefined
      ? refuse({ path: `/inputs/countries/${i}`, code: 'country', message: 'is not an ISO 3166-1 country' })
      : countryElement(country)
  }),
})
