/** Sums for people: amounts in the decimals of their currency, and what a shift took. @module */
import { exponentOf } from '../../protocol/currency.ts'
import { minorUnitsOf } from '../../terminal/payment-input.ts'
import type { Sale, State } from './records.ts'

/** Digits that a keypad takes: 9,999,999.99 of a currency with two decimals. */
export const MAX_DIGITS = 9

/** What the keypad shows. @param digits of minor units; empty for none */
export const amountOf = (digits: string, currency: string): number =>
  Number(digits || '0') / 10 ** exponentOf(currency)

/** Such as £12.50. @param locale default: that of the browser */
export const money = (amount: number, currency: string, locale?: string): string => {
  const digits = exponentOf(currency)
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(amount)
}

/** Such as £12.50, €3.00. @param sums by currency, in major units as terminals tell them */
export const sumsText = (sums: Readonly<Record<string, string>>): string =>
  Object.entries(sums)
    .map(([currency, sum]) => money(Number(sum), currency))
    .join(', ')

export const STATES: readonly State[] = [
  'booked',
  'waiting',
  'late',
  'void',
  'conflict',
  'rejected',
  'unknown',
  'lost',
]

/** What people read. */
export const STATE_WORDS: Readonly<Record<State, string>> = {
  booked: 'Booked',
  waiting: 'Waits for upload',
  late: 'Waits for a decision in the console',
  void: 'Void',
  conflict: 'Refused later: card token used elsewhere',
  rejected: 'Refused later',
  unknown: 'Waits no more: booked if the console lists it, else void',
  lost: 'Lost on this device: booked only if the console lists it',
}

/** Of the sales in one state and currency. */
export interface Total {
  readonly state: State
  readonly currency: string
  readonly count: number
  /** Major units. */
  readonly sum: number
}

/** By state, then by currency; added up in minor units, so that no cent is lost. */
export const totalsOf = (sales: readonly Sale[]): Total[] => {
  const sums = new Map<string, { count: number; minor: bigint }>()
  for (const { state, currency, amount } of sales) {
    const key = `${state} ${currency}`
    const { count, minor } = sums.get(key) ?? { count: 0, minor: 0n }
    sums.set(key, { count: count + 1, minor: minor + minorUnitsOf(amount, currency) })
  }
  return STATES.flatMap((state) =>
    [...sums]
      .filter(([key]) => key.startsWith(`${state} `))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { count, minor }]) => {
        const currency = key.slice(state.length + 1)
        return { state, currency, count, sum: Number(minor) / 10 ** exponentOf(currency) }
      }),
  )
}

/** From this part of a limit on it is said that it comes near. */
export const NEAR = 0.8

/** How much of the sum that may wait is used up in a currency; undefined without a limit. */
export const usedOf = (limit: number | undefined, waiting: string | undefined): number | undefined =>
  limit === undefined ? undefined : limit === 0 ? 1 : Math.min(1, Number(waiting ?? 0) / limit)
