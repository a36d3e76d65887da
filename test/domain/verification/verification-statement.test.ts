/** From data and rules to public signals: the circuit that is chosen decides as the rules do. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { systemCaller } from '../../../src/caller.ts'
import { issueResult } from '../../../src/domain/verification/issue.ts'
import type { VerifyOptions } from '../../../src/domain/verification/schemas.ts'
import { resultSigner } from '../../../src/domain/verification/signed-result.ts'
import { makeStatement } from '../../../src/domain/verification/statement.ts'
import { AppError } from '../../../src/errors.ts'
import { data, deepTreeOf, rule, treeOf } from '../../support/circuits/rule-trees.ts'
import { ReferenceLedger } from '../../support/reference/ledger.ts'
import type { PlainTree } from '../../support/reference/rules.ts'

const CALLER = { organisation: 'org_00000000000000000000000000' }
const ISSUER = 'https://assay.example.org'
const AT = Date.parse('2026-01-01T00:00:00.000Z')
const OPERATORS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const
type Operator = (typeof OPERATORS)[number]

const statement = (data: Record<string, unknown>, options: VerifyOptions) =>
  makeStatement(CALLER, ISSUER, data, options, AT)

/** What a rule says of a value, written down without the engine. */
const reference = (op: Operator, value: unknown, operand: unknown): boolean => {
  if (op === 'eq') return value === operand
  if (op === 'ne') return value !== operand
  if (typeof value !== 'number' || typeof operand !== 'number') return false
  return { lt: value < operand, lte: value <= operand, gt: value > operand, gte: value >= operand }[op]
}

/** Numbers that a circuit holds exactly: at most 6 decimals, below 2^63 / 10^6. */
const provable = fc
  .integer({ min: -9_000_000_000, max: 9_000_000_000 })
  .chain((units) => fc.constantFrom(units, units / 1000, units / 1_000_000))
const scalar = fc.oneof(provable, fc.constantFrom(0, 1, -1, 0.000001, -0.000001), fc.boolean(), fc.string())
const pair = fc.oneof(
  fc.tuple(scalar, scalar),
  scalar.map((value) => [value, value] as [typeof value, typeof value]),
)

/** For each circuit a tree that it proves, so that none of them is left to chance. */
const ONE_TREE_A_CIRCUIT: readonly [PlainTree, Record<string, unknown>][] = (() => {
  const one: PlainTree = { field: 'a', op: 'eq', value: 1 }
  const two: PlainTree = { field: 'b', op: 'gte', value: 1 }
  return [
    [one, { a: 1 }],
    [{ op: 'AND', children: [one, two] }, { a: 1 }],
    [{ op: 'OR', children: [one, two] }, { a: 1 }],
    [{ field: 'a', op: 'startsWith', value: 'x' }, { a: 'xy' }],
  ]
})()

describe('a statement', () => {
  it('decides inside the circuit what the rule says, for every operator and kind of value', () => {
    fc.assert(
      fc.property(fc.constantFrom(...OPERATORS), pair, (op, [value, operand]) => {
        fc.pre(op === 'eq' || op === 'ne' || typeof operand === 'number')
        const made = statement({ v: value }, { rules: [{ field: 'v', op, value: operand }] })
        const ordersOthers = op !== 'eq' && op !== 'ne' && typeof value !== 'number'
        expect(made.circuitId).to.equal(ordersOthers ? 'eligibility' : 'yesno')
        expect(made.publicSignals[0]).to.equal(made.decision === 'YES' ? '1' : '0')
        expect(made.decision === 'YES').to.equal(reference(op, value, operand))
      }),
    )
  })

  it('decides any tree inside a circuit as the rules do, and names the smallest that fits', () => {
    const trees = fc.oneof(treeOf(rule), deepTreeOf(rule))
    const seen = new Set<string>()
    fc.assert(
      fc.property(trees, data, (logic, values) => {
        const made = statement({ ...values, one: 1 }, { logic: logic as VerifyOptions['logic'] })
        seen.add(made.circuitId)
        expect(made.publicSignals[0]).to.equal(made.decision === 'YES' ? '1' : '0')
        const texts = /"(contains|startsWith|matches)"/.test(JSON.stringify(logic))
        if (texts) expect(made.circuitId).to.equal('simple_yesno')
        else expect(made.circuitId).to.be.oneOf(['yesno', 'eligibility', 'composite', 'simple_yesno'])
      }),
      { numRuns: 500, examples: [...ONE_TREE_A_CIRCUIT] },
    )
    expect([...seen].sort()).to.deep.equal(['composite', 'eligibility', 'simple_yesno', 'yesno'])
  })

  it('is of the same circuit whatever the data, once the rules are more than one comparison', () => {
    const two = [
      { field: 'a', op: 'gte' as const, value: 1 },
      { field: 'b', op: 'eq' as const, value: 'x' },
    ]
    const documents = [{ a: 1, b: 'x' }, { a: 0 }, { c: 1 }, { a: 'text', b: null }, { a: [1], b: {} }]
    for (const values of documents) {
      expect(statement(values, { rules: two }).circuitId).to.equal('eligibility')
      expect(statement(values, { logic: { op: 'OR', children: two } }).circuitId).to.equal('composite')
    }
  })

  it('has a decision, a circuit and a digest for any JSON, and an AppError for any rule', () => {
    const field = fc.constantFrom('a', 'a.b', '/a/0', '__proto__', 'a\\.b', '')
    const rule = fc.record({
      field,
      op: fc.constantFrom(...OPERATORS, 'in', 'exists'),
      value: fc.jsonValue(),
    })
    const data = fc.dictionary(fc.constantFrom('a', 'b', 'a.b'), fc.jsonValue(), { minKeys: 1 })
    fc.assert(
      fc.property(data, fc.array(rule, { maxLength: 3 }), (given, rules) => {
        try {
          const made = statement(given, rules.length === 0 ? {} : { rules })
          expect(made.decision === null).to.equal(rules.length === 0)
          expect(made.publicSignals[0]).to.equal(made.decision === 'NO' ? '0' : '1')
          expect(made.digest).to.match(/^[0-9a-f]{64}$/)
          expect(made.commitment).to.match(/^[0-9a-f]{64}$/)
        } catch (error) {
          if (!(error instanceof AppError && error.status === 422)) throw error
        }
      }),
    )
  })

  it('binds question, organisation, nonce and end: another of any of them is another ctx', () => {
    const rules = [{ field: 'a', op: 'eq' as const, value: 1 }]
    const ctxOf = (options: VerifyOptions) => statement({ a: 1 }, options).publicSignals.at(-1)
    const seen = new Set([
      ctxOf({ rules }),
      ctxOf({ rules, nonce: 'x' }),
      ctxOf({ rules, ttl: 1 }),
      ctxOf({ rules, ttl: 2 }),
      ctxOf({}),
    ])
    expect(seen.size).to.equal(5)
  })
})

describe('the decision that issues a result', () => {
  it('signs anew for each place that the ledger gives it, and rows and answer agree', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const key = { kid: 'k', sign: (message: Uint8Array) => sign(null, message, privateKey) }
    const issue = {
      caller: systemCaller(CALLER.organisation, 'test'),
      issuer: ISSUER,
      statement: statement({ a: 1 }, {}),
      signer: await resultSigner({ current: async () => key }),
      includeReceipt: false,
      reserve: () => undefined,
      write: () => undefined,
    }
    const decide = issueResult(issue, (result) => result)
    const ledger = new ReferenceLedger(AT)
    // A commit whose connection broke is tried again, and the entry may land elsewhere.
    for (const index of [0, 1]) {
      const { jws } = ledger.append(decide)
      expect(ledger.rows.at(-1)?.values).to.deep.include({ jws, entry_index: index })
      const payload = JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())
      expect(payload.leaf_hash).to.equal(ledger.leafHash(index))
    }
  })
})
