/** Rule programs: what a circuit is told to evaluate says the same as the rules. */
import { expect } from 'chai'
import fc from 'fast-check'
import { evaluateProgram } from '../../src/circuits/mappers/rule-program.ts'
import { AppError } from '../../src/errors.ts'
import { encodeValue, h248 } from '../../src/rules/encode.ts'
import { decide } from '../../src/rules/evaluate.ts'
import { attributesOf, compileProgram, type Program, type ProgramForm } from '../../src/rules/program.ts'
import { parseRules } from '../../src/rules/tree.ts'
import { data, deepTreeOf, provableRule, rule, treeOf } from '../support/circuits/rule-trees.ts'
import { decideSlowly, type PlainRule, type PlainTree } from '../support/reference/rules.ts'

const compile = (tree: PlainTree, form: ProgramForm = 'composite'): Program =>
  compileProgram(parseRules(undefined, tree), form)
const is = (field: string, op: string, value?: unknown): PlainRule => ({ field, op, value })
const refusal = (make: () => unknown): AppError | undefined => {
  try {
    make()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  return undefined
}
const errorOf = (tree: PlainTree, form?: ProgramForm) => refusal(() => compile(tree, form))?.code

describe('rule programs', () => {
  it('hold for encoded data exactly where the rules are decided YES', () => {
    const trees = fc.oneof(treeOf(provableRule), deepTreeOf(provableRule))
    let proved = 0
    fc.assert(
      fc.property(trees, data, (logic, values) => {
        const tree = parseRules(undefined, logic)
        const refused = refusal(() => compileProgram(tree, 'composite'))
        if (refused) {
          expect(refused.code).to.equal('tree_too_large')
          return
        }
        const program = compileProgram(tree, 'composite')
        const holds = evaluateProgram(program, attributesOf(program, values))
        expect(holds).to.equal(decide(tree, values).decision === 'YES')
        expect(holds).to.equal(decideSlowly(logic, values).decision === 'YES')
        proved += 1
      }),
      { numRuns: 4000 },
    )
    expect(proved).to.be.greaterThan(3000)
  })

  it('of rules that must all hold say the same in either form', () => {
    const rules = fc.array(provableRule, { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(rules, data, (children, values) => {
        const tree = parseRules(children, undefined)
        const refused = refusal(() => compileProgram(tree, 'eligibility'))
        if (refused) {
          expect(refused.code).to.be.oneOf(['tree_too_large', 'not_provable'])
          return
        }
        const [some, all] = (['eligibility', 'composite'] as const)
          .map((form) => compileProgram(tree, form))
          .map((one) => evaluateProgram(one, attributesOf(one, values)))
        expect(some).to.equal(all)
        expect(some).to.equal(decide(tree, values).decision === 'YES')
      }),
      { numRuns: 1000 },
    )
  })

  it('depend on the rules only, and read each field once, in the order of its first use', () => {
    const program = compile({
      op: 'AND',
      children: [is('b.x', 'gte', 1), is('/a', 'eq', 'x'), is('/b/x', 'lt', 9), is('nothing', 'exists')],
    })
    expect(program.paths).to.deep.equal([['b', 'x'], ['a'], ['nothing']])
    expect(program.schema).to.equal(h248('[["b","x"],["a"],["nothing"]]'))
    expect(attributesOf(program, { a: 'x', b: { x: 2 } })).to.deep.equal([
      encodeValue(2),
      encodeValue('x'),
      ...Array(14).fill(0n),
    ])
  })

  it('are packed as documented', () => {
    const { words, operands, gates } = compile({
      op: 'OR',
      children: [
        { op: 'NOT', child: is('a', 'gte', 1) },
        { op: 'AND', children: [is('b', 'ne', 'x'), is('a', 'exists', false)] },
      ],
    })
    const unused = Array(13).fill(7n)
    const packed = [5n + 8n, 1n + 16n, 6n + 8n, ...unused].map((word, i) => word << BigInt(8 * i))
    expect(words).to.equal(packed.reduce((sum, word) => sum + word))
    expect(operands).to.deep.equal([encodeValue(1), encodeValue('x'), ...Array(14).fill(0n)])
    expect(gates).to.equal(1n + (2n << 3n))
    const small = compileProgram(parseRules([is('a', 'lt', 1), is('b', 'lt', 1)], undefined), 'eligibility')
    const narrow = [2n, 2n + 16n, ...Array(6).fill(7n)].map((word, i) => word << BigInt(7 * i))
    expect(small.words).to.equal(narrow.reduce((sum, word) => sum + word))
    expect(small.gates).to.equal(0n)
  })

  it('spell in, nin, between and nonbetween out as comparisons', () => {
    const same = (a: PlainTree, b: PlainTree) => expect(compile(a)).to.deep.equal(compile(b))
    const not = (child: PlainTree): PlainTree => ({ op: 'NOT', child })
    same(is('a', 'in', [1, 'x']), { op: 'OR', children: [is('a', 'eq', 1), is('a', 'eq', 'x')] })
    same(is('a', 'nin', [1, 'x']), { op: 'NOR', children: [is('a', 'eq', 1), is('a', 'eq', 'x')] })
    same(is('a', 'between', [1, 2]), { op: 'AND', children: [is('a', 'gte', 1), is('a', 'lte', 2)] })
    same(is('a', 'nonbetween', [1, 2]), not(is('a', 'between', [1, 2])))
    same(is('a', 'exists', false), not(is('a', 'exists')))
  })

  it('join groups of one kind, so that only changes between AND and OR count as levels', () => {
    let nested: PlainTree = is('a', 'eq', 0)
    for (let i = 1; i < 7; i++) nested = { op: 'AND', children: [is('a', 'ne', i), nested] }
    expect(compile(nested).gates).to.equal(0n)
    expect(errorOf(nested, 'eligibility')).to.equal(undefined)
    let alternating: PlainTree = is('a', 'in', [1, 2])
    for (let i = 0; i < 7; i++)
      alternating = { op: i % 2 === 0 ? 'AND' : 'OR', children: [is('a', 'ne', i), alternating] }
    expect(Math.max(...compile(alternating).levels)).to.equal(7)
    let tooDeep: PlainTree = is('a', 'between', [1, 2])
    for (let i = 0; i < 7; i++)
      tooDeep = { op: i % 2 === 0 ? 'OR' : 'AND', children: [is('a', 'ne', i), tooDeep] }
    expect(errorOf(tooDeep)).to.equal('tree_too_large')
  })

  it('refuse what a circuit has no form for', () => {
    fc.assert(
      fc.property(rule, (one) => {
        const isText = ['contains', 'startsWith', 'matches'].includes(one.op)
        expect(errorOf(one)).to.equal(isText ? 'not_provable' : undefined)
      }),
    )
    expect(errorOf(is('a', 'eq', 0.1234567))).to.equal('not_provable')
    expect(errorOf(is('a', 'lt', 1e13))).to.equal('not_provable')
    expect(errorOf({ op: 'OR', children: [is('a', 'eq', 1), is('b', 'eq', 1)] }, 'eligibility')).to.equal(
      'not_provable',
    )
    const program = compile(is('a', 'lt', 1))
    expect(refusal(() => attributesOf(program, { a: 1e13 }))?.code).to.equal('not_provable')
  })

  it('refuse more rules than there is room for', () => {
    const values = (length: number) =>
      is(
        'a',
        'in',
        Array.from({ length }, (_, i) => i),
      )
    const none = (length: number) => ({ ...values(length), op: 'nin' })
    expect(errorOf(values(16))).to.equal(undefined)
    expect(errorOf(values(17))).to.equal('tree_too_large')
    expect(errorOf(none(8), 'eligibility')).to.equal(undefined)
    expect(errorOf(none(9), 'eligibility')).to.equal('tree_too_large')
  })
})
