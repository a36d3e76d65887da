/** What this till took: what waits, what needs somebody, and the report of the shift. @module */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { systemClock } from '../../clock.ts'
import { printAround } from './printing.ts'
import { Receipt, Time } from './receipt.tsx'
import { MAX_LISTED, type Sale } from './records.ts'
import { money, STATE_WORDS, sumsText, totalsOf } from './report.ts'
import { ASK_AGAIN } from './sell.tsx'
import {
  isShiftCut,
  paired,
  pending,
  sales,
  set,
  settings,
  status,
  takeBack,
  undecided,
  upload,
  voidable,
} from './till.ts'

/** As a `ref`: has the focus once it is there. */
const takeFocus = (element: HTMLElement | null): void => element?.focus()

/** Something that is asked once more before it is done. The focus goes to the answer that changes nothing, and back to the question. */
const useQuestion = () => {
  const isAsked = useSignal(false)
  const wasAsked = useRef(false)
  return {
    isAsked: isAsked.value,
    ask(): void {
      wasAsked.current = true
      isAsked.value = true
    },
    end(): void {
      isAsked.value = false
    },
    /** Of the button that asks. */
    backRef: wasAsked.current ? takeFocus : undefined,
  }
}

/** Newer ones first, so many more each time; the report counts all of them. */
const SHOWN_AT_ONCE = 50

const Waiting = () => {
  const { count, sums } = pending.value
  const busy = useSignal(false)
  if (count === 0) return <p>Nothing waits for upload.</p>
  const uploadNow = async (): Promise<void> => {
    busy.value = true
    await upload()
    busy.value = false
  }
  return (
    <>
      <p>
        {count} {count === 1 ? 'payment waits' : 'payments wait'} for upload: {sumsText(sums)}.
      </p>
      {status.value?.lastError !== undefined && (
        <p class="error" role="alert">
          The last upload failed: {status.value.lastError}
        </p>
      )}
      <p>
        <button type="button" class="plain" aria-disabled={busy.value} onClick={uploadNow}>
          Upload now
        </button>
      </p>
    </>
  )
}

/** Accepted here, refused by the service: no money comes of it unless somebody acts. */
const Attention = () => {
  const refused = status.value?.rejected ?? []
  if (refused.length === 0) return null
  return (
    <section class="notice" data-tone="bad" aria-labelledby="attention-title">
      <h2 id="attention-title">Accepted here, then refused</h2>
      <p>
        These were taken offline, and the service refused them later. They will not be paid; talk to the
        customer.
      </p>
      <ul>
        {refused.map(({ transactionId, amount, currency, timestamp, message }) => (
          <li key={transactionId}>
            {money(amount, currency)}, <Time at={timestamp} />: {message} <code>{transactionId}</code>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Asked about, and not answered: a second card would be a second charge, if it was booked. */
const Unknown = () =>
  undecided.value.length === 0 ? null : (
    <section class="notice" data-tone="warn" aria-labelledby="unknown-title">
      <h2 id="unknown-title">Not known</h2>
      <p>The service was asked about these, and its answer never arrived. {ASK_AGAIN}</p>
      <ul>
        {undecided.value.map(({ transactionId, amount, currency, timestamp }) => (
          <li key={transactionId}>
            {money(amount, currency)}, <Time at={timestamp} /> <code>{transactionId}</code>
          </li>
        ))}
      </ul>
    </section>
  )

const Row = ({ sale }: { readonly sale: Sale }) => {
  const open = useSignal(false)
  const { isAsked, ask, end, backRef } = useQuestion()
  const { transactionId } = sale
  const mayVoid = voidable.value.includes(transactionId)
  return (
    <li>
      <p>
        <strong>{money(sale.amount, sale.currency)}</strong> <Time at={sale.at} />
        <br />
        {STATE_WORDS[sale.state]}
        {sale.reason !== undefined && <small> {sale.reason}</small>}
      </p>
      <p class="actions">
        <button
          type="button"
          class="plain"
          aria-expanded={open.value}
          onClick={() => (open.value = !open.value)}
        >
          Receipt<span class="visually-hidden"> of {transactionId}</span>
        </button>
        {mayVoid && !isAsked && (
          <button type="button" class="plain" ref={backRef} onClick={ask}>
            Void<span class="visually-hidden"> {transactionId}</span>
          </button>
        )}
      </p>
      {mayVoid && isAsked && (
        <p class="actions" role="alert">
          It was not uploaded yet. Void for good?
          <button
            type="button"
            class="danger"
            onClick={() => {
              end()
              void takeBack(transactionId)
            }}
          >
            Void {money(sale.amount, sale.currency)}
          </button>
          <button type="button" class="plain" ref={takeFocus} onClick={end}>
            Keep it
          </button>
        </p>
      )}
      {open.value && <Receipt sale={sale} />}
    </li>
  )
}

const Shift = () => {
  const { isAsked, ask, end, backRef } = useQuestion()
  const totals = totalsOf(sales.value)
  return (
    <section class="report printed" aria-labelledby="shift-title">
      <h2 id="shift-title">This shift</h2>
      <p>
        {paired.value?.label}, since <Time at={settings.value.shiftSince} />. By the clock of this device.
      </p>
      {totals.length === 0 ? (
        <p>No payment yet.</p>
      ) : (
        <table>
          <caption class="visually-hidden">Sums of the shift</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Payments</th>
              <th scope="col">Sum</th>
            </tr>
          </thead>
          <tbody>
            {totals.map(({ state, currency, count, sum }) => (
              <tr key={`${state} ${currency}`}>
                <th scope="row">{STATE_WORDS[state]}</th>
                <td>{count}</td>
                <td>{money(sum, currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {isShiftCut.value && (
        <p>
          <strong>Older ones of this shift are not counted</strong>, if there are any: this device lists its
          last {MAX_LISTED.toLocaleString()} payments. The console has all that were uploaded.
        </p>
      )}
      <p class="actions not-printed">
        <button type="button" class="plain" onClick={(event) => printAround(event.currentTarget)}>
          Print report
        </button>
        {isAsked ? (
          <>
            <button
              type="button"
              onClick={async () => {
                await set({ shiftSince: systemClock.now() })
                end()
              }}
            >
              Begin a new shift
            </button>
            <button type="button" class="plain" ref={takeFocus} onClick={end}>
              Go on with this one
            </button>
          </>
        ) : (
          <button type="button" class="plain" ref={backRef} onClick={ask}>
            Close shift
          </button>
        )}
      </p>
    </section>
  )
}

const List = () => {
  const shown = useSignal(SHOWN_AT_ONCE)
  if (sales.value.length === 0) return null
  return (
    <section aria-labelledby="list-title">
      <h2 id="list-title">Newest first</h2>
      <ul class="sales">
        {sales.value.slice(0, shown.value).map((sale) => (
          <Row key={sale.transactionId} sale={sale} />
        ))}
      </ul>
      {sales.value.length > shown.value && (
        <p>
          <button type="button" class="plain" onClick={() => (shown.value += SHOWN_AT_ONCE)}>
            Show more
          </button>
        </p>
      )}
    </section>
  )
}

export const Payments = () => (
  <>
    <h1>Payments of this till</h1>
    <Waiting />
    <Unknown />
    <Attention />
    <Shift />
    <List />
  </>
)
