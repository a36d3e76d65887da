/** The device: what it is paired with, its currency, its limits. @module */
import { useSignal } from '@preact/signals'
import { currencyCodes } from '../../protocol/currency.ts'
import { money } from './report.ts'
import { paired, set, settings, status, unpair } from './till.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

const Unpair = () => {
  const typed = useSignal('')
  const problem = useSignal<string | undefined>(undefined)
  const label = paired.value?.label ?? ''
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    problem.value = typed.value === label ? await unpair() : `Type ${label} to confirm.`
  }
  return (
    <details class="box">
      <summary>Unpair this device</summary>
      <form onSubmit={submit}>
        <p>
          Its secrets are removed from this device for good; the console has the terminal until it is revoked
          there. To confirm, type <strong>{label}</strong>.
        </p>
        <div class="field">
          <label for="unpair-name">Name of the till</label>
          <input
            id="unpair-name"
            autocomplete="off"
            aria-describedby="unpair-problem"
            aria-invalid={problem.value !== undefined}
            onInput={(event) => (typed.value = event.currentTarget.value)}
          />
          <p class="error" id="unpair-problem" role="alert">
            {problem.value}
          </p>
        </div>
        <button type="submit" class="danger">
          Unpair
        </button>
      </form>
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
          onChange={(event) => void set({ currency: event.currentTarget.value })}
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
