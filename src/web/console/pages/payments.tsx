/** Payments of all terminals: found by state, day, terminal and amount; late ones are decided here. @module */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { MerchantList } from '../../../domain/accounts/schemas.ts'
import type { ListedPayment, PaymentPage } from '../../../domain/payments/schemas.ts'
import type { TerminalList } from '../../../domain/terminals/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { FormDialog } from '../parts/confirm.tsx'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select } from '../parts/form.tsx'
import { Loaded, More, usePages, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const FILTERS = ['status', 'terminalId', 'merchantId', 'from', 'to', 'minAmount', 'maxAmount'] as const

const STATES: Readonly<Record<ListedPayment['status'], readonly [Tone, string]>> = {
  accepted: ['good', 'Accepted'],
  late: ['warn', 'Late: waits for you'],
  conflict: ['bad', 'Card token used twice'],
  rejected: ['bad', 'Rejected'],
}

const STATUS_OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(STATES).map(([value, [, label]]) => ({ value, label })),
]

const amountText = ({ amount, currency }: ListedPayment): string => {
  if (amount === null) return 'None told'
  if (currency === null) return amount.toLocaleString()
  return amount.toLocaleString(undefined, { style: 'currency', currency, currencyDisplay: 'code' })
}

/** How a terminal or merchant is called; its id, where it is not known. */
const namesOf = (
  terminals: TerminalList | undefined,
  merchants: MerchantList | undefined,
): Map<string, string> =>
  new Map([
    ...(terminals?.terminals ?? []).map(({ terminalId, label }) => [terminalId, label] as const),
    ...(merchants?.merchants ?? []).map(({ merchantId, name }) => [merchantId, name] as const),
  ])

const optionsOf = (names: Map<string, string>, kind: 'ter_' | 'mer_') => [
  { value: '', label: 'All' },
  ...[...names].filter(([id]) => id.startsWith(kind)).map(([value, label]) => ({ value, label })),
]

const Narrow = ({ names }: { readonly names: Map<string, string> }) => {
  const { query } = useLocation()
  return (
    <Filters names={FILTERS}>
      <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status} />
      <Field name="from" type="date" label="From (UTC)" value={query.from} />
      <Field name="to" type="date" label="To, included (UTC)" value={query.to} />
      <Select
        name="terminalId"
        label="Terminal"
        options={optionsOf(names, 'ter_')}
        value={query.terminalId}
      />
      <Select
        name="merchantId"
        label="Merchant"
        options={optionsOf(names, 'mer_')}
        value={query.merchantId}
      />
      <Field name="minAmount" label="Amount from" inputMode="decimal" value={query.minAmount} />
      <Field name="maxAmount" label="Amount to" inputMode="decimal" value={query.maxAmount} />
    </Filters>
  )
}

interface ListProps {
  readonly payments: readonly ListedPayment[]
  readonly names: Map<string, string>
  readonly changes: boolean
  readonly narrowed: boolean
  accept(payment: ListedPayment): void
}

const Empty = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <p>No payment is like this. Choose less in the filters above.</p>
  ) : (
    <p>
      There is no payment yet. <a href="/console/terminals">Create a terminal</a>, and take one.
    </p>
  )

const List = ({ payments, names, changes, narrowed, accept }: ListProps) => (
  <Table
    caption="Payments, the newest first"
    rows={payments}
    keyOf={({ paymentId }) => paymentId}
    empty={<Empty narrowed={narrowed} />}
    columns={[
      {
        title: 'Received',
        cell: ({ receivedAt, transactionId }) => (
          <>
            <Time at={receivedAt} />
            <br />
            <code class="quiet">{transactionId}</code>
          </>
        ),
      },
      { title: 'Amount', cell: (payment) => <strong>{amountText(payment)}</strong> },
      { title: 'Presented by', cell: ({ origin }) => names.get(origin) ?? <code>{origin}</code> },
      {
        title: 'State',
        cell: ({ status, reason, firstOrigin, acceptedAt }) => (
          <>
            <State tone={STATES[status][0]}>{STATES[status][1]}</State>
            {reason !== null && <small>{reason.toLowerCase().replaceAll('_', ' ')}</small>}
            {firstOrigin !== null && <small>first at {names.get(firstOrigin) ?? firstOrigin}</small>}
            {acceptedAt !== null && (
              <small>
                by an operator, <Time at={acceptedAt} />
              </small>
            )}
          </>
        ),
      },
      {
        title: 'Actions',
        cell: (payment) =>
          changes &&
          payment.status === 'late' && (
            <ActButton name={payment.transactionId} act={() => accept(payment)}>
              Accept
            </ActButton>
          ),
      },
    ]}
  />
)

const Accept = ({ of, done, close }: { of: ListedPayment; done(): Promise<void>; close(): void }) => (
  <FormDialog
    title={`Accept ${amountText(of)}`}
    action="Accept payment"
    close={close}
    submit={async () => {
      await ask('POST', `/console/api/payments/${of.paymentId}/accept`)
      await done()
    }}
  >
    <p>
      It was made under a key that had been revoked, and uploaded afterwards. Accept it if you know that the
      terminal took it honestly. It then counts as paid, for good.
    </p>
  </FormDialog>
)

export const Payments = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<PaymentPage, ListedPayment>(
    `/console/api/payments${asked}`,
    ({ payments }) => payments,
  )
  const names = namesOf(
    useReading<TerminalList>('/console/api/terminals').value,
    useReading<MerchantList>('/console/api/merchants').value,
  )
  const [accepting, setAccepting] = useState<ListedPayment | undefined>()
  return (
    <Main title="Payments">
      <Narrow names={names} />
      <Loaded of={reading}>
        {(payments) => (
          <>
            {payments.length > 0 && me.scopes.includes('export') && (
              <p>
                <a href={`/console/api/payments.csv${asked}`} download>
                  Download as CSV
                </a>
              </p>
            )}
            <List
              payments={payments}
              names={names}
              changes={mayChange(me, 'merchant')}
              narrowed={asked !== ''}
              accept={setAccepting}
            />
          </>
        )}
      </Loaded>
      <More of={reading} />
      {accepting && <Accept of={accepting} done={reading.again} close={() => setAccepting(undefined)} />}
    </Main>
  )
}
