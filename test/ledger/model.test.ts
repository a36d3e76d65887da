/**
 * The ledger against a model that decides one unit after the other in plain maps: whatever is submitted at once, in whatever
 * batches it is committed, the outcome is as if it had come one by one, in order.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { batches, decisionOf, type Plan, poisoned, SUMS_SCHEMA, sums } from '../support/decisions.ts'
import { callerOf, expectWholeLog, ledgerOn, openTestLedger, type TestLedger } from '../support/ledger.ts'
import { ReferenceLedger } from '../support/reference/ledger.ts'

const codeOf = (error: unknown): string => (error instanceof AppError ? error.code : 'fault')

/** What the model answers, or the code of why not. */
const expectedOf = (model: ReferenceLedger, organisation: string, unit: readonly Plan[], label: string) => {
  try {
    return model.append((tx) => {
      const decide = decisionOf(organisation, unit, label)
      const answers = decide(tx)
      if (Array.isArray(answers) && poisoned(unit, answers)) throw new Error('poison')
      return answers
    })
  } catch (error) {
    return codeOf(error)
  }
}

describe('ledger against a model', () => {
  let test: TestLedger
  let inThrees: Ledger
  let run = 0
  before(async () => {
    test = await openTestLedger()
    inThrees = await ledgerOn(test.database, { maxBatchItems: 3 })
    await test.database.knex.raw(SUMS_SCHEMA)
  })
  after(async () => {
    await expectWholeLog(test.database)
    await inThrees.close()
    await test.close()
  })

  for (const batching of ['large', 'small'] as const) {
    it(`does what one unit after the other would do, in ${batching} batches`, async () => {
      await fc.assert(
        fc.asyncProperty(batches, async (units) => {
          const ledger = batching === 'large' ? test.ledger : inThrees
          const organisation = `org_${run++}`
          const model = new ReferenceLedger(0, (await ledger.head()).size)
          const expected = units.map((unit, n) => expectedOf(model, organisation, unit, `u${n}`))
          const submitted = units.map((unit, n) =>
            ledger.append(callerOf(organisation), decisionOf(organisation, unit, `u${n}`)),
          )
          const outcomes = (await Promise.allSettled(submitted)).map((result) =>
            result.status === 'fulfilled' ? result.value : codeOf(result.reason),
          )
          expect(outcomes).to.deep.equal(expected)
          expect((await ledger.head()).size).to.equal(model.size)
          await expectSame(organisation, model)
        }),
        { numRuns: 40 },
      )
    })
  }

  const expectSame = async (organisation: string, model: ReferenceLedger): Promise<void> => {
    const { knex } = test.database
    const claims = await knex('ledger_claims').where({ organisation })
    const heldBy = claims.map(({ kind, key, holder }) => [`${kind} ${key}`, JSON.parse(holder)] as const)
    expect(new Map(heldBy)).to.deep.equal(
      new Map([...model.claims].map(([name, { holder }]) => [name, holder])),
    )
    const counters: { counter: string; value: number }[] = await knex('ledger_counters').where({
      organisation,
    })
    expect(new Map(counters.map(({ counter, value }) => [counter, value]))).to.deep.equal(model.counters)
    const entries: string[] = await knex('ledger_entries')
      .where({ organisation })
      .orderBy('idx')
      .pluck('entry')
    expect(entries.map((entry) => JSON.parse(entry).data)).to.deep.equal(
      model.entries.map(({ data }) => data),
    )
    const totals = new Map<string, { total: number; latest: number }>()
    for (const { table, values } of model.rows) {
      expect(table).to.equal(sums)
      const { key, total, latest } = values as { key: string; total: number; latest: number }
      totals.set(key, { total: (totals.get(key)?.total ?? 0) + total, latest })
    }
    const stored = await knex('test_sums').where('key', 'like', `${organisation} %`)
    expect(new Map(stored.map(({ key, total, latest }) => [key, { total, latest }]))).to.deep.equal(totals)
  }
})
