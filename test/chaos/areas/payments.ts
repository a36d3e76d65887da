/** Payments: each card token pays once, whoever asks at the same time, and what was answered stands in the log. */
import { makeProof } from '../../support/domain/payment-proofs.ts'
import { type Area, byShop, type Context, rowsOf } from '../area.ts'
import type { Operation } from '../model.ts'

interface Verdict {
  readonly valid: boolean
  readonly doubleSpend: boolean
}

interface Synced {
  readonly results: readonly { readonly transactionId: string; readonly status: string }[]
}

interface PaymentRow {
  readonly transaction_id: string
  readonly status: string
  readonly entry_index: number
}

/** What was acknowledged of a transaction. */
interface Acknowledged {
  readonly status: 'accepted' | 'conflict'
  readonly operation: Operation
}

const RACES = 0.4
const REPETITIONS = 0.2
const UPLOADS = 0.15
const UPLOADED = 3
const AMOUNT = { amount: 12.5, currency: 'GBP' }

export const payments = (context: Context): Area => {
  const { model, random, shop } = context
  const known = new Map<string, Acknowledged>()
  const attempted = new Set<string>()

  const newPayment = () => {
    const timestamp = Date.now()
    const { stored } = makeProof({
      key: shop.apiKey,
      cardToken: `tok_${random.name()}`,
      currency: AMOUNT.currency,
      merchantId: shop.merchantId,
      timestampMs: timestamp,
      amountMinor: 1250,
      nonce: random.below(2 ** 16),
    })
    return { proofData: stored, ...AMOUNT, timestamp }
  }
  const newId = (): string => {
    const id = `txn_${random.name()}`
    attempted.add(id)
    return id
  }
  const acknowledge = (id: string, status: Acknowledged['status'], operation: Operation): void => {
    const before = known.get(id)
    if (before !== undefined && before.status !== status)
      model.broken(
        'one answer',
        `payment ${id} was ${before.status}, then ${status}`,
        before.operation,
        operation,
      )
    known.set(id, { status, operation })
  }

  const validate = async (payment: object, id: string): Promise<Acknowledged> => {
    const operation = model.begin('payments', id)
    const path = '/api/merchant/payments/validate'
    const { body } = await byShop<Verdict>(context, operation, path, {
      body: { ...payment, transactionId: id },
    })
    const status = body.valid ? 'accepted' : 'conflict'
    if (!body.valid && !body.doubleSpend)
      model.broken(
        'no answer but the right ones',
        `payment ${id} refused: ${JSON.stringify(body)}`,
        operation,
      )
    acknowledge(id, status, operation)
    return { status, operation }
  }

  /** One card token, presented by one or by several at once. */
  const present = async (): Promise<void> => {
    const payment = newPayment()
    const ids = Array.from({ length: random.chance(RACES) ? 2 : 1 }, newId)
    const verdicts = await Promise.all(ids.map((id) => validate(payment, id)))
    const accepted = verdicts.filter(({ status }) => status === 'accepted')
    if (accepted.length !== 1)
      model.broken(
        'no double spend',
        `one card token was accepted ${accepted.length} times`,
        ...verdicts.map(({ operation }) => operation),
      )
    if (random.chance(REPETITIONS)) await validate(payment, random.pick(ids))
  }

  /** Payments that were accepted offline, uploaded and uploaded again. */
  const upload = async (): Promise<void> => {
    const transactions = Array.from({ length: UPLOADED }, () => ({ ...newPayment(), transactionId: newId() }))
    const operation = model.begin('payments', transactions.map(({ transactionId }) => transactionId).join())
    for (const allowed of [['synced', 'duplicate'], ['duplicate']]) {
      const path = '/api/merchant/transactions/sync'
      const { body } = await byShop<Synced>(context, operation, path, { body: { transactions } })
      for (const { transactionId, status } of body.results) {
        if (allowed.includes(status)) acknowledge(transactionId, 'accepted', operation)
        else model.broken('one answer', `an upload of ${transactionId} was ${status}`, operation)
      }
    }
  }

  return {
    name: 'payments',
    clients: 3,
    pauseMs: 100,
    step: () => (random.chance(UPLOADS) ? upload() : present()),
    async check(database) {
      // What is acknowledged while the rows are read is for the next check.
      const acknowledged = [...known]
      const rows = await rowsOf<PaymentRow>(
        database,
        'payments',
        'transaction_id, status, entry_index',
        shop.organisationId,
      )
      const stored = new Map(rows.map((row) => [row.transaction_id, row.status]))
      if (stored.size !== rows.length || new Set(rows.map((row) => row.entry_index)).size !== rows.length)
        model.broken('exactly once', `${rows.length} payments have ${stored.size} transaction ids`)
      for (const [id, { status, operation }] of acknowledged)
        if (stored.get(id) !== status)
          model.broken(
            'no lost write',
            `payment ${id} is ${stored.get(id)}, and was acknowledged as ${status}`,
            operation,
          )
      for (const id of stored.keys())
        if (!attempted.has(id)) model.broken('exactly once', `nobody asked for payment ${id}`)
    },
  }
}
