/** The till can't be opened, or had to be recovered: what happened and what helps, for those who stand at it. @module */
import type { ComponentChildren } from 'preact'
import { Time } from './receipt.tsx'
import { money } from './report.ts'
import { again, loss, recover } from './till.ts'

interface ProblemProps {
  readonly title: string
  readonly children: ComponentChildren
}

const Problem = ({ title, children }: ProblemProps) => (
  <section role="alert">
    <h1>{title}</h1>
    {children}
    <p>
      <button type="button" onClick={again}>
        Try again
      </button>
    </p>
  </section>
)

/** Payments may be lost, so that somebody else should know first. */
const Damaged = () => (
  <>
    <Problem title="The records of this till are damaged">
      <p>
        Some of what this till wrote down on this device can’t be read any more. Nothing was changed. Until it
        is settled, this till takes no payment.
      </p>
      <p>
        <strong>Tell whoever looks after your tills, and use another one.</strong> Payments that wait for
        upload may be among what can’t be read.
      </p>
    </Problem>
    <details class="box">
      <summary>Recover what can be read</summary>
      <p>
        Payments that can still be read are kept, and uploaded as always. A payment that can’t be read is lost
        to this till: if it was not uploaded before, no money comes of it. You are then shown which payments
        are missing, and whether used card tokens may be forgotten. The damaged records stay on this device
        for whoever wants to look into them.
      </p>
      <p>
        <button type="button" class="danger" onClick={recover}>
          Keep what can be read, and go on
        </button>
      </p>
    </details>
  </>
)

export const Stuck = ({ code, message }: { readonly code: string; readonly message: string }) => {
  if (code === 'journal_damaged') return <Damaged />
  if (code === 'storage_locked')
    return (
      <Problem title="Open in another window">
        <p>
          This till is open in another window or tab of this device. Go on there, or close it and try again.
        </p>
      </Problem>
    )
  return (
    <Problem title="The till can’t be opened">
      <p>
        {code === 'wrong_merchant'
          ? 'No payment is lost: what was accepted is kept on this device.'
          : 'What is kept on this device was not read: until it is, this till takes no payment, and doesn’t know whether any waits for upload. Don’t clear the data of this browser: they would be lost.'}{' '}
        Tell whoever looks after your tills:
      </p>
      <p>
        <code>{message}</code>
      </p>
    </Problem>
  )
}

/** After a recovery, until somebody has read it. */
export const Recovered = () => {
  if (loss.value === undefined) return null
  const { payments: sales, cardsForgotten } = loss.value
  return (
    <section
      class="notice"
      data-tone={sales.length === 0 && !cardsForgotten ? 'good' : 'bad'}
      role="status"
      aria-labelledby="recovered-title"
    >
      <h2 id="recovered-title">
        {sales.length === 0
          ? 'Recovered: no payment of the list is missing'
          : `Recovered, but ${sales.length === 1 ? '1 payment is' : `${sales.length} payments are`} missing`}
      </h2>
      <p>
        {sales.length > 0 &&
          'What the console doesn’t list of these was never booked. Their card tokens can be taken again. '}
        Compare this shift’s receipts with the list, and tell whoever looks after your tills.
      </p>
      {cardsForgotten && (
        <p>
          <strong>Card tokens that were used before may be forgotten.</strong> Without the service, this till
          may take one again, and the service refuses it later.
        </p>
      )}
      {sales.length > 0 && (
        <ul>
          {sales.map(({ transactionId, amount, currency, at }) => (
            <li key={transactionId}>
              {money(amount, currency)}, <Time at={at} /> <code>{transactionId}</code>
            </li>
          ))}
        </ul>
      )}
      <p>
        <button type="button" class="plain" onClick={() => (loss.value = undefined)}>
          I have told them
        </button>
      </p>
    </section>
  )
}
