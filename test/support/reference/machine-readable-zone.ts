/** Check digits of ICAO 9303-3 §4.9, slow and readable, and passports' zones (ICAO 9303-4 §4.2.2) made with them. */

const WEIGHTS = [7, 3, 1]
const characterValue = (character: string): number =>
  character === '<' ? 0 : '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'.indexOf(character)

export const checkDigit = (field: string): number =>
  [...field].reduce((sum, character, i) => sum + characterValue(character) * WEIGHTS[i % 3]!, 0) % 10

export interface PassportFields {
  readonly country: string
  readonly familyName: string
  readonly givenName: string
  readonly number: string
  /** `yymmdd` */
  readonly birthDate: string
  readonly expiresAt: string
  readonly personalNumber?: string
}

export const passportZone = (fields: PassportFields): string[] => {
  const { country, familyName, givenName, personalNumber = '' } = fields
  const name = `${familyName}<<${givenName}`.replaceAll(' ', '<').slice(0, 39).padEnd(39, '<')
  const withDigit = (field: string) => `${field}${checkDigit(field)}`
  const number = withDigit(fields.number.padEnd(9, '<'))
  const birth = withDigit(fields.birthDate)
  const expiry = withDigit(fields.expiresAt)
  const personal = withDigit(personalNumber.padEnd(14, '<'))
  const composite = checkDigit(number + birth + expiry + personal)
  return [
    `P<${country.padEnd(3, '<')}${name}`,
    `${number}${country.padEnd(3, '<')}${birth}F${expiry}${personal}${composite}`,
  ]
}
