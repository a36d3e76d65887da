/** What may be asked of a person inside a proof, as its circuit takes it. @module */
import { type ErrorDetail, fail } from '../../errors.ts'
import { dayNumber, isDay, latestBirthDate } from './calendar-date.ts'
import { countryOf } from './countries.ts'
import { countryElement, levelNumber } from './credential.ts'
import type { AskableLevel } from './schemas.ts'

/** As it is asked; one of the two in the middle. */
export interface AskedOfPerson {
  readonly minLevel: AskableLevel
  /** `yyyy-mm-dd` */
  readonly latestBirthDate?: string
  /** Years. */
  readonly minAge?: number
  readonly countries: readonly string[]
}

export interface KycCriteria {
  readonly minLevel: bigint
  /** yyyymmdd */
  readonly latestBirthDate: bigint
  readonly countries: readonly bigint[]
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
    : refuse({ path: '/inputs/latestBirthDate', code: 'date', message: 'is no day of the calendar' })
}

/** @param now Unix ms @throws AppError validation_failed, whose paths begin at the inputs of a proof */
export const criteriaOf = (asked: AskedOfPerson, now: number): KycCriteria => ({
  minLevel: levelNumber(asked.minLevel),
  latestBirthDate: BigInt(bornBy(asked, now)),
  countries: asked.countries.map((code, i) => {
    const country = countryOf(code)
    return country === undefined
      ? refuse({ path: `/inputs/countries/${i}`, code: 'country', message: 'is no country of ISO 3166-1' })
      : countryElement(country)
  }),
})
