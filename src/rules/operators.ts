/**
 * The operators: what operand each takes, and what it says of a value that is there.
 *
 * A value of another type than the operator reads doesn't satisfy it: false, not unknown. `ne`, `nin` and
 * `nonbetween` are exactly the negations of `eq`, `in` and `between`.
 * @module
 */
import { compare, equal } from './equality.ts'
import { compilePattern, patternSize } from './pattern.ts'
import { MAX_LISTED_VALUES, MAX_PATTERN_CHARS, type Operator, type Truth } from './rule.ts'

/** Texts beyond this are not searched: what a pattern says of them is unknown. */
export const MAX_MATCHED_CHARS = 1000
/**
 * Instructions of the compiled patterns of one tree, together, or what it takes to compile them (`patternSize`) where
 * that is more. Matching takes time in proportion to the text and to these, on the thread that serves everybody.
 */
const MAX_PATTERN_INSTRUCTIONS = 512

export type Test = (value: unknown) => Truth

/** What is wrong with an operand. */
export interface OperandFault {
  readonly code: string
  readonly message: string
}

/** What the operands of one tree have used up. */
export interface Budget {
  patternInstructions: number
}

type Read = (operand: unknown, budget: Budget) => Test | OperandFault

const fault = (code: string, message: string): OperandFault => ({ code, message })

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const negated =
  (read: Read): Read =>
  (operand, budget) => {
    const test = read(operand, budget)
    if (typeof test !== 'function') return test
    return (value) => {
      const truth = test(value)
      return truth === undefined ? undefined : !truth
    }
  }

const readEqual: Read = (operand) =>
  operand === undefined ? fault('required', 'is required') : (value) => equal(value, operand)

const readOrdering =
  (holds: (order: number) => boolean): Read =>
  (operand) => {
    if (!isNumber(operand)) {
      return fault('type', 'must be a number; dates compare as numbers like 20260131, times as Unix seconds')
    }
    return (value) => {
      const order = compare(value, operand)
      return order === undefined ? undefined : holds(order)
    }
  }

const readBetween: Read = (operand) => {
  const [low, high, ...more]: unknown[] = Array.isArray(operand) ? operand : []
  if (!isNumber(low) || !isNumber(high) || more.length > 0)
    return fault('type', 'must be [low, high], two numbers')
  if (low > high) return fault('range', 'must have its lower bound first')
  return (value) => {
    const [fromLow, fromHigh] = [compare(value, low), compare(value, high)]
    if (fromLow === undefined || fromHigh === undefined) return undefined
    return fromLow >= 0 && fromHigh <= 0
  }
}

const readIn: Read = (operand) => {
  if (!Array.isArray(operand) || operand.length === 0 || operand.length > MAX_LISTED_VALUES) {
    return fault('type', `must be a list of 1 to ${MAX_LISTED_VALUES} values`)
  }
  return (value) => {
    let known = true
    for (const candidate of operand) {
      const truth = equal(value, candidate)
      if (truth === true) return true
      if (truth === undefined) known = false
    }
    return known ? false : undefined
  }
}

const readExists: Read = (operand = true) =>
  typeof operand === 'boolean' ? () => operand : fault('type', 'must be true or false')

const readContains: Read = (operand) => {
  if (!isText(operand) && !isNumber(operand) && typeof operand !== 'boolean') {
    return fault('type', 'must be a text that is not empty, a number or a boolean')
  }
  return (value) => {
    if (Array.isArray(value)) return value.includes(operand) || (value.some(Number.isNaN) ? undefined : false)
    return typeof value === 'string' && typeof operand === 'string' && value.includes(operand)
  }
}

const readStartsWith: Read = (operand) =>
  isText(operand)
    ? (value) => typeof value === 'string' && value.startsWith(operand)
    : fault('type', 'must be a text that is not empty')

const readMatches: Read = (operand, budget) => {
  if (!isText(operand) || operand.length > MAX_PATTERN_CHARS) {
    return fault('type', `must be a pattern of 1 to ${MAX_PATTERN_CHARS} characters`)
  }
  const tooLarge = fault(
    'pattern_size',
    'repeats too much: the patterns of a request must be smaller in total',
  )
  const size = patternSize(operand)
  // Before compiling, since a few characters can take a tenth of a second of it.
  if (budget.patternInstructions + size > MAX_PATTERN_INSTRUCTIONS) return tooLarge
  const pattern = compilePattern(operand)
  if (pattern === undefined) {
    return fault('pattern', 'must be a regular expression in RE2 syntax (no look-around, no back-references)')
  }
  budget.patternInstructions += Math.max(size, pattern.programSize())
  if (budget.patternInstructions > MAX_PATTERN_INSTRUCTIONS) return tooLarge
  return (value) => {
    if (typeof value !== 'string') return false
    return value.length > MAX_MATCHED_CHARS ? undefined : pattern.test(value)
  }
}

const READERS: Readonly<Record<Operator, Read>> = {
  eq: readEqual,
  ne: negated(readEqual),
  lt: readOrdering((order) => order < 0),
  lte: readOrdering((order) => order <= 0),
  gt: readOrdering((order) => order > 0),
  gte: readOrdering((order) => order >= 0),
  in: readIn,
  nin: negated(readIn),
  between: readBetween,
  nonbetween: negated(readBetween),
  exists: readExists,
  contains: readContains,
  startsWith: readStartsWith,
  matches: readMatches,
}

/**
 * Reads an operand once, so that testing a value is only that.
 * @returns the test of a value (`undefined`: a missing one), or what is wrong with the operand
 */
export const readOperand = (op: Operator, operand: unknown, budget: Budget): Test | OperandFault => {
  const test = READERS[op](operand, budget)
  if (typeof test !== 'function') return test
  if (op === 'exists') return (value) => (value !== undefined) === test(value)
  return (value) => (value === undefined ? undefined : test(value))
}
