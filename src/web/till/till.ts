/**
 * The till's one terminal and what is shown of it. State is kept in signals; whatever changes it does so here.
 * @module
 */
import { signal } from '@preact/signals'
import { systemClock } from '../../clock.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { Pairing } from '../../protocol/terminal-pairing.ts'
import {
  createTerminal,
  indexedDbStorage,
  type PaymentInput,
  type PaymentResult,
  type Pending,
  type QueuedPayment,
  recoverIndexedDb,
  type Status,
  type Terminal,
  TerminalError,
} from '../../terminal/browser.ts'
import { MAX_LISTED, openRecords, type Records, type Sale, type Settings, type State } from './records.ts'

const DEFAULT_CURRENCY = 'GBP'
/** Sums that wait, the age of the oldest, and the link are looked at this often. */
const REFRESH_MS = 1000
/** How long the service may take to say whether it takes a terminal. */
const STANDING_TIMEOUT_MS = 15_000
/** The codes with which the service refuses the credentials of a terminal. A 401 without one comes from something in between. */
const CREDENTIALS_REFUSED: readonly unknown[] = ['unauthorized', 'invalid_credentials']

export type Phase =
  | { readonly state: 'starting' }
  | { readonly state: 'unpaired'; readonly problem?: string }
  /** The terminal can't be opened; `again` may help. */
  | { readonly state: 'stuck'; readonly code: string; readonly message: string }
  | { readonly state: 'open' }

/** A decision on a payment, as it is shown. */
export interface Decision {
  readonly result: PaymentResult
  /** As it is now: an accepted payment may be uploaded, void or refused while this is shown. */
  readonly sale: Sale
  /** From the press of the button until the answer. */
  readonly tookMs: number
}

const EMPTY: Pending = { count: 0, sums: {}, transactions: [] }

export const phase = signal<Phase>({ state: 'starting' })
export const paired = signal<Pairing | undefined>(undefined)
export const pending = signal<Pending>(EMPTY)
/** Asked about, and not answered. */
export const undecided = signal<readonly QueuedPayment[]>([])
export const voidable = signal<readonly string[]>([])
export const status = signal<Status | undefined>(undefined)
/** Of this shift. */
export const sales = signal<readonly Sale[]>([])
/** Whether all that is listed is of this shift, so that older ones of it may have made room. */
export const isShiftCut = signal(false)
export const settings = signal<Settings>({ currency: DEFAULT_CURRENCY, shiftSince: 0 })
/** The device keeps off the network because somebody wants it so. */
export const offNetwork = signal(false)
export const deciding = signal(false)
/** Whether an amount or a card token stands in the form, and is not taken yet. */
export const entering = signal(false)
/** Last one first taken away by `next`. */
export const decision = signal<Decision | undefined>(undefined)
/** What went wrong beside payments, in words for people. */
export const problem = signal<string | undefined>(undefined)
/** What is lost after a recovery. */
interface Loss {
  /** Newest first. */
  readonly payments: readonly Sale[]
  /** Which card tokens were used before may no longer be known. */
  readonly cardsForgotten: boolean
}

/** Until somebody has read it. */
export const loss = signal<Loss | undefined>(undefined)

let records: Records
let terminal: Terminal | undefined

/** Each terminal has a journal of its own, so that nothing mixes when a device is paired anew. */
const journalOf = ({ terminalId }: Pairing): string => `assay-terminal-${terminalId}`

const isOwn = ({ terminalId }: Sale): boolean => terminalId === paired.value?.terminalId

const reached: typeof fetch = (input, init) =>
  offNetwork.value
    ? Promise.reject(new TypeError('This till is in airplane mode.'))
    : globalThis.fetch(input, init)

const refresh = (): void => {
  if (terminal === undefined) return
  pending.value = terminal.pending()
  voidable.value = terminal.voidable()
  undecided.value = deciding.value ? undecided.value : terminal.undecided()
  status.value = terminal.status()
}

/** Those of this terminal: the device may have been another one before. */
const readSales = async (): Promise<void> => {
  const since = await records.sales(settings.value.shiftSince)
  sales.value = since.filter(isOwn)
  isShiftCut.value = since.length >= MAX_LISTED
}

/** Changes what is listed; that a list can't be written must undo no payment and keep no till closed: the journal has them. */
const listing = async (change: () => Promise<void>): Promise<void> => {
  try {
    await change()
    await readSales()
  } catch (error) {
    problem.value = `The list of payments could not be written: ${error instanceof Error ? error.message : error}`
  }
}

/** Lists what happened. */
const list = (sale: Sale): Promise<void> => listing(() => records.put(sale))

const saleOf = (payment: QueuedPayment, state: State, reason?: string): Sale => ({
  transactionId: payment.transactionId,
  terminalId: paired.value?.terminalId ?? '',
  amount: payment.amount,
  currency: payment.currency,
  at: payment.timestamp,
  state,
  ...(reason !== undefined && { reason }),
})

const follow = (opened: Terminal): void => {
  const told = (payment: QueuedPayment, state: State, reason?: string): void => {
    refresh()
    const sale = saleOf(payment, state, reason)
    const shown = decision.value
    if (shown?.sale.transactionId === sale.transactionId) decision.value = { ...shown, sale }
    void list(sale)
  }
  opened.on('online', refresh)
  opened.on('offline', refresh)
  opened.on('queued', (payment) => told(payment, 'waiting'))
  opened.on('synced', (payment) => told(payment, payment.status === 'late' ? 'late' : 'booked'))
  opened.on('voided', (payment) => told(payment, 'void'))
  opened.on('conflict', (payment) => told(payment, 'conflict', payment.message))
  opened.on('rejected', (payment) => told(payment, 'rejected', payment.message))
}

/** What is listed of payments that waited and are in the journal no more. */
type Gone = Extract<State, 'unknown' | 'lost'>

/**
 * The journal knows best: what it holds is listed so, also where this page was closed before it could list it. Uploads may go
 * on meanwhile, so it is asked once more right before each write; what it tells later is written later.
 */
const reconcile = async (opened: Terminal, gone: Gone): Promise<void> => {
  const isWaiting = (id: string) => opened.pending().transactions.some((one) => one.transactionId === id)
  const isRejected = (id: string) => opened.status().rejected.some((one) => one.transactionId === id)
  for (const payment of opened.pending().transactions) {
    const listed = await records.find(payment.transactionId)
    if (listed?.state !== 'waiting' && isWaiting(payment.transactionId))
      await records.put(saleOf(payment, 'waiting'))
  }
  for (const payment of opened.status().rejected) {
    if ((await records.find(payment.transactionId))?.state !== payment.status)
      await records.put(saleOf(payment, payment.status, payment.message))
  }
  for (const { transactionId } of await records.sales(0)) {
    const sale = await records.find(transactionId)
    if (sale?.state !== 'waiting' || !isOwn(sale)) continue
    if (!isWaiting(transactionId) && !isRejected(transactionId)) await records.put({ ...sale, state: gone })
  }
}

/** Says why the terminal can't be opened. */
export const stuckBy = (error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error)
  phase.value = {
    state: 'stuck',
    code: error instanceof TerminalError ? error.code : 'storage_failed',
    message,
  }
}

/** Opens the terminal of a pairing. Uses no network. */
const open = async (pairing: Pairing, gone: Gone = 'unknown'): Promise<void> => {
  paired.value = pairing
  try {
    const { terminalId, terminalSecret, apiKey, merchantId } = pairing
    terminal = await createTerminal({
      baseUrl: location.origin,
      terminalId,
      terminalSecret,
      apiKey,
      merchantId,
      storage: indexedDbStorage(journalOf(pairing)),
      fetch: reached,
    })
  } catch (error) {
    stuckBy(error)
    return
  }
  const opened = terminal
  follow(opened)
  await listing(() => reconcile(opened, gone))
  refresh()
  phase.value = { state: 'open' }
}

/**
 * Reads what is kept, and opens the terminal where there is one; says so where it can't. Another window may have paired this device
 * anew since it was read, and storage that failed may be there again.
 */
export const again = async (): Promise<void> => {
  phase.value = { state: 'starting' }
  try {
    records?.close()
    records = await openRecords()
    settings.value = (await records.settings()) ?? {
      currency: DEFAULT_CURRENCY,
      shiftSince: systemClock.now(),
    }
    paired.value = await records.pairing()
  } catch (error) {
    stuckBy(error)
    return
  }
  if (paired.value === undefined) phase.value = { state: 'unpaired' }
  else await open(paired.value)
}

export const start = async (): Promise<void> => {
  setInterval(refresh, REFRESH_MS)
  await again()
}

const ownSales = async (state: State): Promise<Sale[]> =>
  (await records.sales(0)).filter((sale) => sale.state === state && isOwn(sale))

/** Replaces a damaged journal by what can be read of it; the damaged one is kept. Says what is missing. */
export const recover = async (): Promise<void> => {
  if (paired.value === undefined) return
  // Pressed again, it would find the journal in use by itself.
  phase.value = { state: 'starting' }
  let cardsForgotten = false
  try {
    // That a payment was taken back may be among what can't be read: it must not be uploaded after all.
    const takenBack = (await ownSales('void')).map(({ transactionId }) => transactionId)
    const salvage = await recoverIndexedDb(journalOf(paired.value), takenBack)
    cardsForgotten = salvage !== undefined && (salvage.nullifiersLost || salvage.paymentsLost)
    await open(paired.value, 'lost')
  } catch (error) {
    stuckBy(error)
    return
  }
  await listing(async () => {
    loss.value = { payments: await ownSales('lost'), cardsForgotten }
  })
}

/** What the service says of a terminal's credentials: the status where it is another one, undefined where it doesn't answer. */
type Standing = 'taken' | 'refused' | number | undefined

/** Asks the service whether it takes a terminal. No payment is part of that, so none is booked by it. */
const standingOf = async (
  { apiKey, terminalId, terminalSecret }: Pairing,
  send: typeof fetch,
): Promise<Standing> => {
  try {
    const answer = await send('/api/merchant/terminals/authenticate', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ terminalId, terminalSecret }),
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(STANDING_TIMEOUT_MS),
    })
    if (answer.ok) return 'taken'
    const body: unknown = await answer.json().catch(() => undefined)
    const isRefused = answer.status === 401 && isObject(body) && CREDENTIALS_REFUSED.includes(body.error)
    return isRefused ? 'refused' : answer.status
  } catch {
    return undefined
  }
}

/**
 * Makes this device the terminal, with a shift that begins now, once the service has said that it is one.
 * @returns what is wrong, in words for people @throws where it can't be kept on this device; then nothing of it is
 */
export const pair = async (pairing: Pairing): Promise<string | undefined> => {
  const standing = await standingOf(pairing, globalThis.fetch)
  if (standing === undefined)
    return `${location.host} does not answer. Pairing needs the network; payments don’t.`
  if (standing === 'refused')
    return 'The service knows no such terminal. It may have been revoked: create another in the console.'
  if (standing !== 'taken') return `The service answered with status ${standing}. Try again in a minute.`
  const kept = await records.pair(pairing, { ...settings.value, shiftSince: systemClock.now() })
  if (kept.pairing.terminalId !== pairing.terminalId)
    return `This device is ${kept.pairing.label} already: another window was paired meanwhile. Go on there, or load this page again.`
  problem.value = undefined
  settings.value = kept.settings
  await open(kept.pairing)
  return undefined
}

/** Why this till can't be unpaired whatever the service says, in words for people. */
const reasonToStay = (): string | undefined => {
  refresh()
  if (deciding.value) return 'A payment is being decided.'
  if (pending.value.count > 0)
    return 'Payments wait for upload. Connect first: they could never be uploaded without the secrets of this till.'
  return undefined
}

const NOT_KNOWN = 'Of a payment it isn’t known whether the service has booked it.'

/**
 * Forgets the secrets of this device. An undecided payment stands against it as long as the service may still answer for it: until
 * the service itself refuses this till, and somebody has agreed to leave that payment. It stays undecided in the journal.
 * @param agreed transaction ids of the undecided payments that may be left so
 * @returns what stands against it, in words for people; or, where the service answers for them no more, the undecided payments
 *   that somebody has to agree to first
 */
export const unpair = async (
  agreed: readonly string[] = [],
): Promise<string | readonly QueuedPayment[] | undefined> => {
  const reason = reasonToStay()
  if (reason !== undefined || paired.value === undefined) return reason
  if (undecided.value.length > 0) {
    const standing = await standingOf(paired.value, reached)
    if (standing === 'taken')
      return `${NOT_KNOWN} Take it again first, with the same card token. Where that isn’t possible any more, revoke this till in the console; then it can be unpaired.`
    if (standing !== 'refused')
      return `${NOT_KNOWN} The service did not say whether it still takes this till. Try again once it can be reached.`
    // A payment may have been taken while the service was asked.
    const since = reasonToStay()
    if (since !== undefined) return since
    if (!undecided.value.every(({ transactionId }) => agreed.includes(transactionId))) return undecided.value
  }
  await terminal?.close()
  terminal = undefined
  await records.unpair()
  paired.value = undefined
  status.value = undefined
  // The next terminal may be another merchant's.
  decision.value = undefined
  sales.value = []
  problem.value = undefined
  loss.value = undefined
  phase.value = { state: 'unpaired' }
  return undefined
}

const write = async (changes: Partial<Settings>): Promise<void> => {
  problem.value = undefined
  const changed = { ...settings.value, ...changes }
  try {
    await records.set(changed)
  } catch (error) {
    problem.value = `The change could not be kept on this device: ${error instanceof Error ? error.message : error}`
    return
  }
  settings.value = changed
  await listing(async () => undefined)
}

/** The last change of settings. */
let written = Promise.resolve()

/** Changes settings, one change after the other, or says why they stay as they were. */
export const set = (changes: Partial<Settings>): Promise<void> => {
  written = written.then(() => write(changes))
  return written
}

/** One press, one payment: presses while one is being decided do nothing. */
export const pay = async (input: PaymentInput & { readonly currency: string }): Promise<void> => {
  if (terminal === undefined || deciding.value) return
  problem.value = undefined
  deciding.value = true
  const startedAt = performance.now()
  try {
    const result = await terminal.pay(input)
    const sale: Sale = {
      transactionId: result.transactionId,
      terminalId: paired.value?.terminalId ?? '',
      amount: input.amount,
      currency: input.currency,
      at: systemClock.now(),
      state: result.synced ? 'booked' : 'waiting',
    }
    // What waits is listed by its event, and may have been booked since.
    if (result.synced) await list(sale)
    decision.value = { result, sale, tookMs: performance.now() - startedAt }
  } catch (error) {
    // What a terminal can foresee is a result.
    problem.value = `The payment was not decided: ${error instanceof Error ? error.message : error} Look under Payments whether it is listed, then take it again with the same card token.`
  } finally {
    deciding.value = false
    refresh()
  }
}

/** Makes way for the next payment. */
export const next = (): void => {
  decision.value = undefined
}

/** Makes a payment void, or says why it isn't. */
export const takeBack = async (transactionId: string): Promise<void> => {
  problem.value = undefined
  try {
    const isVoid = await terminal?.void(transactionId)
    if (isVoid === false) problem.value = 'Not void: its upload had begun. It may be booked.'
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error
    problem.value = error.message
  } finally {
    refresh()
  }
}

/** Uploads what waits, now. Why it failed is in the status, until an upload gets through. */
export const upload = async (): Promise<void> => {
  problem.value = undefined
  await terminal?.flush()
  refresh()
}

export const keepOffNetwork = async (on: boolean): Promise<void> => {
  offNetwork.value = on
  await terminal?.probe()
  refresh()
}
