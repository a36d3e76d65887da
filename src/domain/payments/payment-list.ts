/** All payments of an organisation, as pages and as a file. @module */
import type { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { endInTime, streamOf, type Text } from '../../http/text-stream.ts'
import { readWindow } from '../../json/moments.ts'
import type { Metrics } from '../../metrics.ts'
import { currencyCodes, exponentOf } from '../../protocol/currency.ts'
import { fromMinorUnits } from '../../protocol/payment-proof.ts'
import type { Database } from '../../store/database.ts'
import { createOneAtATime } from '../../store/limits.ts'
import { findPlace, type Place, type Rows } from '../../store/pages.ts'
import { ListedPayment, type PaymentPage, type PaymentQuery, type PaymentsFilter } from './schemas.ts'
import type { PaymentRow } from './store.ts'
import { type AmountRange, findPayments, PAYMENTS, type PaymentFilter } from './store-list.ts'

const DEFAULT_PAGE_PAYMENTS = 50
/** Rows that a file is made of at a time. */
const FILE_PAGE_PAYMENTS = 1_000
/** Digits behind the point that are left of an amount once its decimals are shifted away: floating-point noise is below. */
const AMOUNT_DIGITS = 6
/** More minor units than any payment has; the column holds it. */
const NO_AMOUNT = 2 ** 53
const RETRY_AFTER_SECONDS = 1

interface Deps {
  readonly database: Database
  readonly metrics: Pick<Metrics, 'exportBytes'>
  readonly clock: Clock
}

/** Comma-separated values on their way. */
interface PaymentFile {
  readonly filename: string
  readonly body: Readable
}

const toListed = (row: PaymentRow): ListedPayment => ({
  paymentId: row.id,
  status: row.status,
  reason: row.reason,
  transactionId: row.transaction_id,
  merchantId: row.merchant,
  origin: row.origin,
  amount:
    row.amount_minor === null || row.currency === null
      ? null
      : fromMinorUnits(row.amount_minor, row.currency),
  currency: row.currency,
  assurance: row.assurance,
  timestamp: row.stamped_at === null ? null : iso(row.stamped_at),
  receivedAt: iso(row.received_at),
  acceptedAt: row.accepted_at === null ? null : iso(row.accepted_at),
  firstPaymentId: row.first_payment,
  firstTransactionId: row.first_transaction_id,
  firstOrigin: row.first_origin,
  paymentMethod: row.payment_method,
  customerId: row.customer_id,
  rejectedAt: row.rejected_at === null ? null : iso(row.rejected_at),
  rejectionReason: row.rejection_reason,
})

const codesByExponent = new Map<number, string[]>()
for (const code of currencyCodes()) {
  const exponent = exponentOf(code)
  codesByExponent.set(exponent, [...(codesByExponent.get(exponent) ?? []), code])
}

/** @param minAmount in major units of whatever the currency is, as `maxAmount` */
const amountsOf = ({ minAmount, maxAmount }: PaymentsFilter): AmountRange[] | undefined => {
  if (minAmount === undefined && maxAmount === undefined) return undefined
  return [...codesByExponent].map(([exponent, currencies]) => {
    const minor = (amount: number): number =>
      Math.min(NO_AMOUNT, Number((amount * 10 ** exponent).toFixed(AMOUNT_DIGITS)))
    return {
      currencies,
      ...(minAmount !== undefined && { least: Math.ceil(minor(minAmount)) }),
      ...(maxAmount !== undefined && { greatest: Math.floor(minor(maxAmount)) }),
    }
  })
}

/** @throws AppError invalid_query */
const filterOf = (organisation: string, query: PaymentsFilter): PaymentFilter => ({
  organisation,
  status: query.status,
  origin: query.terminalId,
  merchant: query.merchantId,
  window: readWindow(query),
  amounts: amountsOf(query),
})

/** Spreadsheets take a field that begins like a formula for one: such fields get an apostrophe before them. */
const CSV = {
  columns: Object.keys(ListedPayment.properties),
  escape_formulas: true,
  record_delimiter: 'windows',
} as const

export const createPaymentList = ({ database, metrics, clock }: Deps) => {
  const begin = createOneAtATime()

  const pageOf = (filter: PaymentFilter, after?: Place): Promise<Rows<PaymentRow>> =>
    findPayments(database, filter, { after, limit: FILE_PAGE_PAYMENTS })

  async function* csvText(filter: PaymentFilter, first: Rows<PaymentRow>): Text {
    yield stringify([], { ...CSV, header: true })
    let page = first
    while (true) {
      if (page.rows.length > 0) yield stringify(page.rows.map(toListed), CSV)
      if (page.next === undefined) return
      page = await pageOf(filter, page.next)
    }
  }

  return {
    /** A page of the organisation's payments, newest first. @throws AppError invalid_query */
    async list({ organisation }: Caller, query: PaymentQuery): Promise<PaymentPage> {
      const { cursor, limit = DEFAULT_PAGE_PAYMENTS } = query
      const filter = filterOf(organisation, query)
      const after = await findPlace(database, PAYMENTS, organisation, cursor)
      const { rows, next } = await findPayments(database, filter, { after, limit })
      return { payments: rows.map(toListed), nextCursor: next?.id ?? null }
    },

    /**
     * All payments that fit, newest first, as comma-separated values (RFC 4180) that are made while they are read. The
     * first page is read before, so that what fails at once is told with its status.
     * @throws AppError invalid_query; rate_limited while another such file of the organisation is being read
     */
    async file({ organisation }: Caller, query: PaymentsFilter): Promise<PaymentFile> {
      const filter = filterOf(organisation, query)
      const end =
        begin(organisation) ??
        fail('rate_limited', {
          message: 'Another file of payments is still being read; one is made at a time.',
          retryAfter: RETRY_AFTER_SECONDS,
        })
      const onBytes = (bytes: number) => metrics.exportBytes.inc({ kind: 'payments', format: 'csv' }, bytes)
      const first = await pageOf(filter).catch((error: unknown) => {
        end()
        throw error
      })
      const body: Readable = endInTime(streamOf(csvText(filter, first), onBytes)).once('close', end)
      const day = iso(clock.now()).slice(0, 'yyyy-mm-dd'.length)
      return { filename: `assay-payments-${day}.csv`, body }
    },
  }
}
