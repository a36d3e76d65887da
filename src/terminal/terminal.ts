/**
 * The offline payment terminal: restores what it knows, then decides on payments. What one payment goes through
 * stands in payment.ts.
 * @module
 */
import {
  type Core,
  createCore,
  createNullifierSet,
  MERCHANT_LIMIT_BYTES,
  NULLIFIER_SEED_BYTES,
  type NullifierSet,
  restoreNullifierSet,
} from '../core/index.ts'
import type { QueuedTransaction, TerminalState } from '../protocol/sync.ts'
import { createBook } from './book.ts'
import { createConnectivity } from './connectivity.ts'
import { messageOf, TerminalError } from './errors.ts'
import { createEvents } from './events.ts'
import { createFlusher } from './flush.ts'
import { checkLimits, checkTimeouts, effectiveLimits } from './limits.ts'
import { createMerchantApi } from './merchant-api.ts'
import { createCashier } from './payment.ts'
import { formatMinorUnits, minorUnitsOf } from './payment-input.ts'
import { type JournalRecord, type Restored, restore, voidRecord } from './storage/records.ts'
import type { OpenStorage } from './storage/storage.ts'
import type { Pending, QueuedPayment, Status, Terminal, TerminalOptions } from './types.ts'

/** A journal is rewritten once this many records came on top of twice what must be kept of it. */
const REWRITE_AFTER_RECORDS = 4096
/** One record weighs as much as this many entries of the nullifier set. */
const NULLIFIERS_PER_RECORD = 16
const MAX_EXTRA_RECORDS = 65_536

const invalid = (message: string): TerminalError => new TerminalError('invalid_options', message)

/** @throws TerminalError invalid_options */
const checkOptions = (options: TerminalOptions): void => {
  const { baseUrl, apiKey, merchantId, terminalId, terminalSecret } = options
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw invalid(`baseUrl must be an http or https address, not ${baseUrl}`)
  }
  if (typeof apiKey !== 'string' || apiKey === '') throw invalid('apiKey is required')
  const merchantBytes = typeof merchantId === 'string' ? new TextEncoder().encode(merchantId).length : 0
  if (merchantBytes === 0 || merchantBytes > MERCHANT_LIMIT_BYTES) {
    throw invalid(`merchantId is required, 1 to ${MERCHANT_LIMIT_BYTES} bytes of UTF-8`)
  }
  if ((terminalId === undefined) !== (terminalSecret === undefined)) {
    throw invalid('terminalId and terminalSecret are needed together')
  }
  try {
    checkLimits(options.limits ?? {})
    checkTimeouts(options.timeouts ?? {})
  } catch (error) {
    throw invalid(messageOf(error))
  }
}

const openNullifiers = (snapshot: Uint8Array | undefined): NullifierSet => {
  if (!snapshot)
    return createNullifierSet({ seed: crypto.getRandomValues(new Uint8Array(NULLIFIER_SEED_BYTES)) })
  try {
    return restoreNullifierSet(snapshot)
  } catch (error) {
    throw new TerminalError(
      'journal_damaged',
      `The snapshot of used cards is damaged: ${messageOf(error)}`,
      error,
    )
  }
}

/** The last two bytes of a stored proof, big-endian. */
const nonceReader =
  (core: Core) =>
  (proof: string): number | undefined => {
    const [high, low] = core.base64urlDecode(proof)?.subarray(-2) ?? []
    return high === undefined || low === undefined ? undefined : high * 256 + low
  }

/** Makes the storage this merchant's, or finds that it is. */
const bindStorage = async (storage: OpenStorage, restored: Restored, merchantId: string): Promise<void> => {
  if (restored.merchantId === undefined) {
    await storage.append([{ kind: 'terminal', merchantId }], () => {})
  } else if (restored.merchantId !== merchantId) {
    throw new TerminalError(
      'wrong_merchant',
      `This storage holds payments of merchant ${restored.merchantId}, not of ${merchantId}.`,
    )
  }
}

/** What the queue holds besides some payments, as the server is told. */
const queuedBesides = (
  queue: ReadonlyMap<string, QueuedPayment>,
  besides: readonly QueuedTransaction[],
): TerminalState['queued'] => {
  const left = new Map(queue)
  for (const { transactionId } of besides) if (transactionId !== undefined) left.delete(transactionId)
  const sums = new Map<string, bigint>()
  for (const { currency, amount } of left.values())
    sums.set(currency, (sums.get(currency) ?? 0n) + minorUnitsOf(amount, currency))
  const sum = Array.from(sums, ([currency, minor]) => ({
    currency,
    amount: Number(formatMinorUnits(minor, currency)),
  }))
  return { count: left.size, sum }
}

/** Options with nothing left open. */
export type ResolvedOptions = TerminalOptions & Required<Pick<TerminalOptions, 'fetch' | 'clock'>>

/**
 * Opens the storage, restores the terminal and begins to look for the server. Uses no network before it returns.
 * @throws TerminalError invalid_options, storage_locked, journal_damaged, wrong_merchant
 */
export const openTerminal = async (options: ResolvedOptions): Promise<Terminal> => {
  checkOptions(options)
  const storage = await options.storage.open()
  try {
    return await runTerminal(options, storage)
  } catch (error) {
    await storage.close()
    throw error
  }
}

const runTerminal = async (options: ResolvedOptions, storage: OpenStorage): Promise<Terminal> => {
  const { merchantId, clock, limits: ownLimits = {} } = options
  const core = createCore()
  const restored = restore(storage.contents.records, nonceReader(core))
  await bindStorage(storage, restored, merchantId)
  const book = createBook(core, openNullifiers(storage.contents.nullifiers), restored)
  const events = createEvents()
  let serverLimits = restored.limits
  let limits = effectiveLimits(ownLimits, serverLimits)
  let recordsSinceRewrite = storage.contents.records.length
  let rewriting = false
  let closing: Promise<void> | undefined

  const record = (records: readonly JournalRecord[], apply: () => void): Promise<void> => {
    recordsSinceRewrite += records.length
    const done = storage.append(records, apply)
    const kept = 2 * (book.queue.size + book.rejected.length)
    const nullifierShare = Math.min(book.nullifiers / NULLIFIERS_PER_RECORD, MAX_EXTRA_RECORDS)
    if (!rewriting && recordsSinceRewrite > REWRITE_AFTER_RECORDS + kept + nullifierShare) void rewrite()
    return done
  }

  /** A rewrite that fails, such as on a full disk, leaves the journal as it was and is tried again later. */
  const rewrite = async (): Promise<void> => {
    rewriting = true
    recordsSinceRewrite = 0
    const capture = () =>
      book.contents([
        { kind: 'terminal', merchantId },
        ...(serverLimits ? [{ kind: 'limits' as const, limits: serverLimits }] : []),
        { kind: 'nonce', last: cashier.lastNonce },
      ])
    await storage.rewrite(capture).catch(() => {})
    rewriting = false
  }

  const api = createMerchantApi({
    ...options,
    baseUrl: options.baseUrl.replace(/(?<!\/)\/+$/, ''),
    onLimits: (received) => {
      if (JSON.stringify(received) === JSON.stringify(serverLimits)) return
      serverLimits = received
      limits = effectiveLimits(ownLimits, serverLimits)
      // They hold from now on; that a restart forgets them when this fails does no harm, they come with every token.
      record([{ kind: 'limits', limits: received }], () => {}).catch(() => {})
    },
    queued: (besides) => queuedBesides(book.queue, besides),
  })
  const connectivity = createConnectivity({
    ask: api.health,
    onChange: (online) => {
      events.emit(online ? 'online' : 'offline', undefined)
      if (online) void api.prepare()
    },
    onAnswer: () => flusher.wake(),
  })
  const flusher = createFlusher({ merchantId, book, api, events, record, onLost: connectivity.lost })
  const cashier = createCashier({
    prover: core.loadKey(options.apiKey),
    merchantId,
    lastNonce: restored.lastNonce,
    book,
    api,
    clock,
    events,
    record,
    connectivity,
    uploads: flusher,
    limits: () => limits,
  })
  connectivity.start()

  const ifOpen = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => {
    return (...args: A): Promise<R> =>
      closing ? Promise.reject(new TerminalError('closed', 'The terminal was closed.')) : run(...args)
  }

  const probe = async (): Promise<boolean> => {
    const online = await connectivity.probe()
    if (online) await api.prepare()
    return online
  }

  const close = async (): Promise<void> => {
    api.abort()
    await Promise.all([connectivity.close(), flusher.close(), cashier.close()])
    await storage.close()
  }

  const pending = (): Pending => {
    const sums = Array.from(book.sums, ([currency, minor]) => [currency, formatMinorUnits(minor, currency)])
    return { count: book.queue.size, sums: Object.fromEntries(sums), transactions: [...book.queue.values()] }
  }

  const takeBack = async (transactionId: string): Promise<boolean> => {
    const payment = book.takeBack(transactionId)
    if (payment === undefined) return false
    try {
      await record([voidRecord(transactionId)], () => book.void(payment, true, true))
    } catch (error) {
      book.putBack(payment)
      throw error
    }
    events.emit('voided', payment)
    return true
  }

  const status = (): Status => ({
    online: connectivity.online,
    pending: book.queue.size,
    rejected: [...book.rejected],
    nullifiers: book.nullifiers,
    limits,
    ...(flusher.lastError !== undefined && { lastError: flusher.lastError }),
  })

  return {
    pay: ifOpen(cashier.pay),
    flush: ifOpen(flusher.flush),
    probe: ifOpen(probe),
    pending,
    void: ifOpen(takeBack),
    undecided: book.undecided,
    voidable: () => [...book.unsent],
    status,
    on: events.on,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
