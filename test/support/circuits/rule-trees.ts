/** Rules, trees and data of all shapes, small enough that rules often meet what they ask for. @module */
import fc from 'fast-check'
import type { PlainRule, PlainTree } from '../reference/rules.ts'

const FIELDS = ['a', 'b', 'c', 'd'] as const
const scalar = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, -0, 'x', 'xy', '', '1', true, false, null),
)
export const anyValue = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('p', 'q'), scalar, { maxKeys: 2 }),
)
export const data = fc.dictionary(fc.constantFrom(...FIELDS), anyValue, { maxKeys: 4 })
export const field = fc.constantFrom(...FIELDS)
const number = fc.integer({ min: -3, max: 3 })
export const bounds = fc
  .tuple(number, number)
  .map((pair) => [...pair].sort((x, y) => x - y))
  .map(([low, high]) => [low, high])

const compared: readonly fc.Arbitrary<PlainRule>[] = [
  fc.record({ field, op: fc.constantFrom('eq', 'ne'), value: anyValue }),
  fc.record({ field, op: fc.constantFrom('lt', 'lte', 'gt', 'gte'), value: number }),
  fc.record({ field, op: fc.constantFrom('between', 'nonbetween'), value: bounds }),
  fc.record({
    field,
    op: fc.constantFrom('in', 'nin'),
    value: fc.array(anyValue, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ field, op: fc.constant('exists'), value: fc.boolean() }),
  fc.record({ field, op: fc.constant('exists') }),
]

/** Rules that a circuit can evaluate. */
export const provableRule: fc.Arbitrary<PlainRule> = fc.oneof(...compared)

export const rule: fc.Arbitrary<PlainRule> = fc.oneof(
  ...compared,
  fc.record({ field, op: fc.constant('contains'), value: fc.constantFrom('x', 'y', '1', 1, true) }),
  fc.record({ field, op: fc.constant('startsWith'), value: fc.constantFrom('x', 'xy', '1') }),
  fc.record({ field, op: fc.constant('matches'), value: fc.constantFrom('^x', 'y$', '.', '^$') }),
)

const maybeNegated = (node: fc.Arbitrary<PlainTree>): fc.Arbitrary<PlainTree> =>
  fc.oneof(
    { weight: 3, arbitrary: node },
    node.map((child) => ({ op: 'NOT' as const, child })),
  )

const gate = (child: fc.Arbitrary<PlainTree>, maxLength: number): fc.Arbitrary<PlainTree> =>
  fc.record({
    op: fc.constantFrom('AND', 'OR', 'NAND', 'NOR'),
    children: fc.array(child, { minLength: 1, maxLength }),
  })

/** At most two levels of four and a negation here and there: at most 16 rules. */
export const treeOf = (one: fc.Arbitrary<PlainRule>): fc.Arbitrary<PlainTree> => {
  const leaf = maybeNegated(one)
  return maybeNegated(fc.oneof(leaf, gate(leaf, 4), gate(maybeNegated(fc.oneof(leaf, gate(leaf, 4))), 4)))
}

/** Up to seven levels of one or two, so that gates of all levels occur. */
export const deepTreeOf = (one: fc.Arbitrary<PlainRule>): fc.Arbitrary<PlainTree> => {
  const leaf = maybeNegated(one)
  let tree = leaf
  for (let level = 1; level < 6; level++)
    tree = fc
      .tuple(fc.constantFrom('AND', 'OR', 'NAND', 'NOR'), leaf, tree, fc.boolean())
      .map(([op, first, second, swapped]) => ({ op, children: swapped ? [second, first] : [first, second] }))
  return tree
}
