/** Payments of all terminals: found by state, day, terminal and amount; late ones are accepted or rejected here. @module */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Merchant } from '../../../domain/accounts/schemas.ts'
import type { ListedPayment, PaymentPage } from '../../../domain/payments/schemas.ts'
import type { TerminalList } from '../../../domain/terminals/schemas.ts'
import { useMerchants } from '../all-merchants.ts'
import { mayChange, type PageProps } from '../page.ts'
import { FormDialog } from '../parts/confirm.tsx'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { money, State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_REASON_CHARACTERS = 500

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
  return money(amount, currency)
}

/** How a terminal or merchant is called; its id, where it is not known. */
const namesOf = (
  terminals: TerminalList | undefined,
  merchants: readonly Merchant[] | undefined,
): Map<string, string> =>
  new Map([
    ...(terminals?.terminals ?? []).map(({ terminalId, label }) => [terminalId, label] as const),
    ...(merchants ?? []).map(({ merchantId, name }) => [merchantId, name] as const),
  ])

const optionsOf = (names: Map<string, string>, kind: 'ter_' | 'mer_') =>
  [...names].filter(([id]) => id.startsWith(kind)).map(([value, label]) => ({ value, label }))

const Narrow = ({ names }: { readonly names: Map<string, string> }) => {
  const { query } = useLocation()
  return (
    <Filters names={FILTERS}>
      <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status} />
      <Field name="from" type="date" label="From (UTC)" value={query.from} />
      <Field name="to" type="date" label="To, included (UTC)" value={query.to} />
      <Field
        name="terminalId"
        label="Terminal"
        placeholder="ter_…"
        offered={optionsOf(names, 'ter_')}
        autocomplete="off"
        value={query.terminalId}
      />
      <Select
        name="merchantId"
        label="Merchant"
        options={[{ value: '', label: 'All' }, ...optionsOf(names, 'mer_')]}
        value={query.merchantId}
      />
      <Field name="minAmount" label="Amount from" inputMode="decimal" value={query.minAmount} />
      <Field name="maxAmount" label="Amount to" inputMode="decimal" value={query.maxAmount} />
    </Filters>
  )
}

/** What an operator is about to decide of a late payment. */
interface Decision {
  readonly verdict: 'accept' | 'reject'
  readonly of: ListedPayment
}

interface ListProps {
  readonly payments: readonly ListedPayment[]
  readonly names: Map<string, string>
  readonly changes: boolean
  readonly narrowed: boolean
  decide(decision: Decision): void
}

const ByOperator = ({ at }: { readonly at: string | null }) =>
  at !== null && (
    <small>
      by an operator, <Time at={at} />
    </small>
  )

const Empty = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <p>No payment is like this. Choose less in the filters above.</p>
  ) : (
    <p>
      There is no payment yet. <a href="/console/terminals">Create a terminal</a>, and take one.
    </p>
  )

const List = ({ payments, names, changes, narrowed, decide }: ListProps) => (
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
        cell: ({ status, reason, firstOrigin, acceptedAt, rejectedAt, rejectionReason }) => (
          <>
            <State tone={STATES[status][0]}>{STATES[status][1]}</State>
            {reason !== null && <small>{reason.toLowerCase().replaceAll('_', ' ')}</small>}
            {firstOrigin !== null && <small>first at {names.get(firstOrigin) ?? firstOrigin}</small>}
            <ByOperator at={acceptedAt ?? rejectedAt} />
            {rejectionReason !== null && <small>“{rejectionReason}”</small>}
          </>
        ),
      },
      {
        title: 'Actions',
        cell: (payment) =>
          changes &&
          payment.status === 'late' && (
            <span class="row-actions">
              <ActButton name={payment.transactionId} act={() => decide({ verdict: 'accept', of: payment })}>
                Accept
              </ActButton>
              <ActButton
                danger
                name={payment.transactionId}
                act={() => decide({ verdict: 'reject', of: payment })}
              >
                Reject
              </ActButton>
            </span>
          ),
      },
    ]}
  />
)

interface DecideProps {
  readonly of: ListedPayment
  done(): Promise<void>
  close(): void
}

const Accept = ({ of, done, close }: DecideProps) => (
  <FormDialog
    title={`Accept ${amountText(of)}`}
    action="Accept payment"
    overtaken={done}
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

const Reject = ({ of, done, close }: DecideProps) => (
  <FormDialog
    title={`Reject ${amountText(of)}`}
    action="Reject payment"
    danger
    overtaken={done}
    close={close}
    submit={async (values) => {
      const body = { reason: textIn(values, 'reason') }
      await ask('POST', `/console/api/payments/${of.paymentId}/reject`, { body })
      await done()
    }}
  >
    <p>
      It was made under a key that had been revoked, and uploaded afterwards. Reject it if the terminal may
      not have taken it honestly. It then counts as not paid, for good; its card token stays free.
    </p>
    <Field
      name="reason"
      label="Reason"
      hint="Shown beside the payment. It does not enter the log."
      required
      rows={3}
      maxLength={MAX_REASON_CHARACTERS}
    />
  </FormDialog>
)

export const Payments = ({ me }: PageProps) => {
  const { query } = useLocation()
  const asked = queryOf(query, FILTERS)
  const reading = usePages<PaymentPage, ListedPayment>(
    `/console/api/payments${asked}`,
    ({ payments }) => payments,
  )
  const names = namesOf(useReading<TerminalList>('/console/api/terminals').value, useMerchants().value)
  const [decision, decide] = useState<Decision | undefined>()
  const close = (): void => decide(undefined)
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
              decide={decide}
            />
          </>
        )}
      </Loaded>
      <More of={reading} />
      {decision?.verdict === 'accept' && <Accept of={decision.of} done={reading.again} close={close} />}
      {decision?.verdict === 'reject' && <Reject of={decision.of} done={reading.again} close={close} />}
    </Main>
  )
}
