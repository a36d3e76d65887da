/**
 * Trees of rules with all negations pushed down to the rules (De Morgan), so that only AND and OR are left. An unknown
 * rule of such a tree can count as false: then the whole is true exactly where it certainly holds.
 * @module
 */
import { fail } from '../errors.ts'
import { encodeValue } from './encode.ts'
import { COMPARISONS, type Leaf, type Tree } from './rule.ts'

/** What a literal can ask, each at the place that is its number in the circuits. */
export const LITERAL_OPERATORS = [...COMPARISONS, 'exists'] as const
export type LiteralOperator = (typeof LITERAL_OPERATORS)[number]

/** One question about one value, or its negation. Of a missing value only `exists` knows anything. */
export interface Literal {
  readonly kind: 'literal'
  readonly path: readonly string[]
  readonly op: LiteralOperator
  readonly negated: boolean
  /** Encoded; 0 for `exists`. */
  readonly operand: bigint
}

/** A group has at least two members, and no group of its own kind among them. */
export type NormalForm = Literal | { readonly kind: 'AND' | 'OR'; readonly members: readonly NormalForm[] }

const group = (kind: 'AND' | 'OR', parts: readonly NormalForm[]): NormalForm => {
  const members = parts.flatMap((part) => (part.kind === kind ? part.members : [part]))
  const [only] = members
  return only !== undefined && members.length === 1 ? only : { kind, members }
}

const isLiteralOperator = (op: string): op is LiteralOperator =>
  (LITERAL_OPERATORS as readonly string[]).includes(op)

const ruleInside = ({ path, op, value }: Leaf, negated: boolean): NormalForm => {
  const literal = (one: LiteralOperator, operand: unknown, isNegated: boolean): Literal => ({
    kind: 'literal',
    path,
    op: one,
    negated: isNegated,
    operand: one === 'exists' ? 0n : encodeValue(operand),
  })
  if (op === 'exists') return literal(op, undefined, negated !== (value === false))
  if (isLiteralOperator(op)) return literal(op, value, negated)
  const isOutside = negated !== (op === 'nin' || op === 'nonbetween')
  // The operands were read before: a list of values, or two bounds.
  const operands = value as readonly unknown[]
  if (op === 'in' || op === 'nin')
    return group(
      isOutside ? 'AND' : 'OR',
      operands.map((one) => literal('eq', one, isOutside)),
    )
  if (op === 'between' || op === 'nonbetween')
    return group(isOutside ? 'OR' : 'AND', [
      literal('gte', operands[0], isOutside),
      literal('lte', operands[1], isOutside),
    ])
  return fail('not_provable', { message: `The operator ${op} can't be used in a proof.` })
}

/**
 * The normal form of a tree, or of its negation.
 * @throws AppError not_provable for operators that read texts, and for operands that have no exact encoding
 */
export const normalForm = (tree: Tree, negated = false): NormalForm => {
  if (tree.kind === 'rule') return ruleInside(tree, negated)
  if (tree.kind === 'not') return normalForm(tree.child, !negated)
  const below = negated !== (tree.op === 'NAND' || tree.op === 'NOR')
  const isAnd = tree.op === 'AND' || tree.op === 'NAND'
  return group(
    isAnd !== below ? 'AND' : 'OR',
    tree.children.map((child) => normalForm(child, below)),
  )
}
