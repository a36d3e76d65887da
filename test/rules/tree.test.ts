import { expect } from 'chai'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import { decide } from '../../src/rules/evaluate.ts'
import {
  MAX_CHILDREN,
  MAX_LEAVES,
  MAX_LISTED_VALUES,
  MAX_PATTERN_CHARS,
  MAX_TREE_DEPTH,
} from '../../src/rules/rule.ts'
import { parseRules } from '../../src/rules/tree.ts'
import { anyCharacter } from '../support/any-character.ts'

const rule = { field: 'a', op: 'eq', value: 1 }
const many = (count: number) => Array.from({ length: count }, () => rule)
/** A tree of `levels` nodes one below another, the rule included. */
const nested = (levels: number): unknown => (levels === 1 ? rule : { op: 'NOT', child: nested(levels - 1) })

const refusal = (
  rules: unknown,
  logic: unknown,
): [code: string, path: string | undefined, detail: string | undefined] => {
  try {
    parseRules(rules, logic, '/options')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect(error.status).to.equal(422)
    return [error.code, error.details?.[0]?.path, error.details?.[0]?.code]
  }
  return ['accepted', undefined, undefined]
}

const one = (op: unknown, value: unknown) => refusal([{ field: 'a', op, value }], undefined)
const malformed = (path: string, code: string) => ['validation_failed', `/options${path}`, code]
const tooLarge = (path: string) => ['tree_too_large', `/options${path}`, 'tree_too_large']
const accepted = ['accepted', undefined, undefined]

describe('reading rules', () => {
  it('asks for rules or logic, and takes null as absent', () => {
    expect(refusal(undefined, undefined)).to.deep.equal(malformed('/rules', 'required'))
    expect(refusal(null, null)).to.deep.equal(malformed('/rules', 'required'))
    expect(refusal(null, rule)).to.deep.equal(accepted)
    expect(refusal([], undefined)).to.deep.equal(malformed('/rules', 'min_items'))
    expect(refusal({}, undefined)).to.deep.equal(malformed('/rules', 'type'))
  })

  it('names the place of what is malformed', () => {
    const inTree = (node: unknown) =>
      refusal(undefined, { op: 'AND', children: [rule, { op: 'NOT', child: node }] })
    const place = '/logic/children/1/child'
    expect(refusal([rule, 'x'], undefined)).to.deep.equal(malformed('/rules/1', 'type'))
    expect(refusal([null], undefined)).to.deep.equal(malformed('/rules/0', 'type'))
    expect(refusal([{ op: 'eq', value: 1 }], undefined)).to.deep.equal(malformed('/rules/0/field', 'type'))
    expect(refusal([{ field: 'a..b', op: 'eq', value: 1 }], undefined)).to.deep.equal(
      malformed('/rules/0/field', 'field_path'),
    )
    expect(refusal([{ field: 'a', op: 'AND', children: [] }], undefined)).to.deep.equal(
      malformed('/rules/0/op', 'enum'),
    )
    expect(refusal([rule], 'x')).to.deep.equal(malformed('/logic', 'type'))
    expect(refusal(undefined, [rule])).to.deep.equal(malformed('/logic', 'type'))
    expect(inTree({ op: 'XOR', children: [] })).to.deep.equal(malformed(`${place}/op`, 'enum'))
    expect(inTree({ op: 'constructor', field: 'a' })).to.deep.equal(malformed(`${place}/op`, 'enum'))
    expect(inTree({ children: [] })).to.deep.equal(malformed(`${place}/op`, 'enum'))
    expect(inTree({ op: 'AND' })).to.deep.equal(malformed(`${place}/children`, 'type'))
    expect(inTree({ op: 'AND', children: [] })).to.deep.equal(malformed(`${place}/children`, 'min_items'))
    expect(inTree({ op: 'NOT' })).to.deep.equal(malformed(`${place}/child`, 'required'))
    expect(inTree({ op: 'lt', field: 'a', value: '1' })).to.deep.equal(malformed(`${place}/value`, 'type'))
    expect(inTree(rule)).to.deep.equal(accepted)
  })

  it('takes only the operands that an operator can read', () => {
    const wrongOperands: [op: string, code: string, ...operands: unknown[]][] = [
      ['eq', 'required', undefined],
      ['ne', 'required', undefined],
      ['lt', 'type', undefined, null, '1', true, [1], Number.POSITIVE_INFINITY, '2026-01-01'],
      ['gte', 'type', null, {}],
      ['between', 'type', undefined, 1, [1], [1, 2, 3], ['1', '2'], [1, null]],
      ['between', 'range', [2, 1]],
      ['nonbetween', 'range', [2, 1]],
      ['in', 'type', undefined, 'a', [], {}, Array(MAX_LISTED_VALUES + 1).fill(1)],
      ['nin', 'type', []],
      ['exists', 'type', 1, 'true', null],
      ['contains', 'type', undefined, null, '', [], {}],
      ['startsWith', 'type', undefined, '', 1],
      ['matches', 'type', undefined, '', 1, 'a'.repeat(MAX_PATTERN_CHARS + 1)],
      ['matches', 'pattern', '(', '(?=a)', '(a)\\1', 'a{2,1}'],
      ['matches', 'pattern_size', 'a{600}', 'a{1001}', '(?:(?:a?){30}){30}'],
      // Refused before it is compiled, so that nobody sees that it is none.
      ['matches', 'pattern_size', 'a{600}('],
    ]
    for (const [op, code, ...operands] of wrongOperands) {
      for (const operand of operands)
        expect(one(op, operand), `${op} ${JSON.stringify(operand)}`).to.deep.equal(
          malformed('/rules/0/value', code),
        )
    }
    for (const [op, operand] of [
      ['eq', null],
      ['lt', -0.5],
      ['between', [1, 1]],
      ['in', Array(MAX_LISTED_VALUES).fill(1)],
      ['exists', undefined],
      ['matches', 'a'.repeat(MAX_PATTERN_CHARS)],
    ] as const)
      expect(one(op, operand), op).to.deep.equal(accepted)
  })

  it('takes or refuses any pattern, and fails at none', () => {
    const piece = fc.constantFrom(
      'a',
      '\\d',
      '(',
      ')',
      '[',
      ']',
      '{2}',
      '*',
      '+?',
      '|',
      '^',
      '\\p{L}',
      '(?i)',
      '\\',
      '\u{1F600}',
      '\ud800',
    )
    const pattern = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(piece).map((pieces) => pieces.join('')),
    )
    fc.assert(
      fc.property(pattern, fc.string({ unit: anyCharacter }), (text, value) => {
        const [code] = one('matches', text)
        expect(code).to.be.oneOf(['accepted', 'validation_failed'])
        if (code !== 'accepted') return
        const tree = parseRules([{ field: 'a', op: 'matches', value: text }], undefined)
        expect(decide(tree, { a: value }).decision).to.be.oneOf(['YES', 'NO'])
      }),
      { numRuns: 1000 },
    )
  })

  it('counts the patterns of a tree together', () => {
    const pattern = { field: 'a', op: 'matches', value: 'a{200}' }
    expect(refusal([pattern, pattern], undefined)).to.deep.equal(accepted)
    expect(refusal([pattern, pattern, pattern], undefined)).to.deep.equal(
      malformed('/rules/2/value', 'pattern_size'),
    )
  })

  it('takes 16 rules, 16 children and 8 levels, and no more', () => {
    expect(refusal(many(MAX_LEAVES), undefined)).to.deep.equal(accepted)
    expect(refusal(many(MAX_LEAVES + 1), undefined)).to.deep.equal(tooLarge('/rules'))
    expect(refusal(undefined, { op: 'OR', children: many(MAX_CHILDREN) })).to.deep.equal(accepted)
    expect(refusal(undefined, { op: 'OR', children: many(MAX_CHILDREN + 1) })).to.deep.equal(
      tooLarge('/logic/children'),
    )
    const halves = [8, 9].map((count) => ({ op: 'AND', children: many(count) }))
    expect(refusal(undefined, { op: 'OR', children: halves })).to.deep.equal(
      tooLarge('/logic/children/1/children/8'),
    )
    expect(refusal(many(MAX_LEAVES), rule)).to.deep.equal(tooLarge('/logic'))
    expect(refusal(undefined, nested(MAX_TREE_DEPTH))).to.deep.equal(accepted)
    expect(refusal(undefined, nested(MAX_TREE_DEPTH + 1))).to.deep.equal(
      tooLarge(`/logic${'/child'.repeat(8)}`),
    )
  })

  it('reads nothing from prototypes', () => {
    const inherited = Object.create({ field: 'a', op: 'eq', value: 1 })
    expect(refusal([inherited], undefined)).to.deep.equal(malformed('/rules/0/op', 'enum'))
    const ownOp = Object.assign(Object.create({ value: 1 }), { field: 'a', op: 'eq' })
    expect(refusal([ownOp], undefined)).to.deep.equal(malformed('/rules/0/value', 'required'))
  })

  it('keeps what was written beside what it means', () => {
    expect(parseRules([{ field: 'a\\.b.c', op: 'exists' }], undefined)).to.deep.include({
      kind: 'rule',
      field: 'a\\.b.c',
      path: ['a.b', 'c'],
      op: 'exists',
      value: true,
    })
    expect(parseRules(many(2), undefined)).to.include({ kind: 'gate', op: 'AND' })
  })
})
