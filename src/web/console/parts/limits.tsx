/** What a merchant or a terminal may do while offline. @module */
import type { Limits } from '../../../domain/accounts/schemas.ts'
import { Field, Select, textIn } from './form.tsx'
import { number } from './text.tsx'

const HOUR_MS = 3_600_000
const NO_LIMIT = 'none'

const ASSURANCES = [
  { value: '', label: 'As usual' },
  { value: 'structural', label: 'The form of the proof' },
  { value: 'mac', label: 'The terminal’s signature' },
]

const amountIn = (values: FormData, name: string): number | 'none' | undefined => {
  const text = textIn(values, name).trim().toLowerCase()
  if (text === '') return undefined
  return text === NO_LIMIT ? NO_LIMIT : Number(text)
}

/** What was typed; what was left empty is left to the merchant or the defaults. */
export const limitsIn = (values: FormData): Limits => {
  const hours = textIn(values, 'limits.maxOfflineAgeMs')
  const minAssurance = textIn(values, 'limits.minAssurance')
  return {
    floorLimit: amountIn(values, 'limits.floorLimit'),
    storedSumLimit: amountIn(values, 'limits.storedSumLimit'),
    maxOfflineAgeMs: hours === '' ? undefined : Number(hours) * HOUR_MS,
    minAssurance: minAssurance === '' ? undefined : (minAssurance as Limits['minAssurance']),
  }
}

const AMOUNT_PATTERN = '[0-9]+([.][0-9]{1,2})?|none'

/** @param others who decides what is left empty */
export const LimitFields = ({ others }: { readonly others: string }) => (
  <fieldset class="field">
    <legend>Limits while offline</legend>
    <p class="hint">What is left empty is decided by {others}. “none” lifts a limit.</p>
    <Field
      name="limits.floorLimit"
      label="Greatest single payment"
      inputMode="decimal"
      pattern={AMOUNT_PATTERN}
    />
    <Field
      name="limits.storedSumLimit"
      label="Greatest sum waiting"
      inputMode="decimal"
      pattern={AMOUNT_PATTERN}
    />
    <Field
      name="limits.maxOfflineAgeMs"
      type="number"
      label="Greatest age at upload, in hours"
      min={1}
      max={8760}
      step="1"
    />
    <Select name="limits.minAssurance" label="What has to be checked" options={ASSURANCES} />
  </fieldset>
)

const amountText = (amount: number | 'none'): string => (amount === NO_LIMIT ? 'no limit' : number(amount))

export const LimitsText = ({ limits }: { readonly limits: Limits }) => {
  const { floorLimit, storedSumLimit, maxOfflineAgeMs, minAssurance } = limits
  const texts = [
    floorLimit !== undefined && `single payment ${amountText(floorLimit)}`,
    storedSumLimit !== undefined && `sum ${amountText(storedSumLimit)}`,
    maxOfflineAgeMs !== undefined && `age ${number(maxOfflineAgeMs / HOUR_MS)} h`,
    minAssurance === 'mac' && 'signature checked',
  ].filter((text) => text !== false)
  return <span class="words">{texts.length === 0 ? 'As usual' : texts.join(', ')}</span>
}
