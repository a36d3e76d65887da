import { inspect } from 'node:util'
import { expect } from 'chai'
import { decide } from '../../src/rules/evaluate.ts'
import { MAX_MATCHED_CHARS } from '../../src/rules/operators.ts'
import { parseRules } from '../../src/rules/tree.ts'

const YES = 'YES'
const NO = 'NO'
const UNKNOWN = 'unknown'

/** What `{field: 'v', op, value}` says of a value. */
const ask = (op: string, operand: unknown, value: unknown): string => {
  const tree = parseRules([{ field: 'v', op, value: operand }], undefined)
  const { decision, reason } = decide(tree, { v: value })
  return reason === undefined ? decision : UNKNOWN
}

type Case = [op: string, operand: unknown, value: unknown, expected: string]
const BIG = 9007199254740993n

const CASES: Case[] = [
  ['eq', 1, 1, YES],
  ['eq', 1, 1.5, NO],
  ['eq', 1, '1', NO],
  ['eq', '1', 1, NO],
  ['eq', true, 1, NO],
  ['eq', 0, -0, YES],
  ['eq', null, null, YES],
  ['eq', null, false, NO],
  ['eq', 'é', 'e\u0301', NO],
  ['eq', [1, 2], [1, 2], YES],
  ['eq', [1, 2], [2, 1], NO],
  ['eq', 1, [1], NO],
  ['eq', { a: 1, b: [2] }, { b: [2], a: 1 }, YES],
  ['eq', { a: 1 }, { a: 1, b: 2 }, NO],
  ['eq', {}, [], NO],
  ['eq', JSON.parse('{"__proto__":{"a":1}}'), {}, NO],
  ['eq', {}, JSON.parse('{"__proto__":{"a":1}}'), NO],
  ['eq', { toString: 1 }, { a: 1 }, NO],
  ['ne', 1, '1', YES],
  ['ne', 1, 1, NO],
  ['lt', 2, 1, YES],
  ['lt', 2, 2, NO],
  ['lte', 2, 2, YES],
  ['gt', 2, 2, NO],
  ['gte', 2, 2, YES],
  ['gte', 2, '3', NO],
  ['gte', 0, true, NO],
  ['gte', 0, null, NO],
  ['lt', 0, 'a', NO],
  ['lt', 1, [0], NO],
  ['between', [1, 3], 1, YES],
  ['between', [1, 3], 3, YES],
  ['between', [1, 3], 3.000001, NO],
  ['between', [1, 3], '2', NO],
  ['nonbetween', [1, 3], 4, YES],
  ['nonbetween', [1, 3], 1, NO],
  ['nonbetween', [1, 3], '2', YES],
  ['in', ['a', 1, null], 1, YES],
  ['in', ['a', 1, null], null, YES],
  ['in', ['a', 1], '1', NO],
  ['nin', ['a', 1], '1', YES],
  ['nin', ['a', 1], 'a', NO],
  ['exists', true, null, YES],
  ['exists', undefined, 0, YES],
  ['exists', false, 0, NO],
  ['exists', true, undefined, NO],
  ['exists', false, undefined, YES],
  ['contains', 'b', 'abc', YES],
  ['contains', 'B', 'abc', NO],
  ['contains', 'b', ['a', 'b'], YES],
  ['contains', 'b', ['ab'], NO],
  ['contains', 2, [1, 2], YES],
  ['contains', 2, ['2'], NO],
  ['contains', 2, '2', NO],
  ['contains', 'b', { b: 1 }, NO],
  ['startsWith', 'ab', 'abc', YES],
  ['startsWith', 'b', 'abc', NO],
  ['startsWith', '1', 12, NO],
  ['matches', 'b.', 'abc', YES],
  ['matches', '^b', 'abc', NO],
  ['matches', '^\\d{2}$', '42', YES],
  ['matches', '^\\d{2}$', 42, NO],
  ['matches', 'a', 'a'.repeat(MAX_MATCHED_CHARS), YES],
  ['matches', 'a', 'a'.repeat(MAX_MATCHED_CHARS + 1), UNKNOWN],
  // Numbers that a double can't hold, as parseExact gives them.
  ['eq', 9007199254740992, BIG, NO],
  ['ne', 9007199254740992, BIG, YES],
  ['gt', 9007199254740992, BIG, YES],
  ['lte', 9007199254740992, BIG, NO],
  ['between', [0, 9007199254740992], BIG, NO],
  ['lt', 1e21, -(10n ** 400n), YES],
  // 2^60: the double that is nearest to the operand has exactly this value, its text does not.
  ['eq', 1152921504606847000, 1152921504606846976n, NO],
  ['lt', 1152921504606847000, 1152921504606846976n, YES],
  ['eq', 1, Number.NaN, UNKNOWN],
  ['ne', 1, Number.NaN, UNKNOWN],
  ['gte', 1, Number.NaN, UNKNOWN],
  ['nonbetween', [1, 2], Number.NaN, UNKNOWN],
  ['in', [1, 2], Number.NaN, UNKNOWN],
  ['nin', [1, 2], Number.NaN, UNKNOWN],
  ['exists', true, Number.NaN, YES],
  ['contains', 1, [2, Number.NaN], UNKNOWN],
  ['contains', 1, [1, Number.NaN], YES],
  ['eq', [1, 2], [1, Number.NaN], UNKNOWN],
  ['eq', [1, 2], [0, Number.NaN], NO],
  ['eq', { a: { b: 1 } }, { a: { b: BIG } }, NO],
]

describe('operators', () => {
  const show = (value: unknown): string => inspect(value, { maxStringLength: 40, breakLength: 200 })
  for (const [op, operand, value, expected] of CASES) {
    it(`${show(value)} ${op} ${show(operand)} is ${expected}`, () => {
      expect(ask(op, operand, value)).to.equal(expected)
    })
  }

  it('no pattern takes long: what back-tracks elsewhere is linear here', function () {
    this.timeout(5000)
    for (const pattern of ['^(a+)+$', '(a|a)*c', '(a|aa)+$', '([a-z]+)*\\d']) {
      expect(ask('matches', pattern, `${'a'.repeat(MAX_MATCHED_CHARS - 1)}!`)).to.equal(NO)
    }
  })
})
