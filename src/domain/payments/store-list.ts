/** Payments as an operator looks through them. @module */
import type { Knex } from 'knex'
import type { Window } from '../../json/moments.ts'
import type { Database } from '../../store/database.ts'
import { findPage, type PageOf, type Rows, withinWindow } from '../../store/pages.ts'
import type { PaymentStatus } from './payment.ts'
import type { PaymentRow } from './store.ts'

/** By the time at which they were received. */
export const PAYMENTS = { table: 'payments', orderedBy: 'received_at' } as const

/** Amounts in minor units, of the currencies with one number of decimals. */
export interface AmountRange {
  readonly currencies: readonly string[]
  readonly least?: number
  readonly greatest?: number
}

export interface PaymentFilter {
  readonly organisation: string
  readonly status?: PaymentStatus
  /** The terminal. */
  readonly origin?: string
  readonly merchant?: string
  /** Of the time at which it was received. */
  readonly window: Window
  /** A payment is in one of them; absent: any amount, or none. */
  readonly amounts?: readonly AmountRange[]
}

const ofAmount = (query: Knex.QueryBuilder, ranges: readonly AmountRange[]): void => {
  query.where((any) => {
    for (const { currencies, least, greatest } of ranges)
      any.orWhere((one) => {
        one.whereIn('currency', currencies)
        if (least !== undefined) one.where('amount_minor', '>=', least)
        if (greatest !== undefined) one.where('amount_minor', '<=', greatest)
      })
  })
}

/** A page of an organisation's payments, whatever their state. */
export const findPayments = (
  database: Database,
  { organisation, status, origin, merchant, window, amounts }: PaymentFilter,
  page: PageOf,
): Promise<Rows<PaymentRow>> =>
  findPage<PaymentRow>(
    database,
    PAYMENTS,
    {
      within(query) {
        query.where({ organisation })
        if (status !== undefined) query.where({ status })
        if (origin !== undefined) query.where({ origin })
        if (merchant !== undefined) query.where({ merchant })
        withinWindow(query, PAYMENTS, window)
      },
      ...(amounts !== undefined && { search: (query: Knex.QueryBuilder) => ofAmount(query, amounts) }),
    },
    page,
  )
