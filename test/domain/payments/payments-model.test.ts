/** Random histories of payments, compared with a model that is slow to write wrong: two maps and a few ifs. */
import { expect } from 'chai'
import fc from 'fast-check'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { keyTill, type TestPayment, type Till, terminalTill } from '../../support/domain/tills.ts'

const TILLS = 3
const CARDS = 3
const IDS = 3
const RUNS = 40

/** A payment by small numbers, so that histories meet themselves. Without `id` it brings no transaction id. */
interface Drawn {
  card: number
  amount: number
  id: number | null
  fault: 'none' | 'mac' | 'malformed'
}
interface Step {
  till: number
  route: 'validate' | 'sync'
  payments: Drawn[]
}

const drawn = fc.record({
  card: fc.nat(CARDS - 1),
  amount: fc.nat(1),
  id: fc.option(fc.nat(IDS - 1)),
  fault: fc.constantFrom('none', 'none', 'none', 'none', 'mac', 'malformed'),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    till: fc.nat(TILLS - 1),
    route: fc.constant('validate' as const),
    payments: fc.array(drawn, { minLength: 1, maxLength: 1 }),
  }),
  fc.record({
    till: fc.nat(TILLS - 1),
    route: fc.constant('sync' as const),
    payments: fc.array(drawn, { maxLength: 5 }),
  }),
)

interface Decided {
  status: 'accepted' | 'conflict' | 'rejected' | 'error'
  code?: string
  repeated?: boolean
}

const createModel = () => {
  const answers = new Map<string, Decided & { content: string }>()
  const spent = new Map<number, { till: number; content: string; id: string }>()
  return (till: number, route: Step['route'], { card, amount, id, fault }: Drawn): Decided => {
    if (fault === 'malformed') return { status: 'rejected', code: 'PROOF_MALFORMED' }
    if (fault === 'mac') return { status: 'rejected', code: 'INVALID_MAC' }
    const content = `${till} ${card} ${amount}`
    const name = id !== null ? `${till} id ${id}` : route === 'sync' ? `${till} proof ${content}` : undefined
    const first = name === undefined ? undefined : answers.get(name)
    if (first?.content === content) return { ...first, repeated: true }
    if (first && route === 'validate') return { status: 'error', code: 'transaction_conflict' }
    if (first) return { status: 'rejected', code: 'TRANSACTION_CONFLICT' }
    const spender = spent.get(card)
    if (spender?.content === content && (route === 'sync' || (id !== null && spender.id === name))) {
      return { status: 'accepted', repeated: true }
    }
    const decided: Decided = spender ? { status: 'conflict', code: 'DOUBLE_SPEND' } : { status: 'accepted' }
    if (!spender) spent.set(card, { till, content, id: name ?? '' })
    if (name !== undefined) answers.set(name, { ...decided, content })
    return decided
  }
}

const syncWord = ({ status, repeated }: Decided): string =>
  status === 'accepted' ? (repeated ? 'duplicate' : 'synced') : status

describe('payments against a model', () => {
  let app: TestApp
  let tills: Till[]
  let runs = 0

  before(async () => {
    app = await sharedApp()
    const owner = await app.organisation()
    tills = [await terminalTill(app, owner), await terminalTill(app, owner), await keyTill(app, owner)]
  })

  it('decides every history as the model does', async () => {
    const at = Date.now()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (history) => {
        const run = `${at}-${++runs}`
        const model = createModel()
        for (const { till: index, route, payments } of history) {
          const till = tills[index] as Till
          const bodies = payments.map(({ card, amount, id, fault }): Partial<TestPayment> => {
            const { transactionId: _, ...payment } = till.payment({
              cardToken: `tok-${run}-${card}`,
              amountMinor: 1000 + amount,
              nonce: card,
              at,
            })
            if (fault === 'mac') payment.amount += 1
            if (fault === 'malformed') payment.proofData = payment.proofData.slice(1)
            return id === null ? payment : { ...payment, transactionId: `${run}-${id}` }
          })
          const expected = payments.map((payment) => model(index, route, payment))
          if (route === 'sync') {
            const { body } = await till.sync(bodies)
            expect(body.results.map(({ status }) => status)).to.deep.equal(expected.map(syncWord))
            expect(body.errors.map(({ index: i, code }) => [i, code])).to.deep.equal(
              expected.flatMap(({ code }, i) => (code === undefined ? [] : [[i, code]])),
            )
            expect(body.synced + body.failed).to.equal(payments.length)
            continue
          }
          const [decided] = expected
          const { status, body } = await till.validate(bodies[0] ?? {})
          expect(status).to.equal(decided?.status === 'error' ? 409 : 200)
          expect(body.valid ?? false).to.equal(decided?.status === 'accepted')
          expect(body.doubleSpend ?? false).to.equal(decided?.status === 'conflict')
          expect(status === 200 ? body.reason : body.error).to.equal(decided?.code)
        }
      }),
      { numRuns: RUNS },
    )
  })
})
