/** What the OpenAPI document says of nodes is what the service takes. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSchemaComponents } from '../../src/http/openapi/schemas.ts'
import { GATES, OPERATORS } from '../../src/rules/rule.ts'
import { Logic } from '../../src/rules/schemas.ts'
import { parseRules } from '../../src/rules/tree.ts'

const components = createSchemaComponents([])
const root = components.useClosed(Logic)
const isDocumented = new Ajv2020({ strict: false }).compile({
  ...root,
  components: { schemas: components.all() },
})

const isTaken = (logic: unknown): boolean => {
  try {
    parseRules(undefined, logic)
    return true
  } catch {
    return false
  }
}

/** An operand that the operator can read. */
const OPERANDS: Readonly<Record<(typeof OPERATORS)[number], unknown>> = {
  eq: null,
  ne: { a: 1 },
  lt: 1,
  lte: 1,
  gt: 1,
  gte: 1,
  in: [1],
  nin: ['a'],
  between: [1, 2],
  nonbetween: [1, 2],
  exists: false,
  contains: 'a',
  startsWith: 'a',
  matches: 'a',
}
const MAX_CHILDREN_MADE = 3

const rule = fc.constantFrom(...OPERATORS).map((op) => ({ field: 'a', op, value: OPERANDS[op] }))
const { tree } = fc.letrec<{ tree: object }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    rule,
    fc.record({
      op: fc.constantFrom(...GATES),
      children: fc.array(tie('tree'), { minLength: 1, maxLength: MAX_CHILDREN_MADE }),
    }),
    fc.record({ op: fc.constant('NOT'), child: tie('tree') }),
  ),
}))

const part = fc.constantFrom<unknown>(null, 1, 'a', [], {}, [[]], { field: 'a', op: 'exists' })
const member = fc.constantFrom('op', 'field', 'children', 'child', 'undeclared')
const operator = fc.constantFrom<unknown>('NOT', 'XOR', 'and', null, ...GATES)

/** A node with a member that is gone, of another kind, or of another form of nodes. */
const changed = fc.oneof(
  fc
    .tuple(tree, fc.constantFrom('op', 'field', 'value', 'children', 'child'))
    .map(([node, name]) => Object.fromEntries(Object.entries(node).filter(([key]) => key !== name))),
  fc.tuple(tree, member, part).map(([node, name, value]) => ({ ...node, [name]: value })),
  fc.tuple(tree, operator).map(([node, op]) => ({ ...node, op })),
  part,
)
/** It at the root, and inside. */
const nodes = fc.oneof(
  tree,
  changed,
  fc.tuple(rule, changed).map(([first, second]) => ({ op: 'OR', children: [first, second] })),
  changed.map((child) => ({ op: 'NOT', child })),
)

describe('schemas of nodes in the OpenAPI document', () => {
  it('take a tree of which each operand can be read if, and only if, the service does', () => {
    const seen = { true: 0, false: 0 }
    fc.assert(
      fc.property(nodes, (node) => {
        const taken = isTaken(node)
        seen[`${taken}`] += 1
        expect(isDocumented(node), JSON.stringify(node)).to.equal(taken)
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(seen.true, seen.false)).to.be.above(200)
  })
})
