/**
 * The offline payment terminal for any platform. `assay/terminal/node` and `assay/terminal/browser` export the same,
 * with storage that lasts.
 * @module
 */
import { openTerminal } from './terminal.ts'
import type { Terminal, TerminalOptions } from './types.ts'

export { TerminalError, type TerminalErrorCode } from './errors.ts'
export { memoryStorage, type OpenStorage, type Storage } from './storage/storage.ts'
export type {
  FlushReport,
  Limits,
  PaymentInput,
  PaymentResult,
  Pending,
  QueuedPayment,
  RejectedPayment,
  Status,
  Terminal,
  TerminalEvents,
  TerminalOptions,
} from './types.ts'

/**
 * Opens a terminal: restores what its storage holds and begins to look for the server. Needs no network.
 * @throws TerminalError invalid_options, storage_locked, journal_damaged, wrong_merchant
 */
export const createTerminal = (options: TerminalOptions): Promise<Terminal> =>
  openTerminal({
    ...options,
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock: options.clock ?? { now: () => Date.now() },
  })
