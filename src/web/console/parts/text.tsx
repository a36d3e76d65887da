/** Small things in a sentence or a cell. @module */
import type { ComponentChildren } from 'preact'
import { exponentOf, isCurrency } from '../../../protocol/currency.ts'

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** A time, in the reader's zone and language. @param at ISO 8601 */
export const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={at}>
    {FORMAT.format(new Date(at))}
  </time>
)

export type Tone = 'good' | 'warn' | 'bad' | 'quiet'

/** A state: the word says it, the colour beside it only helps. */
export const State = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class="state" data-tone={tone}>
    {children}
  </span>
)

/**
 * With the decimals of ISO 4217, which the service counts by; browsers write some currencies without those that nobody pays with.
 * @param amount in major units @param currency what is no ISO 4217 code stands behind a plain number
 */
export const money = (amount: number, currency: string): string => {
  if (!isCurrency(currency)) return `${number(amount)} ${currency}`
  const digits = exponentOf(currency)
  return amount.toLocaleString(undefined, {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

export const number = (value: number): string => value.toLocaleString()
