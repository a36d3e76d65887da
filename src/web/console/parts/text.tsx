/** Small things in a sentence or a cell. @module */
import type { ComponentChildren } from 'preact'

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

/** @param amount in major units @param currency ISO 4217 code */
export const money = (amount: number, currency: string): string =>
  amount.toLocaleString(undefined, { style: 'currency', currency, currencyDisplay: 'code' })

export const number = (value: number): string => value.toLocaleString()
