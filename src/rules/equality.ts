/**
 * When two JSON values are the same, and which of two numbers is larger.
 * @module
 */
import type { Truth } from './rule.ts'

const isUnreadable = (value: unknown): boolean => typeof value === 'number' && Number.isNaN(value)

/**
 * Names of objects that were compared, since counting them takes time in proportion and one object may be compared
 * with a hundred others. What JSON was parsed into never changes afterwards.
 */
const nameCounts = new WeakMap<object, number>()

const countNames = (value: object): number => {
  const known = nameCounts.get(value)
  if (known !== undefined) return known
  const count = Object.keys(value).length
  nameCounts.set(value, count)
  return count
}

const listsEqual = (a: readonly unknown[], b: readonly unknown[]): Truth => {
  if (a.length !== b.length) return false
  let known = true
  for (let i = 0; i < a.length; i++) {
    const truth = equal(a[i], b[i])
    if (truth === false) return false
    if (truth === undefined) known = false
  }
  return known ? true : undefined
}

const objectsEqual = (a: Record<string, unknown>, b: Record<string, unknown>): Truth => {
  if (countNames(a) !== countNames(b)) return false
  let known = true
  for (const name of Object.keys(b)) {
    const truth = Object.hasOwn(a, name) && equal(a[name], b[name])
    if (truth === false) return false
    if (truth === undefined) known = false
  }
  return known ? true : undefined
}

/**
 * Deep equality by type and content: texts character by character, numbers by value, objects whatever the
 * order of their names. A number that a double can't hold (`exact-json.ts`) equals no number that it can: as a
 * bigint it is another one, as NaN unknown.
 *
 * Takes time in proportion to the smaller of the two, besides counting the names of each object once in its life.
 * @param a JSON that doesn't change any more, as is `b`
 */
export const equal = (a: unknown, b: unknown): Truth => {
  if (a === b) return true
  if (isUnreadable(a) || isUnreadable(b)) return undefined
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && listsEqual(a, b)
  return !Array.isArray(b) && objectsEqual(a as Record<string, unknown>, b as Record<string, unknown>)
}

/** Made once: a text of three hundred digits takes long to be read. */
const powersOfTen: bigint[] = []
const powerOfTen = (exponent: number): bigint => {
  powersOfTen[exponent] ??= 10n ** BigInt(exponent)
  return powersOfTen[exponent]
}

/** The whole number that a double is written as: 1e+23 is ten to the 23rd, though the double is a little less. */
const wholeOf = (double: number): bigint => {
  const [digits = '', exponent = '0'] = String(double).split('e+')
  const [whole = '', fraction = ''] = digits.split('.')
  return BigInt(whole + fraction) * powerOfTen(Number(exponent) - fraction.length)
}

/**
 * Compares a value with a number, as decimals. A value may have a thousand digits, so that it is not written out.
 * @returns negative, zero or positive; NaN, which is neither, when it is no number; undefined when it is unreadable
 */
export const compare = (value: unknown, operand: number): number | undefined => {
  if (typeof value === 'bigint') {
    const rounded = Number(value)
    // Rounding keeps the order, so only of what rounds to the number itself it has to be asked which is larger.
    if (rounded !== operand) return rounded < operand ? -1 : 1
    const whole = wholeOf(operand)
    return value < whole ? -1 : value > whole ? 1 : 0
  }
  if (typeof value !== 'number') return Number.NaN
  if (Number.isNaN(value)) return undefined
  return value < operand ? -1 : value > operand ? 1 : 0
}
