/** Taking one payment: amount, card token, and what became of it. @module */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { PaymentMethod } from '../../protocol/sync.ts'
import { Receipt } from './receipt.tsx'
import type { State } from './records.ts'
import { amountOf, MAX_DIGITS, money, NEAR, STATE_WORDS, usedOf } from './report.ts'
import { hasNfc, readCard, Scan } from './scan.tsx'
import { type Decision, deciding, decision, entering, next, pay, pending, settings, status } from './till.ts'

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'] as const

/** Codes of refusals, for those who stand at the till. */
const REASONS: Readonly<Record<string, string>> = {
  DOUBLE_SPEND: 'This card token was used before.',
  LIMIT_EXCEEDED: 'Above what this till may take while it is offline.',
  pan_not_allowed: 'This is a card number. Take the card token of the purchase instead.',
  storage_failed: 'This device could not keep the payment. Is its storage full?',
  storage_locked: 'This till is open in another window.',
  validation_failed: 'Something is missing.',
}

/** What to do where nobody knows whether the service has booked a payment. */
export const ASK_AGAIN =
  'Take the same card token and amount again once this till is online: it is charged once. Take no other card before.'

/** `code: sentence`, as terminals answer. */
const refusalOf = (error: string): { readonly word: string; readonly detail: string } => {
  const [code = '', ...rest] = error.split(': ')
  return { word: REASONS[code] ?? rest.join(': '), detail: error }
}

interface Words {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly heading: string
  readonly text: string
}

const REFUSED_LATER = 'The service refused it later. No money comes of it: talk to the customer.'

/** What has become of an accepted payment, where it is more than its state says. */
const ACCEPTED: Readonly<Partial<Record<State, Words>>> = {
  booked: { tone: 'good', heading: 'Accepted', text: 'The service has booked it.' },
  waiting: {
    tone: 'warn',
    heading: 'Accepted',
    text: 'Kept on this device. It is uploaded as soon as the service can be reached.',
  },
  void: { tone: 'bad', heading: 'Void', text: 'It was taken back before its upload: nothing is charged.' },
  conflict: { tone: 'bad', heading: 'Refused later', text: REFUSED_LATER },
  rejected: { tone: 'bad', heading: 'Refused later', text: REFUSED_LATER },
}

const wordsOf = ({ result, sale }: Decision, refusal: string): Words => {
  if (result.accepted)
    return ACCEPTED[sale.state] ?? { tone: 'warn', heading: 'Accepted', text: `${STATE_WORDS[sale.state]}.` }
  if (result.undecided)
    return {
      tone: 'warn',
      heading: 'Not known',
      text: `The service was asked and may have booked it. ${ASK_AGAIN}`,
    }
  return { tone: 'bad', heading: 'Refused', text: refusal }
}

const Result = (decided: Decision) => {
  const { result, sale, tookMs } = decided
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useSignal(false)
  useEffect(() => heading.current?.focus(), [])
  const refusal = refusalOf(result.error ?? '')
  const { tone, heading: title, text } = wordsOf(decided, refusal.word)
  return (
    <section class="result" data-tone={tone} aria-labelledby="result-title">
      <h1 id="result-title" tabIndex={-1} ref={heading}>
        {title}
      </h1>
      <p class="sum">{money(sale.amount, sale.currency)}</p>
      <p>{text}</p>
      <p class="quiet">
        {result.accepted ? <code>{result.transactionId}</code> : <code>{refusal.detail}</code>}
        <br />
        Decided in {Math.max(1, Math.round(tookMs))} ms
      </p>
      <p class="actions">
        <button type="button" onClick={next}>
          Next payment
        </button>
        {result.accepted && (
          <button type="button" class="plain" onClick={() => (shown.value = !shown.value)}>
            {shown.value ? 'Hide receipt' : 'Receipt'}
          </button>
        )}
      </p>
      {shown.value && <Receipt sale={sale} />}
    </section>
  )
}

/** What comes near a limit is said before it refuses a payment. */
const Limits = () => {
  const { currency } = settings.value
  const { limits, online } = status.value ?? {}
  const used = usedOf(limits?.storedSumLimit, pending.value.sums[currency])
  if (limits === undefined) return null
  const { floorLimit, storedSumLimit } = limits
  return (
    <div class="limits">
      {!online && floorLimit !== undefined && (
        <p>Offline, a payment may be at most {money(floorLimit, currency)}.</p>
      )}
      {storedSumLimit !== undefined && used !== undefined && (
        <p data-near={used >= NEAR}>
          <label for="stored">
            {money(Number(pending.value.sums[currency] ?? 0), currency)} of {money(storedSumLimit, currency)}{' '}
            that may wait
          </label>
          <meter id="stored" min={0} max={1} high={NEAR} value={used} />
          {used >= NEAR && <strong>Connect soon: beyond it, payments are refused.</strong>}
        </p>
      )}
    </div>
  )
}

const Keypad = ({ press }: { press(key: string): void }) => (
  <fieldset class="keypad">
    <legend class="visually-hidden">Amount</legend>
    {KEYS.map((key) => (
      <button key={key} type="button" class="plain" onClick={() => press(key)}>
        {key}
      </button>
    ))}
    <button type="button" class="plain" aria-label="Delete the last digit" onClick={() => press('back')}>
      ⌫
    </button>
  </fieldset>
)

type Source = 'camera' | 'card' | undefined

/** The card token: typed, scanned, or read from a card. Blanks and line ends around it are none of it. */
const CardToken = ({ taken }: { taken(token: string, method: PaymentMethod | undefined): void }) => {
  const source = useSignal<Source>(undefined)
  const said = useSignal('')
  const field = useRef<HTMLInputElement>(null)
  const reading = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => reading.current?.abort(new Error('left')), [])
  const take = (read: string, method: PaymentMethod): void => {
    const token = read.trim()
    source.value = undefined
    if (field.current !== null) field.current.value = token
    taken(token, method)
  }
  const tap = async (): Promise<void> => {
    reading.current?.abort(new Error('again'))
    const abort = new AbortController()
    reading.current = abort
    said.value = 'Hold the card to the back of this device.'
    try {
      take(await readCard(abort.signal), 'nfc')
      said.value = 'Read.'
    } catch (error) {
      if (!abort.signal.aborted)
        said.value = `The card can’t be read: ${error instanceof Error ? error.message : error}`
    }
  }
  return (
    <div class="field">
      <label for="card-token">
        Card token <span class="quiet">one per purchase, no card number</span>
      </label>
      <input
        id="card-token"
        name="cardToken"
        ref={field}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => taken(event.currentTarget.value.trim(), undefined)}
      />
      <p class="actions">
        <button type="button" class="plain" onClick={() => (source.value = 'camera')}>
          Scan QR code
        </button>
        {hasNfc() && (
          <button type="button" class="plain" onClick={tap}>
            Read card
          </button>
        )}
      </p>
      <p role="status">{said.value}</p>
      {source.value === 'camera' && (
        <Scan what="card token" found={(text) => take(text, 'qr')} close={() => (source.value = undefined)} />
      )}
    </div>
  )
}

/** A fresh one for every payment. */
const Entry = () => {
  const digits = useSignal('')
  const token = useSignal('')
  const method = useRef<PaymentMethod | undefined>(undefined)
  const { currency } = settings.value
  const amount = amountOf(digits.value, currency)
  const press = (key: string): void => {
    const changed = key === 'back' ? digits.value.slice(0, -1) : `${digits.value}${key}`.replace(/^0+/, '')
    if (changed.length <= MAX_DIGITS) digits.value = changed
  }
  const typed = (event: KeyboardEvent): void => {
    // Such as Ctrl+0, which sets the zoom.
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
    if (/^\d$/.test(event.key)) press(event.key)
    else if (event.key === 'Backspace') press('back')
  }
  useEffect(() => {
    addEventListener('keydown', typed)
    return () => {
      removeEventListener('keydown', typed)
      entering.value = false
    }
  }, [])
  useEffect(() => {
    entering.value = digits.value !== '' || token.value !== ''
  }, [digits.value, token.value])
  const ready = amount > 0 && token.value !== '' && !deciding.value
  const submit = (event: Event): void => {
    event.preventDefault()
    if (ready) void pay({ cardToken: token.value, amount, currency, paymentMethod: method.current })
  }
  return (
    <form class="entry" onSubmit={submit}>
      <h1 class="visually-hidden">Take a payment</h1>
      <output class="sum" aria-label="Amount" aria-live="polite">
        {money(amount, currency)}
      </output>
      <Keypad press={press} />
      <CardToken
        taken={(text, by) => {
          token.value = text
          method.current = by
        }}
      />
      <button type="submit" class="pay" aria-disabled={!ready}>
        {deciding.value ? 'Deciding…' : `Take ${money(amount, currency)}`}
      </button>
      <Limits />
    </form>
  )
}

export const Sell = () => (decision.value === undefined ? <Entry /> : <Result {...decision.value} />)
