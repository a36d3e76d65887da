/** A receipt, on the screen and on paper. @module */
import { printAround } from './printing.ts'
import type { Sale } from './records.ts'
import { money, STATE_WORDS } from './report.ts'
import { paired } from './till.ts'

const dateOf = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export const Receipt = ({ sale }: { readonly sale: Sale }) => (
  <div class="receipt printed">
    <h2>Receipt</h2>
    <dl>
      <dt>Till</dt>
      <dd>{paired.value?.label}</dd>
      <dt>Merchant</dt>
      <dd>{paired.value?.merchantId}</dd>
      <dt>Time</dt>
      <dd>{dateOf(sale.at)}</dd>
      <dt>Amount</dt>
      <dd>{money(sale.amount, sale.currency)}</dd>
      <dt>State</dt>
      <dd>{STATE_WORDS[sale.state]}</dd>
      <dt>Transaction</dt>
      <dd>{sale.transactionId}</dd>
    </dl>
    <p class="not-printed">
      <button type="button" class="plain" onClick={(event) => printAround(event.currentTarget)}>
        Print
      </button>
    </p>
  </div>
)

export const Time = ({ at }: { readonly at: number }) => (
  <time dateTime={new Date(at).toISOString()}>{dateOf(at)}</time>
)
