/** Rule programs over encoded attributes, as the circuits evaluate them (circuits/lib/rule.circom, gates.circom). @module */
import { LITERAL_OPERATORS } from '../../rules/normal-form.ts'
import { PROGRAM_FORMS, type Program, type ProgramForm, UNUSED, type Word } from '../../rules/program.ts'
import { isNumber } from './encoded.ts'

export interface RuleProgramValues {
  /** `compileProgram` of src/rules/program.ts, in the form of this circuit. */
  readonly program: Program
  /** `attributesOf` of src/rules/program.ts: encoded values by slot. */
  readonly attributes: readonly bigint[]
  /** Secret, at least 128 random bits: it is what hides the attributes. */
  readonly salt: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

const compares: Readonly<Record<string, (value: bigint, operand: bigint) => boolean>> = {
  eq: (value, operand) => value === operand,
  ne: (value, operand) => value !== operand,
  lt: (value, operand) => isNumber(value) && value < operand,
  lte: (value, operand) => isNumber(value) && value <= operand,
  gt: (value, operand) => isNumber(value) && value > operand,
  gte: (value, operand) => isNumber(value) && value >= operand,
}

const ruleHolds = ({ op, negated, slot, operand }: Word, attributes: readonly bigint[]): boolean => {
  if (op === UNUSED) return true
  const value = attributes[slot] ?? 0n
  const compare = compares[LITERAL_OPERATORS[op] ?? '']
  if (compare === undefined) return (value !== 0n) !== negated
  return value !== 0n && compare(value, operand) !== negated
}

/** Rules `from` to `to`, joined: first what is joined at higher levels. */
const joined = (held: readonly boolean[], levels: readonly number[], from: number, to: number): boolean => {
  if (from === to) return held[from] ?? false
  const level = Math.min(...levels.slice(from, to))
  const ends = [...levels.keys()].filter((i) => i >= from && i < to && levels[i] === level)
  const groups = [...ends, to].map((end, i) => joined(held, levels, (ends[i - 1] ?? from - 1) + 1, end))
  return level % 2 === 0 ? groups.every(Boolean) : groups.some(Boolean)
}

/** What a program says of attributes. */
export const evaluateProgram = ({ rules, levels }: Program, attributes: readonly bigint[]): boolean =>
  joined(
    rules.map((word) => ruleHolds(word, attributes)),
    levels,
    0,
    rules.length - 1,
  )

/** Which attributes are numbers, bit by bit. They are committed to beside the values, so no prover can choose. */
export const numberSlots = (attributes: readonly bigint[]): bigint =>
  attributes.reduceRight((bits, value) => (bits << 1n) | (isNumber(value) ? 1n : 0n), 0n)

/** @throws RangeError unless program and attributes are of this form */
export const assertForm = ({ program, attributes }: RuleProgramValues, form: ProgramForm): void => {
  if (program.form !== form) throw new RangeError(`program must be one of ${form}`)
  const size = 2 ** PROGRAM_FORMS[form].slotBits
  if (attributes.length !== size) throw new RangeError(`attributes must be ${size}`)
}
