/**
 * The words of the rule language: what a rule is, what a tree of rules is, and what either can come to.
 * @module
 */

export const COMPARISONS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const
/** Every operator. The last three read texts, so no circuit has them. */
export const OPERATORS = [
  ...COMPARISONS,
  'in',
  'nin',
  'between',
  'nonbetween',
  'exists',
  'contains',
  'startsWith',
  'matches',
] as const
export type Operator = (typeof OPERATORS)[number]

export const GATES = ['AND', 'OR', 'NAND', 'NOR'] as const
export type Gate = (typeof GATES)[number]

/** Undefined: unknown, because something is missing or can't be compared (Kleene's strong logic of three values). */
export type Truth = boolean | undefined

/** One condition, read and ready. */
export interface Leaf {
  readonly kind: 'rule'
  /** As it was written. */
  readonly field: string
  /** The names on the way to the value. */
  readonly path: readonly string[]
  readonly op: Operator
  /** The operand as it was written; true where `exists` left it out. */
  readonly value: unknown
  /** What the rule says of a value; `undefined` is a missing one. */
  holds(value: unknown): Truth
}

/** A tree of rules with at most {@link MAX_LEAVES} leaves. */
export type Tree =
  | Leaf
  | { readonly kind: 'gate'; readonly op: Gate; readonly children: readonly Tree[] }
  | { readonly kind: 'not'; readonly child: Tree }

export const MAX_LEAVES = 16
/** Nodes from the root to the deepest rule, both counted. */
export const MAX_TREE_DEPTH = 8
export const MAX_CHILDREN = 16
/** Values that `in` and `nin` may list. */
export const MAX_LISTED_VALUES = 100
export const MAX_PATTERN_CHARS = 128
export const MAX_FIELD_CHARS = 256
