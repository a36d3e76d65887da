/**
 * The ledger against a model that does the same one unit after the other in plain maps: whatever is submitted at
 * once, in whatever batches it is committed, the outcome is as if it had come one by one, in order.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import type { Item, Json, Receipt } from '../../src/ledger/item.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { integer, table, text } from '../../src/store/table.ts'
import { callerOf, expectWholeLog, ledgerOn, openTestLedger, type TestLedger } from '../support/ledger.ts'

const LIMIT = 6

interface Plan {
  readonly claims: readonly string[]
  readonly takes: readonly { counter: string; amount: number; spare: string | null }[]
  readonly onLoss: 'fail' | 'settle' | 'replace'
  readonly fault: 'none' | 'rows' | 'result' | 'poison'
  readonly sum: { key: string; amount: number }
}

const plans: fc.Arbitrary<Plan> = fc.record({
  claims: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 3 }),
  takes: fc.array(
    fc.record({
      counter: fc.constantFrom('x', 'y'),
      amount: fc.integer({ min: -1, max: 3 }),
      spare: fc.constantFrom(null, 'y', 'z'),
    }),
    { maxLength: 2 },
  ),
  onLoss: fc.constantFrom('fail', 'settle', 'replace'),
  fault: fc.oneof(
    { weight: 12, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('rows' as const, 'result' as const, 'poison' as const) },
  ),
  sum: fc.record({ key: fc.constantFrom('s', 't'), amount: fc.nat({ max: 5 }) }),
})
const units = fc.array(fc.array(plans, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 24 })

const sums = table('test_sums', {
  key: text().key(),
  total: integer().merge('sum'),
  latest: integer().merge('last'),
})

type Answer = { index: number; replaced?: boolean } | { lostTo: Json }

const sumRow = (organisation: string, plan: Plan, index: number) => {
  if (plan.fault === 'rows') throw new Error('rows')
  const key = plan.fault === 'poison' ? `\0` : `${organisation} ${plan.sum.key}`
  return sums.row({ key, total: plan.sum.amount, latest: index })
}

/** The plan as an item. `label` is what its claims are held by. */
const itemOf = (organisation: string, plan: Plan, label: string): Item<Answer> => {
  const build = (claims: readonly string[], replaced: boolean): Item<Answer> => ({
    claims: claims.map((key) => ({ kind: 'k', key, holder: { label }, code: 'double_spend' })),
    takes: plan.takes.map(({ spare, ...named }) => {
      const take = { ...named, limit: LIMIT, code: 'rate_limited' } as const
      return spare === null ? take : { ...take, otherwise: { ...take, counter: spare } }
    }),
    entry: { type: 'payment', data: { label } },
    rows: ({ index }) => [sumRow(organisation, plan, index)],
    result: ({ index }: Receipt) => {
      if (plan.fault === 'result') throw new Error('result')
      return { index, ...(replaced && { replaced }) }
    },
    ...(plan.onLoss !== 'fail' && {
      lost: ({ holder, claim }) =>
        plan.onLoss === 'settle' || replaced
          ? { settled: { lostTo: holder } }
          : build(
              claims.filter((key) => key !== claim.key),
              true,
            ),
    }),
  })
  return build(plan.claims, false)
}

/** The same, one unit at a time, on plain maps. */
class Model {
  readonly claims = new Map<string, string>()
  readonly counters = new Map<string, number>()
  readonly sums = new Map<string, { total: number; latest: number }>()
  size: number
  constructor(size: number) {
    this.size = size
  }

  #item(plan: Plan, label: string): Answer {
    let claims = plan.claims
    let replaced = false
    for (let lost = claims.find((key) => this.claims.has(key)); lost !== undefined; ) {
      if (plan.onLoss === 'fail') throw new AppError('double_spend')
      if (plan.onLoss === 'settle' || replaced) return { lostTo: { label: this.claims.get(lost) ?? null } }
      claims = claims.filter((key) => key !== lost)
      replaced = true
      lost = claims.find((key) => this.claims.has(key))
    }
    for (const { counter, amount, spare } of plan.takes) {
      const sumOf = (name: string) => (this.counters.get(name) ?? 0) + amount
      const taken = [counter, ...(spare === null ? [] : [spare])].find((name) => sumOf(name) <= LIMIT)
      if (taken === undefined) throw new AppError('rate_limited')
      this.counters.set(taken, sumOf(taken))
    }
    for (const key of claims) this.claims.set(key, label)
    const index = this.size++
    this.sums.set(plan.sum.key, {
      total: (this.sums.get(plan.sum.key)?.total ?? 0) + plan.sum.amount,
      latest: index,
    })
    return { index, ...(replaced && { replaced }) }
  }

  unit(parts: readonly Plan[], label: string): Answer[] | string {
    const { size } = this
    const before = {
      claims: new Map(this.claims),
      counters: new Map(this.counters),
      sums: new Map(this.sums),
      size,
    }
    const restore = (failure: string): string => {
      Object.assign(this, before)
      return failure
    }
    try {
      const answers = parts.map((plan, index) => this.#item(plan, `${label}.${index}`))
      // Builders run once every item has won what it needs.
      if (answers.some((answer, index) => 'index' in answer && parts[index]?.fault !== 'none'))
        return restore('fault')
      return answers
    } catch (error) {
      return restore(error instanceof AppError ? error.code : 'fault')
    }
  }
}

describe('ledger against a model', () => {
  let test: TestLedger
  let inThrees: Ledger
  let run = 0
  before(async () => {
    test = await openTestLedger()
    inThrees = await ledgerOn(test.database, { maxBatchItems: 3 })
    await test.database.knex.raw(
      'CREATE TABLE test_sums (key text PRIMARY KEY, total bigint NOT NULL, latest bigint NOT NULL)',
    )
  })
  after(async () => {
    await expectWholeLog(test.database)
    await inThrees.close()
    await test.close()
  })

  for (const batching of ['large', 'small'] as const) {
    it(`does what one unit after the other would do, in ${batching} batches`, async () => {
      await fc.assert(
        fc.asyncProperty(units, async (batch) => {
          const ledger = batching === 'large' ? test.ledger : inThrees
          const organisation = `org_${run++}`
          const model = new Model((await ledger.head()).size)
          const expected = batch.map((parts, index) => model.unit(parts, `u${index}`))
          const submitted = batch.map((parts, index) =>
            ledger.appendAll(
              callerOf(organisation),
              parts.map((plan, part) => itemOf(organisation, plan, `u${index}.${part}`)),
              (answers) => answers,
            ),
          )
          const outcomes = (await Promise.allSettled(submitted)).map((result) => {
            if (result.status === 'fulfilled') return result.value
            return result.reason instanceof AppError ? result.reason.code : 'fault'
          })
          expect(outcomes).to.deep.equal(expected)
          expect((await ledger.head()).size).to.equal(model.size)
          await expectSame(organisation, model)
        }),
        { numRuns: 40 },
      )
    })
  }

  const expectSame = async (organisation: string, model: Model): Promise<void> => {
    const { knex } = test.database
    const claims = await knex('ledger_claims').where({ organisation })
    expect(new Map(claims.map(({ key, holder }) => [key, JSON.parse(holder).label]))).to.deep.equal(
      model.claims,
    )
    expect(claims).to.have.length(model.claims.size)
    const counters: { counter: string; value: number }[] = await knex('ledger_counters').where({
      organisation,
    })
    expect(new Map(counters.map(({ counter, value }) => [counter, value]))).to.deep.equal(model.counters)
    const totals: { key: string; total: number; latest: number }[] = await knex('test_sums').where(
      'key',
      'like',
      `${organisation} %`,
    )
    expect(
      new Map(totals.map(({ key, total, latest }) => [key.split(' ')[1], { total, latest }])),
    ).to.deep.equal(model.sums)
  }
})
