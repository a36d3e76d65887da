/**
 * A tree of rules as the program that a circuit evaluates over encoded values. It follows from the tree alone, never
 * from data.
 *
 * The tree's normal form is written down as its rules from left to right and the level at which each is joined to the
 * next: groups at even levels, the outermost is 0, are ANDs, those at odd levels ORs. What is joined at a higher
 * level belongs closer together.
 * @module
 */

import { fail } from '../errors.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { encodeValue, h248 } from './encode.ts'
import { valueAt } from './field-path.ts'
import { LITERAL_OPERATORS, type Literal, type NormalForm, normalForm } from './normal-form.ts'
import type { Tree } from './rule.ts'

/** The number of attributes, and of rules, is 2 to the power of `slotBits`. */
export const PROGRAM_FORMS = {
  /** All rules must hold. */
  eligibility: { slotBits: 3, levels: 1 },
  /** Any tree that alternates seven times at most. */
  composite: { slotBits: 4, levels: 8 },
} as const
export type ProgramForm = keyof typeof PROGRAM_FORMS

export type FieldPath = readonly string[]

/** One rule of a program. */
export interface Word {
  /** Place in {@link LITERAL_OPERATORS}, or {@link UNUSED}. */
  readonly op: number
  readonly negated: boolean
  /** Place of its value among the attributes. */
  readonly slot: number
  /** Encoded. */
  readonly operand: bigint
}

export interface Program {
  readonly form: ProgramForm
  /** Where the attributes stand in the data, in the order of their slots; each once. */
  readonly paths: readonly FieldPath[]
  /** As many as the form has; unused ones hold whatever the data is. */
  readonly rules: readonly Word[]
  /** `levels[i]` joins rule i to rule i + 1. */
  readonly levels: readonly number[]
  /** {@link h248} of the canonical JSON of `paths`. */
  readonly schema: bigint
  /** The rules without their operands: op + 8 · negated + 16 · slot each, the first lowest, 4 + slotBits bits each. */
  readonly words: bigint
  readonly operands: readonly bigint[]
  /** The levels, the first lowest, 3 bits each. */
  readonly gates: bigint
}

/** Number of the operator of a rule that isn't used: it holds. */
export const UNUSED = 7
const OPERATOR_BITS = 3
const NEGATED = 1 << OPERATOR_BITS
const SLOT_SHIFT_BITS = OPERATOR_BITS + 1
const LEVEL_BITS = 3

const UNUSED_WORD: Word = { op: UNUSED, negated: false, slot: 0, operand: 0n }

const tooLarge = (message: string): never => fail('tree_too_large', { message })

interface Sequence {
  readonly literals: Literal[]
  readonly levels: number[]
}

/** Writes a normal form down from left to right. @param level of the group it stands in, plus one */
const write = (node: NormalForm, level: number, maxLevels: number, into: Sequence): void => {
  if (node.kind === 'literal') {
    into.literals.push(node)
    return
  }
  const own = node.kind === (level % 2 === 0 ? 'AND' : 'OR') ? level : level + 1
  if (own >= maxLevels) {
    if (maxLevels === 1)
      fail('not_provable', { message: 'This circuit can only prove rules that must all hold.' })
    tooLarge(`In a proof, rules can alternate between AND and OR on at most ${maxLevels} levels.`)
  }
  for (const [i, member] of node.members.entries()) {
    if (i > 0) into.levels.push(own)
    write(member, own + 1, maxLevels, into)
  }
}

const pack = (numbers: readonly number[], bits: number): bigint =>
  numbers.reduceRight((packed, number) => (packed << BigInt(bits)) | BigInt(number), 0n)

const padded = <T>(list: readonly T[], length: number, filler: T): T[] => [
  ...list,
  ...Array.from({ length: length - list.length }, () => filler),
]

/**
 * The program of a tree. `in` and `between` take as many rules as they have values.
 * @throws AppError not_provable for rules that have no form in this circuit; tree_too_large when they don't fit it
 */
export const compileProgram = (tree: Tree, form: ProgramForm): Program => {
  const { slotBits, levels: maxLevels } = PROGRAM_FORMS[form]
  const size = 2 ** slotBits
  const { literals, levels }: Sequence = { literals: [], levels: [] }
  write(normalForm(tree), 0, maxLevels, { literals, levels })
  if (literals.length > size) tooLarge(`This proof can have at most ${size} rules.`)
  const places = new Map<string, number>()
  const paths: FieldPath[] = []
  const rules = literals.map(({ path, op, negated, operand }): Word => {
    const key = canonicalJson(path)
    const slot = places.get(key) ?? places.size
    if (slot === paths.length) paths.push(path)
    places.set(key, slot)
    return { op: LITERAL_OPERATORS.indexOf(op), negated, slot, operand }
  })
  const words = padded(rules, size, UNUSED_WORD)
  const joined = padded(levels, size - 1, 0)
  return {
    form,
    paths,
    rules: words,
    levels: joined,
    schema: h248(canonicalJson(paths)),
    words: pack(
      words.map(({ op, negated, slot }) => op + (negated ? NEGATED : 0) + (slot << SLOT_SHIFT_BITS)),
      SLOT_SHIFT_BITS + slotBits,
    ),
    operands: words.map(({ operand }) => operand),
    gates: pack(joined, LEVEL_BITS),
  }
}

/**
 * The values that a program looks at, encoded, by slot; 0 where one is missing or the slot is unused.
 * @throws AppError not_provable for values that have no exact encoding
 */
export const attributesOf = ({ form, paths }: Program, data: unknown): bigint[] =>
  padded(
    paths.map((path) => encodeValue(valueAt(data, path))),
    2 ** PROGRAM_FORMS[form].slotBits,
    0n,
  )
