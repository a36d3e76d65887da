/**
 * Uploads what waits, in batches. A payment leaves the queue only after the server named it: taken (synced) or
 * refused (kept as rejected). Whatever says nothing about it leaves it where it is; what the server refuses for now is put off,
 * so that it holds up no other.
 * @module
 */
import { MAX_SYNC_ITEMS, type SyncAnswer } from '../protocol/sync.ts'
import type { Book } from './book.ts'
import { type Delay, STEADY_PROBE_INTERVAL_MS, timerDelay } from './connectivity.ts'
import { messageOf } from './errors.ts'
import type { Events } from './events.ts'
import { type MerchantApi, ServerFault, wireOf } from './merchant-api.ts'
import type { JournalRecord } from './storage/records.ts'
import type { FlushReport, QueuedPayment, RejectedPayment, TerminalEvents } from './types.ts'

/** Pause after the second failed upload in a row; doubled after each further one. */
const FIRST_BACKOFF_MS = 1000
/** The longest pause of a server that answers, and of one that can't be reached: then probes say when it is back. */
const MAX_BACKOFF_MS = 60_000
const MAX_UNREACHED_BACKOFF_MS = STEADY_PROBE_INTERVAL_MS
/** How long what the server refuses for now is put off. */
const PUT_OFF_MS = 60_000

interface Deps {
  readonly merchantId: string
  readonly book: Book
  readonly api: Pick<MerchantApi, 'sync'>
  readonly events: Pick<Events, 'emit'>
  readonly record: (records: readonly JournalRecord[], apply: () => void) => Promise<void>
  /** The server could not be reached. */
  readonly onLost: () => void
  readonly delay?: Delay
}

export interface Flusher {
  /** Uploads now. @returns the running upload's report if there is one */
  flush(): Promise<FlushReport>
  /** The server answers: uploads if something waits, unless the last attempts failed or it asked for a pause. */
  wake(): void
  /** The server asked to be left alone so long. */
  hold(ms: number): void
  readonly lastError: string | undefined
  close(): Promise<void>
}

/** What the server said about one payment. */
type Verdict =
  | { readonly payment: QueuedPayment; readonly synced: TerminalEvents['synced']['status'] }
  | { readonly payment: QueuedPayment; readonly rejected: RejectedPayment }

/** What the server said about a batch. */
interface Verdicts {
  readonly final: readonly Verdict[]
  /** Refused for now: transaction id → why. */
  readonly putOff: ReadonlyMap<string, string>
}

/** Pairs the answer with what was sent. Who is not named, or named with another id, gets no verdict. */
const verdictsOf = (batch: readonly QueuedPayment[], answer: SyncAnswer): Verdicts => {
  const verdicts = new Map<number, Verdict>()
  const putOff = new Map<string, string>()
  for (const { index, transactionId, status } of answer.results) {
    const payment = batch[index]
    if (payment?.transactionId !== transactionId) continue
    if (status === 'synced' || status === 'duplicate' || status === 'late') {
      verdicts.set(index, { payment, synced: status })
    } else if (status === 'conflict' || status === 'rejected') {
      const error = answer.errors.find((candidate) => candidate.index === index)
      const { code, message } = error ?? { code: status, message: 'The server gave no reason.' }
      if (error?.retryable) putOff.set(transactionId, `${code}: ${message}`)
      else verdicts.set(index, { payment, rejected: { ...payment, status, code, message } })
    }
  }
  return { final: [...verdicts.values()], putOff }
}

const recordOf = (verdict: Verdict): JournalRecord =>
  'rejected' in verdict
    ? { kind: 'rejected', ...verdict.rejected }
    : { kind: 'synced', transactionId: verdict.payment.transactionId }

export const createFlusher = ({
  merchantId,
  book,
  api,
  events,
  record,
  onLost,
  delay = timerDelay,
}: Deps): Flusher => {
  let running: Promise<FlushReport> | undefined
  let failures = 0
  let pause: { readonly endsAt: number; cancel(): void } | undefined
  /** Refused for now, with why; left alone until its time is over, or somebody asks for an upload. */
  const putOff = new Map<string, string>()
  let cancelPutOff: (() => void) | undefined
  let lastError: string | undefined
  let closed = false

  const settle = async (verdicts: readonly Verdict[]): Promise<void> => {
    await record(verdicts.map(recordOf), () => {
      for (const verdict of verdicts) {
        if ('rejected' in verdict) book.reject(verdict.rejected)
        else book.settle(verdict.payment)
      }
    })
    for (const verdict of verdicts) {
      if ('rejected' in verdict) events.emit(verdict.rejected.status, verdict.rejected)
      else events.emit('synced', { ...verdict.payment, status: verdict.synced })
    }
  }

  const endPause = (): void => {
    pause?.cancel()
    pause = undefined
  }

  const pauseFor = (ms: number, then: () => void): void => {
    const endsAt = performance.now() + ms
    if (closed || ms <= 0 || (pause && pause.endsAt >= endsAt)) return
    endPause()
    const cancel = delay(ms, () => {
      pause = undefined
      then()
    })
    pause = { endsAt, cancel }
  }

  const failed = (error: unknown): void => {
    failures++
    lastError = messageOf(error)
    const backoffMs = failures === 1 ? 0 : FIRST_BACKOFF_MS * 2 ** (failures - 2)
    if (error instanceof ServerFault && !error.reached) {
      // The next probe that is answered uploads.
      pauseFor(Math.min(backoffMs, MAX_UNREACHED_BACKOFF_MS), () => {})
      onLost()
      return
    }
    const asked = error instanceof ServerFault ? error.retryAfterMs : undefined
    pauseFor(Math.max(asked ?? 0, Math.min(backoffMs, MAX_BACKOFF_MS), FIRST_BACKOFF_MS), wake)
  }

  /** Takes up again what was put off, all at once. */
  const takeUp = (): void => {
    cancelPutOff?.()
    cancelPutOff = undefined
    putOff.clear()
  }

  const putOffMore = (more: ReadonlyMap<string, string>): void => {
    for (const [transactionId, why] of more) putOff.set(transactionId, why)
    if (more.size === 0 || closed) return
    cancelPutOff ??= delay(PUT_OFF_MS, () => {
      takeUp()
      wake()
    })
  }

  const run = async (): Promise<FlushReport> => {
    const report = { synced: 0, conflicts: 0, rejected: 0 }
    let error: string | undefined
    try {
      while (book.queue.size > 0 && !closed) {
        const batch = book.nextBatch(MAX_SYNC_ITEMS, putOff)
        // What is left is about to be void, or put off.
        if (batch.length === 0) break
        const verdicts = verdictsOf(
          batch,
          await api.sync(batch.map((payment) => wireOf(payment, merchantId))),
        )
        if (verdicts.final.length + verdicts.putOff.size === 0)
          throw new ServerFault('The server named none of the payments it was sent.', true)
        putOffMore(verdicts.putOff)
        if (verdicts.final.length > 0) await settle(verdicts.final)
        for (const verdict of verdicts.final) {
          if (!('rejected' in verdict)) report.synced++
          else if (verdict.rejected.status === 'conflict') report.conflicts++
          else report.rejected++
        }
      }
      failures = 0
      ;[lastError] = putOff.values()
      error = lastError
      endPause()
    } catch (caught) {
      failed(caught)
      error = lastError
    } finally {
      running = undefined
    }
    return { ...report, pending: book.queue.size, ...(error !== undefined && { error }) }
  }

  const start = (): Promise<FlushReport> => {
    // Run later, since an upload that finds nothing ends at once: it must not clear `running` before it is set.
    running ??= Promise.resolve().then(run)
    return running
  }

  const wake = (): void => {
    if (book.queue.size > putOff.size && !pause && !closed) void start()
  }

  return {
    flush: () => {
      if (!running) takeUp()
      return start()
    },
    wake,
    hold: (ms) => pauseFor(ms, wake),
    get lastError() {
      return lastError
    },
    close: async () => {
      closed = true
      endPause()
      takeUp()
      await running
    },
  }
}
