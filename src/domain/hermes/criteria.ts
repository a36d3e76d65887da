/**
 * Questions: what is asked of the objects in a target's answer, read from a typed body or from a query string.
 * Whatever can't be understood is refused, for a criterion that is silently passed over would make a false YES.
 * @module
 */
import { type ErrorDetail, fail } from '../../errors.ts'
import { readInexact } from '../../json/exact-numbers.ts'
import { isObject } from '../../protocol/json-object.ts'
import { equal } from '../../rules/equality.ts'
import { parseFieldPath } from '../../rules/field-path.ts'
import { type Budget, MAX_MATCHED_CHARS, readOperand } from '../../rules/operators.ts'
import { MAX_FIELD_CHARS, MAX_PATTERN_CHARS, OPERATORS, type Operator, type Truth } from '../../rules/rule.ts'
import { MAX_CONDITIONS, MAX_ID_CHARACTERS, type TextQuestion, type TypedQuestion } from './schemas.ts'

/** JSON values that all operands of a question may consist of. */
const MAX_OPERAND_VALUES = 1000
/** With these, whoever may ask often could read a text character by character. */
const REVEALING: readonly Operator[] = ['contains', 'startsWith', 'matches']
/** Pattern instructions that one character costs about as long as one step of a search. */
const INSTRUCTIONS_PER_STEP = 8
const ID_FIELD = 'id'
/** A number as JSON writes it that a document may hold beyond what a double does. */
const WHOLE = /^-?[1-9]\d{0,999}$/
/** A number in digits alone. */
const IN_FULL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/** What must be true of one value. */
export interface Condition {
  /** `undefined` is a missing value. */
  test(value: unknown): Truth
  /** About how long the test of this value takes, in steps of a search. */
  steps(value: unknown): number
}

/** A field of an object, and all that must be true of its value. */
export interface Criterion {
  /** As it was written: the name of a property, if there is one of this name. */
  readonly field: string
  /** Otherwise the way to the value. */
  readonly path: readonly string[]
  readonly conditions: readonly Condition[]
}

export interface Question {
  readonly criteria: readonly Criterion[]
  /** Which item is meant, if one is. */
  readonly id?: { readonly text: string; test(value: unknown): Truth }
  /** Everything that was asked, as JSON. */
  readonly asked: { readonly form: 'typed' | 'text'; readonly question: unknown }
}

const wrong = (detail: ErrorDetail): never => fail('validation_failed', { details: [detail] })

const tooMuch = (path: string, message: string): never =>
  fail('tree_too_large', { details: [{ path, code: 'tree_too_large', message }] })

const pointer = (field: string): string =>
  `/${field.slice(0, MAX_FIELD_CHARS).replaceAll('~', '~0').replaceAll('/', '~1')}`

const isOperator = (word: string): word is Operator => (OPERATORS as readonly string[]).includes(word)

const countValues = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, member) => sum + countValues(member), 1)
    : 1

/** The elements of a list, or else the value itself. */
const each = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

const pathOf = (field: string, at: string): readonly string[] =>
  parseFieldPath(field) ??
  wrong({
    path: at,
    code: 'field_path',
    message: `must be the name of a field, names joined by dots or a JSON Pointer, at most ${MAX_FIELD_CHARS} characters`,
  })

/** What a question has used up so far. */
interface Spent extends Budget {
  conditions: number
  operandValues: number
}

const spend = (spent: Spent, conditions: number, operand: unknown, path: string): void => {
  spent.conditions += conditions
  spent.operandValues += countValues(operand)
  if (spent.conditions > MAX_CONDITIONS) tooMuch(path, `There can be at most ${MAX_CONDITIONS} conditions.`)
  if (spent.operandValues > MAX_OPERAND_VALUES)
    tooMuch(path, `Operands can have at most ${MAX_OPERAND_VALUES} values.`)
}

/** A plain value: the same value, or a list in which it stands. A list: the same list. */
const plain = (wanted: unknown): Condition => {
  if (Array.isArray(wanted))
    return { test: (value) => equal(value, wanted), steps: () => countValues(wanted) }
  if (wanted === null) return { test: (value) => value === null, steps: () => 1 }
  return {
    test: (value) => each(value).some((candidate) => equal(candidate, wanted) === true),
    steps: (value) => each(value).length,
  }
}

/** About how long one test takes, by operator; what compares with lists or objects takes as long as those are. */
const stepsOf = (op: Operator, operand: unknown, instructions: number): Condition['steps'] => {
  if (op === 'matches') {
    const perCharacter = Math.ceil(instructions / INSTRUCTIONS_PER_STEP)
    // Longer texts aren't searched.
    return (value) =>
      typeof value === 'string' && value.length <= MAX_MATCHED_CHARS ? value.length * perCharacter : 1
  }
  if (op === 'contains')
    return (value) => (typeof value === 'string' || Array.isArray(value) ? value.length + 1 : 1)
  const candidates = each(operand).length
  const values = countValues(operand)
  return (value) => (typeof value === 'object' && value !== null ? values : candidates)
}

interface Operation {
  readonly op: Operator
  readonly operand: unknown
  readonly path: string
}

const readOperation = ({ op, operand, path }: Operation, spent: Spent, isOpen: boolean): Condition => {
  if (isOpen && REVEALING.includes(op)) {
    const message = `${REVEALING.join(', ')} require a token of the route, or a key of its owner.`
    wrong({ path, code: 'operator_closed', message })
  }
  if (op === 'contains' && typeof operand === 'string' && operand.length > MAX_PATTERN_CHARS)
    wrong({ path, code: 'max_length', message: `must have at most ${MAX_PATTERN_CHARS} characters` })
  spend(spent, 1, operand, path)
  const before = spent.patternInstructions
  const test = readOperand(op, operand, spent)
  if (typeof test !== 'function') return wrong({ path, code: test.code, message: test.message })
  return { test, steps: stepsOf(op, operand, spent.patternInstructions - before) }
}

const readConditions = (field: string, wanted: unknown, spent: Spent, isOpen: boolean): Condition[] => {
  const path = pointer(field)
  if (!isObject(wanted)) {
    spend(spent, 1, wanted, path)
    return [plain(wanted)]
  }
  const operations = Object.entries(wanted)
  if (operations.length === 0 || !operations.every(([op]) => isOperator(op))) {
    const message = `must be a value, or an object of operators (${OPERATORS.join(', ')}); for an object as a value write {"eq": {…}}`
    wrong({ path, code: 'operator', message })
  }
  return operations.map(([op, operand]) =>
    readOperation({ op: op as Operator, operand, path: `${path}/${op}` }, spent, isOpen),
  )
}

const isAbsence = (wanted: unknown): boolean =>
  isObject(wanted) && Object.keys(wanted).length === 1 && wanted.exists === false

/** @throws AppError criteria_required when nothing is asked, or only for what isn't there */
const requireSubject = (hasId: boolean, wanted: readonly unknown[]): void => {
  if (hasId) return
  if (wanted.length === 0) fail('criteria_required')
  if (wanted.every(isAbsence)) {
    fail('criteria_required', {
      message: 'Some object always lacks a field: add a criterion for a field that is present.',
    })
  }
}

/** An id that a URL can carry: dots alone would lead to another path. */
const isIdText = (text: string): boolean =>
  text.length > 0 && text.length <= MAX_ID_CHARACTERS && text !== '.' && text !== '..'

const wrongId = (path: string): never =>
  wrong({ path, code: 'id', message: `must be a number or a text of 1 to ${MAX_ID_CHARACTERS} characters` })

/**
 * Reads a typed question: field → value or {operator: operand}, and `id`.
 * @param isOpen whether anybody may ask, so that operators that give away parts of texts are refused
 * @throws AppError criteria_required, validation_failed, tree_too_large
 */
export const readTypedQuestion = (body: TypedQuestion, isOpen: boolean): Question => {
  const spent: Spent = { patternInstructions: 0, conditions: 0, operandValues: 0 }
  const id = body[ID_FIELD]
  // One that is null is no missing one: without it the question would be another.
  const hasId = Object.hasOwn(body, ID_FIELD)
  if (hasId && !((typeof id === 'string' || typeof id === 'number') && isIdText(String(id)))) wrongId('/id')
  const entries = Object.entries(body).filter(([field]) => field !== ID_FIELD)
  requireSubject(
    hasId,
    entries.map(([, wanted]) => wanted),
  )
  return {
    criteria: entries.map(([field, wanted]) => ({
      field,
      path: pathOf(field, pointer(field)),
      conditions: readConditions(field, wanted, spent, isOpen),
    })),
    ...(hasId && { id: { text: String(id), test: (value) => equal(value, id) } }),
    asked: { form: 'typed', question: body },
  }
}

/** The shortest JSON text of a number that is written in full: 1e+21 of a one with 21 zeros. Any other text as it is. */
const shortest = (text: string): string => {
  const hasDigitTooMany = text.includes('.') && text.endsWith('0')
  if (!IN_FULL.test(text) || hasDigitTooMany) return text
  const written = String(Number(text))
  const isShorter = written.includes('e') && readInexact(Buffer.from(text), 0) === undefined
  return isShorter ? written : text
}

/**
 * @returns whether a value reads like one of the texts: a string is itself, a number or boolean its shortest JSON text, or a
 * number in full. NaN stands for a number that has none here.
 */
const readingLike = (texts: readonly string[]): ((value: unknown) => boolean) => {
  const all: ReadonlySet<string> = new Set(texts)
  const numbers: ReadonlySet<string> = new Set([...texts, ...texts.map(shortest)])
  // Long numbers are compared as such: each may have a thousand digits, which take long to be written out.
  const wholes: ReadonlySet<bigint> = new Set(texts.filter((text) => WHOLE.test(text)).map(BigInt))
  return (value) => {
    if (typeof value === 'string') return all.has(value)
    if (typeof value === 'bigint') return wholes.has(value)
    if (typeof value === 'boolean') return all.has(String(value))
    return typeof value === 'number' && !Number.isNaN(value) && numbers.has(String(value))
  }
}

const reads = (texts: readonly string[]): Condition => {
  const isLike = readingLike(texts)
  return {
    test: (value) => each(value).some(isLike),
    steps: (value) => each(value).length,
  }
}

/**
 * Reads a question in a query string: field → text; one that is repeated may have any of its values; and `id`.
 * @throws AppError criteria_required, validation_failed, tree_too_large
 */
export const readTextQuestion = (query: TextQuestion): Question => {
  const { id, ...criteria } = query
  if (id !== undefined && !isIdText(id)) wrongId('query/id')
  const entries = Object.entries(criteria as Readonly<Record<string, string | string[]>>)
  requireSubject(id !== undefined, entries)
  if (entries.length > MAX_CONDITIONS) tooMuch('query/', `There can be at most ${MAX_CONDITIONS} conditions.`)
  return {
    criteria: entries.map(([field, texts]) => ({
      field,
      path: pathOf(field, `query${pointer(field)}`),
      conditions: [reads([texts].flat())],
    })),
    ...(id !== undefined && { id: { text: id, test: readingLike([id]) } }),
    asked: { form: 'text', question: query },
  }
}
