/** Random decisions, which a ledger and its model make alike. */
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import type { Decide, Json, Tx } from '../../src/ledger/decision.ts'
import { integer, table, text } from '../../src/store/table.ts'

const KIND = CLAIM_KINDS.ticketSpent
const LIMIT = 6

export const sums = table('test_sums', {
  key: text().key(),
  total: integer().merge('sum'),
  latest: integer().merge('last'),
})
export const SUMS_SCHEMA =
  'CREATE TABLE test_sums (key text PRIMARY KEY, total bigint NOT NULL, latest bigint NOT NULL)'

/** One of the decisions that a unit makes. */
export interface Plan {
  /** Keys to claim, and what to do about one that is held: `instead` claims another key, which nobody has named before. */
  readonly claims: readonly string[]
  readonly onHeld: 'fail' | 'settle' | 'leave' | 'instead'
  /** Counters to add to; the spare where the first has no room. */
  readonly takes: readonly { counter: string; amount: number; spare: string | null }[]
  readonly entries: number
  readonly fault: 'none' | 'early' | 'late' | 'finish' | 'poison'
  readonly sum: { key: string; amount: number }
}

const plans: fc.Arbitrary<Plan> = fc.record({
  claims: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 3 }),
  onHeld: fc.constantFrom('fail', 'settle', 'leave', 'instead'),
  takes: fc.array(
    fc.record({
      counter: fc.constantFrom('x', 'y'),
      amount: fc.integer({ min: -1, max: 3 }),
      spare: fc.constantFrom(null, 'y', 'z'),
    }),
    { maxLength: 2 },
  ),
  entries: fc.nat({ max: 3 }),
  fault: fc.oneof(
    { weight: 16, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('early', 'late', 'finish', 'poison') },
  ),
  sum: fc.record({ key: fc.constantFrom('s', 't'), amount: fc.nat({ max: 5 }) }),
})

/** Batches of units of plans. */
export const batches = fc.array(fc.array(plans, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 24,
})

type Answer = { readonly indexes: number[]; readonly left: number } | { readonly heldBy: Json }

const take = (tx: Tx, { counter, amount, spare }: Plan['takes'][number]): number => {
  const fits = (name: string) => tx.counter(name) + amount <= LIMIT
  const chosen = [counter, ...(spare === null ? [] : [spare])].find(fits)
  if (chosen === undefined) throw new AppError('rate_limited')
  return tx.add(chosen, amount)
}

const decidePart = (tx: Tx, plan: Plan, organisation: string, label: string): Answer => {
  if (plan.fault === 'early') throw new Error('early')
  const wanted: string[] = []
  for (const key of plan.claims) {
    const held = tx.holder(KIND, key)
    if (held === undefined) wanted.push(key)
    else if (plan.onHeld === 'fail') throw new AppError('double_spend')
    else if (plan.onHeld === 'settle') return { heldBy: held.holder }
    else if (plan.onHeld === 'instead' && tx.holder(KIND, `instead of ${key}`) === undefined)
      wanted.push(`instead of ${key}`)
  }
  for (const key of wanted) tx.claim(KIND, key, { label })
  const left = plan.takes.map((one) => take(tx, one)).at(-1) ?? 0
  const indexes = Array.from({ length: plan.entries }, (_, n) => {
    return tx.append({ type: 'payment', data: { label, n } }).index
  })
  const key = plan.fault === 'poison' ? '\0' : `${organisation} ${plan.sum.key}`
  tx.write(sums.row({ key, total: plan.sum.amount, latest: indexes[0] ?? 0 }))
  if (plan.fault === 'late') throw new Error('late')
  return { indexes, left }
}

/** A unit's plans as one decision. @param label what its claims are held by */
export const decisionOf =
  (organisation: string, unit: readonly Plan[], label: string): Decide<Answer[]> =>
  (tx) => {
    const answers = unit.map((plan, part) => decidePart(tx, plan, organisation, `${label}.${part}`))
    const faults = unit.map(({ fault }) => fault)
    if (!faults.includes('finish')) return answers
    return tx.withRoot(() => {
      throw new Error('finish')
    })
  }

/** What a model makes of poison, which only a database refuses. */
export const poisoned = (unit: readonly Plan[], answers: readonly Answer[]): boolean =>
  unit.some(({ fault }, part) => fault === 'poison' && 'indexes' in (answers[part] ?? {}))
