/**
 * Machine-readable zones of travel documents (ICAO 9303 parts 4 to 6): reading one, comparing it with what was typed, and until when
 * a document is valid by both.
 * @module
 */
import { parse } from 'mrz'
import { earliest, endOf, isDay } from './calendar-date.ts'
import { countryOf } from './countries.ts'
import type { KycData } from './schemas.ts'

/** What a zone says. Undefined where the field can't be read. */
export interface Zone {
  /** Labels of check digits that are wrong, in the order of the zone. */
  readonly wrongCheckDigits: readonly string[]
  /** Labels of fields that hold what they can't hold, such as a country that there isn't. */
  readonly wrongFields: readonly string[]
  /** ISO 3166-1 alpha-2. */
  readonly country: string | undefined
  readonly documentNumber: string | undefined
  /** `yymmdd`; `<` where a part is unknown. */
  readonly birthDate: string | undefined
  /** `yymmdd` */
  readonly expiresAt: string | undefined
  /** Whether the check digit of `expiresAt` is right. */
  readonly isExpirySure: boolean
  readonly familyName: string | undefined
  readonly givenName: string | undefined
  /** Whether the names fill their field to its end, so that one of them may be cut off. */
  readonly mayBeCut: boolean
}

/** Lines and characters of the formats of ICAO 9303. Other formats that the parser knows are national. */
const FORMATS = [
  { lines: 3, characters: 30 },
  { lines: 2, characters: 36 },
  { lines: 2, characters: 44 },
] as const
const ICAO_FORMATS: readonly string[] = ['TD1', 'TD2', 'TD3']

/** The lines of a zone, also where they were sent without their ends. */
const linesOf = (text: string): string[] | undefined => {
  const characters = text.replaceAll(/\s/g, '').toUpperCase()
  if (!/^[A-Z0-9<]+$/.test(characters)) return undefined
  const format = FORMATS.find(({ lines, characters: width }) => characters.length === lines * width)
  return (
    format &&
    Array.from({ length: format.lines }, (_, i) =>
      characters.slice(i * format.characters, (i + 1) * format.characters),
    )
  )
}

/** @returns undefined where this is no zone of TD1, TD2 or TD3 */
export const readZone = (text: string): Zone | undefined => {
  const lines = linesOf(text)
  if (lines === undefined) return undefined
  const { format, fields, documentNumber, details } = parse(lines)
  if (!ICAO_FORMATS.includes(format)) return undefined
  const isCheckDigit = ({ field }: (typeof details)[number]) => field?.endsWith('CheckDigit') ?? false
  const wrong = details.filter(({ valid }) => !valid)
  return {
    wrongCheckDigits: wrong.filter(isCheckDigit).map(({ label }) => label),
    wrongFields: wrong.filter((detail) => !isCheckDigit(detail)).map(({ label }) => label),
    country: fields.issuingState ? countryOf(fields.issuingState) : undefined,
    documentNumber: documentNumber ?? undefined,
    birthDate: fields.birthDate ?? undefined,
    expiresAt: fields.expirationDate ?? undefined,
    isExpirySure: typeof fields.expirationDateCheckDigit === 'string',
    familyName: fields.lastName ?? undefined,
    givenName: fields.firstName ?? undefined,
    mayBeCut: !lines[lines.length === 3 ? 2 : 0]?.endsWith('<'),
  }
}

const plain = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** Whether a day is the one that the zone writes with two digits of the year and `<` for what is unknown. */
const isSameDay = (day: string, zoned: string): boolean => {
  const short = day.replaceAll('-', '').slice(2)
  return [...short].every((digit, i) => zoned[i] === '<' || zoned[i] === digit)
}

/** What was typed and the zone say otherwise, as names of the fields of `data`. Names of people are compared elsewhere. */
export const contradictionsOf = ({ dateOfBirth, document = {} }: KycData, zone: Zone): string[] => {
  const { number, country, expiresAt } = document
  const differs = (
    typed: string | undefined,
    zoned: string | undefined,
    isSame: (typed: string, zoned: string) => boolean,
  ): boolean => typed !== undefined && zoned !== undefined && !isSame(typed, zoned)
  return [
    ...(differs(dateOfBirth, zone.birthDate, isSameDay) ? ['dateOfBirth'] : []),
    ...(differs(number, zone.documentNumber, (a, b) => plain(a) === plain(b)) ? ['document.number'] : []),
    ...(differs(country, zone.country, (a, b) => countryOf(a) === b) ? ['document.country'] : []),
    ...(differs(expiresAt, zone.expiresAt, isSameDay) ? ['document.expiresAt'] : []),
  ]
}

/** Recommended transliterations of ICAO 9303-3 §6 A that are more than the letter without its mark. */
const EXPANSIONS: Readonly<Record<string, string>> = {
  Ä: 'AE',
  Å: 'AA',
  Æ: 'AE',
  Đ: 'D',
  Ð: 'D',
  Ł: 'L',
  Ñ: 'NXX',
  Ö: 'OE',
  Ø: 'OE',
  Œ: 'OE',
  ẞ: 'SS',
  Þ: 'TH',
  Ü: 'UE',
}
const EXPANDED = new RegExp(`[${Object.keys(EXPANSIONS).join('')}]`, 'g')
/** Without a letter of its own, its mark can't be taken off. */
const UNMARKED: Readonly<Record<string, string>> = {
  ...EXPANSIONS,
  Ø: 'O',
  Æ: 'AE',
  Ä: 'A',
  Å: 'A',
  Ñ: 'N',
  Ö: 'O',
  Ü: 'U',
}

const spellings = (name: string): string[] => {
  const upper = name.normalize('NFC').replaceAll('ß', 'ẞ').toUpperCase()
  return [EXPANSIONS, UNMARKED].map((table) =>
    plain(
      upper
        .replaceAll(EXPANDED, (letter) => table[letter] ?? letter)
        .normalize('NFD')
        .replaceAll(/\p{M}/gu, ''),
    ),
  )
}

/** Whether a zone has anything of a name that can be compared: it knows Latin letters only. */
export const isComparable = (typed: string): boolean => spellings(typed).some((name) => name !== '')

/** Whether a name can be what a zone has of it. What isn't {@link isComparable} can. @param mayBeCut as the zone says */
export const isNameOf = (zoned: string, typed: string, mayBeCut: boolean): boolean => {
  const short = plain(zoned)
  return spellings(typed).some(
    (name) => name === '' || name === short || (mayBeCut && short !== '' && name.startsWith(short)),
  )
}

const CENTURY_YEARS = 100

/**
 * The day that a zone writes with two digits of the year, in the nearest year that they may mean.
 * @returns `yyyy-mm-dd`; undefined where the zone was misread, or names no whole day
 */
const zonedExpiry = ({ expiresAt = '', isExpirySure }: Zone, now: number): string | undefined => {
  const [, short, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(expiresAt) ?? []
  if (!isExpirySure || short === undefined) return undefined
  const thisYear = new Date(now).getUTCFullYear()
  const ahead = (Number(short) + CENTURY_YEARS - (thisYear % CENTURY_YEARS)) % CENTURY_YEARS
  const year = thisYear + (ahead < CENTURY_YEARS / 2 ? ahead : ahead - CENTURY_YEARS)
  const found = `${year}-${month}-${day}`
  return isDay(found) ? found : undefined
}

/**
 * When a document ends, as it was typed or as its zone says; where these differ, the earlier of both.
 * @param now Unix ms @returns Unix ms; null where neither says
 */
export const endOfDocument = ({ document = {} }: KycData, now: number): number | null => {
  const { expiresAt, mrz } = document
  const typed = expiresAt !== undefined && isDay(expiresAt) ? expiresAt : undefined
  const zone = mrz === undefined ? undefined : readZone(mrz)
  const isSame = typed !== undefined && zone?.expiresAt !== undefined && isSameDay(typed, zone.expiresAt)
  const zoned = zone === undefined || isSame ? undefined : zonedExpiry(zone, now)
  return earliest(...[typed, zoned].map((day) => (day === undefined ? null : endOf(day))))
}
