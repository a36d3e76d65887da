import { expect } from 'chai'
import fc from 'fast-check'
import { decide } from '../../src/rules/evaluate.ts'
import { parseRules } from '../../src/rules/tree.ts'
import { anyValue, bounds, data, field, rule, treeOf } from '../support/circuits/rule-trees.ts'
import { decideByPolarity, decideSlowly, type PlainRule, type PlainTree } from '../support/reference/rules.ts'

const tree = treeOf(rule)

const decided = (logic: PlainTree, values: unknown) => decide(parseRules(undefined, logic), values)
const rest = (field: string, op: string, value?: unknown): PlainRule => ({ field, op, value })

describe('decisions over rules', () => {
  it('equal what trying every value of the unknown rules comes to', () => {
    fc.assert(
      fc.property(tree, data, (logic, values) => {
        expect(decided(logic, values)).to.deep.equal(decideSlowly(logic, values))
      }),
      { numRuns: 2000 },
    )
  })

  it('are YES exactly where a circuit that gives missing rules their polarity would say so', () => {
    fc.assert(
      fc.property(tree, data, (logic, values) => {
        expect(decided(logic, values).decision === 'YES').to.equal(decideByPolarity(logic, values))
      }),
      { numRuns: 2000 },
    )
  })

  it('obey De Morgan, double negation and the definitions of NAND and NOR', () => {
    const NOT = (child: PlainTree): PlainTree => ({ op: 'NOT', child })
    const few = fc.array(rule, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(few, data, (children, values) => {
        const negated = children.map(NOT)
        const same = (a: PlainTree, b: PlainTree) =>
          expect(decided(a, values)).to.deep.equal(decided(b, values))
        same(NOT({ op: 'AND', children }), { op: 'OR', children: negated })
        same(NOT({ op: 'OR', children }), { op: 'AND', children: negated })
        same({ op: 'NAND', children }, NOT({ op: 'AND', children }))
        same({ op: 'NOR', children }, NOT({ op: 'OR', children }))
        same(NOT(NOT(children[0]!)), children[0]!)
      }),
    )
  })

  it('of ne, nin and nonbetween are those of the negated eq, in and between', () => {
    const pairs = [
      ['ne', 'eq'],
      ['nin', 'in'],
      ['nonbetween', 'between'],
    ]
    const operands = fc.record({
      eq: anyValue,
      in: fc.array(anyValue, { minLength: 1, maxLength: 3 }),
      between: bounds,
    })
    fc.assert(
      fc.property(field, operands, data, (name, operand, values) => {
        for (const [negative = '', positive = ''] of pairs) {
          const value = operand[positive as keyof typeof operand]
          const child = rest(name, positive, value)
          expect(decided(rest(name, negative, value), values)).to.deep.equal(
            decided({ op: 'NOT', child }, values),
          )
        }
      }),
    )
  })

  it('never turn what is missing into a YES, however often it is negated', () => {
    const missing = rest('nothing', 'eq', 1)
    const no = { decision: 'NO', reason: 'missing_data' }
    expect(decided(missing, {})).to.deep.equal(no)
    expect(decided({ op: 'NOT', child: missing }, {})).to.deep.equal(no)
    expect(decided({ op: 'NAND', children: [missing] }, {})).to.deep.equal(no)
    expect(decided(rest('nothing', 'ne', 1), {})).to.deep.equal(no)
    expect(decided({ op: 'NOR', children: [missing, rest('a', 'eq', 2)] }, { a: 1 })).to.deep.equal(no)
  })

  it('do not need what is missing where the rest decides', () => {
    const missing = rest('nothing', 'eq', 1)
    const yes = rest('a', 'eq', 1)
    expect(decided({ op: 'OR', children: [missing, yes] }, { a: 1 })).to.deep.equal({ decision: 'YES' })
    expect(decided({ op: 'AND', children: [missing, yes] }, { a: 2 })).to.deep.equal({ decision: 'NO' })
    expect(decided({ op: 'NAND', children: [missing, yes] }, { a: 2 })).to.deep.equal({ decision: 'YES' })
  })

  it('of rules beside a tree need both', () => {
    const asked = parseRules([rest('a', 'eq', 1)], rest('b', 'eq', 2))
    expect(decide(asked, { a: 1, b: 2 })).to.deep.equal({ decision: 'YES' })
    expect(decide(asked, { a: 1, b: 3 })).to.deep.equal({ decision: 'NO' })
    expect(decide(asked, { a: 0, b: 2 })).to.deep.equal({ decision: 'NO' })
  })

  it('hold for any data, whatever its shape', () => {
    fc.assert(
      fc.property(tree, fc.jsonValue({ maxDepth: 4 }), (logic, values) => {
        expect(decided(logic, values).decision).to.be.oneOf(['YES', 'NO'])
      }),
    )
  })
})
