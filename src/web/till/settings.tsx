/** The device: what it is paired with, its currency, its limits. @module */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { systemClock } from '../../clock.ts'
import { currencyCodes } from '../../protocol/currency.ts'
import type { QueuedPayment } from '../../terminal/browser.ts'
import { printAround } from './printing.ts'
import { Time } from './receipt.tsx'
import { money } from './report.ts'
import { paired, set, settings, status, unpair } from './till.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

interface UnansweredProps {
  readonly payments: readonly QueuedPayment[]
  readonly busy: boolean
  leave(): void
  keep(): void
}

/** Payments for which the service answers no more: handed out before the till forgets them. */
const Unanswered = ({ payments, busy, leave, keep }: UnansweredProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  const noted = useSignal(false)
  useEffect(() => heading.current?.focus(), [])
  const amounts = payments.map(({ amount, currency }) => money(amount, currency)).join(', ')
  const { label, terminalId, merchantId } = paired.value ?? {}
  return (
    <section class="printed" aria-labelledby="unanswered-title">
      <h2 id="unanswered-title" tabIndex={-1} ref={heading}>
        Not known, and no longer answered
      </h2>
      <p>
        {label}, terminal <code>{terminalId}</code> of merchant <code>{merchantId}</code>. The service has
        refused this till: whether it booked these, it will not say here any more.
      </p>
      <ul>
        {payments.map(({ transactionId, amount, currency, timestamp }) => (
          <li key={transactionId}>
            {money(amount, currency)}, <Time at={timestamp} /> <code>{transactionId}</code>
          </li>
        ))}
      </ul>
      <p>
        <strong>The console says it, under Payments.</strong> What it lists there as accepted was charged.
        What it doesn’t list was not charged, and will not be.
      </p>
      <p class="quiet">
        As of <Time at={systemClock.now()} />, by the clock of this device.
      </p>
      <div class="not-printed">
        <p>
          Unpairing books nothing and takes nothing back. This till then shows these payments no more, and can
          never ask for them again.
        </p>
        <p>
          <button type="button" class="plain" onClick={(event) => printAround(event.currentTarget)}>
            Print this list
          </button>
        </p>
        <label class="switch">
          <input type="checkbox" onChange={(event) => (noted.value = event.currentTarget.checked)} /> I have
          this list on paper or wrote it down
        </label>
        <p class="actions">
          <button
            type="button"
            class="danger"
            aria-disabled={!noted.value || busy}
            onClick={() => noted.value && leave()}
          >
            Unpair, and leave {amounts} not known
          </button>
          <button type="button" class="plain" aria-disabled={busy} onClick={() => busy || keep()}>
            Keep this till paired
          </button>
        </p>
      </div>
    </section>
  )
}

const Unpair = () => {
  const typed = useSignal('')
  const problem = useSignal<string | undefined>(undefined)
  const unanswered = useSignal<readonly QueuedPayment[]>([])
  const busy = useSignal(false)
  const label = paired.value?.label ?? ''
  const run = async (agreed: readonly QueuedPayment[]): Promise<void> => {
    if (busy.value) return
    busy.value = true
    const against = await unpair(agreed.map(({ transactionId }) => transactionId)).catch(
      (error: unknown) =>
        `This device could not be unpaired: ${error instanceof Error ? error.message : error}. Load this page again.`,
    )
    busy.value = false
    problem.value = typeof against === 'string' ? against : undefined
    unanswered.value = typeof against === 'object' ? against : []
    // Whoever comes back from that list confirms anew.
    if (unanswered.value.length > 0) typed.value = ''
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    if (typed.value === label) void run([])
    else problem.value = `Type ${label} to confirm.`
  }
  return (
    <details class="box">
      <summary>Unpair this device</summary>
      {unanswered.value.length > 0 ? (
        <Unanswered
          key={unanswered.value.map(({ transactionId }) => transactionId).join()}
          payments={unanswered.value}
          busy={busy.value}
          leave={() => void run(unanswered.value)}
          keep={() => (unanswered.value = [])}
        />
      ) : (
        <form onSubmit={submit}>
          <p>
            Its secrets are removed from this device for good; the console has the terminal until it is
            revoked there. To confirm, type <strong>{label}</strong>.
          </p>
          <div class="field">
            <label for="unpair-name">Name of the till</label>
            <input
              id="unpair-name"
              autocomplete="off"
              aria-describedby="unpair-problem"
              aria-invalid={problem.value !== undefined}
              value={typed.value}
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
            <p class="error" id="unpair-problem" role="alert">
              {problem.value}
            </p>
          </div>
          <button type="submit" class="danger" aria-disabled={busy.value}>
            Unpair
          </button>
        </form>
      )}
    </details>
  )
}

/** Such as 12 h or 30 days. */
const ageText = (ms: number): string => {
  const hours = Math.round(ms / HOUR_MS)
  return hours % DAY_HOURS === 0 && hours > DAY_HOURS ? `${hours / DAY_HOURS} days` : `${hours} h`
}

export const SettingsPage = () => {
  const { currency } = settings.value
  const { limits, nullifiers } = status.value ?? {}
  const amount = (limit: number | undefined): string =>
    limit === undefined ? 'no limit' : money(limit, currency)
  return (
    <>
      <h1>This till</h1>
      <div class="field">
        <label for="currency">Currency</label>
        <select
          id="currency"
          value={currency}
          onChange={async ({ currentTarget: select }) => {
            await set({ currency: select.value })
            // Where it could not be kept, it is the one from before.
            select.value = settings.value.currency
          }}
        >
          {currencyCodes()
            .sort()
            .map((code) => (
              <option key={code} value={code}>
                {code}
              </option>
            ))}
        </select>
      </div>
      <dl>
        <dt>Name</dt>
        <dd>{paired.value?.label}</dd>
        <dt>Terminal</dt>
        <dd>{paired.value?.terminalId}</dd>
        <dt>Merchant</dt>
        <dd>{paired.value?.merchantId}</dd>
        <dt>Service</dt>
        <dd>{location.origin}</dd>
        <dt>Single payment, offline</dt>
        <dd>{amount(limits?.floorLimit)}</dd>
        <dt>Sum that may wait</dt>
        <dd>{amount(limits?.storedSumLimit)}</dd>
        <dt>Oldest that may wait</dt>
        <dd>{limits === undefined ? '' : ageText(limits.maxOfflineAgeMs)}</dd>
        <dt>Card tokens known as used</dt>
        <dd>{nullifiers}</dd>
      </dl>
      <p class="quiet">
        Limits are set in the console, for the terminal or its merchant. The secrets of this till are kept in
        this browser: whoever has the unlocked device can take payments with it. Revoke it in the console when
        it is lost.
      </p>
      <Unpair />
    </>
  )
}
