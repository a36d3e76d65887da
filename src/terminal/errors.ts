/** What can stop a terminal. A refused payment is no error: it is a result with `accepted: false`. @module */

/**
 * `storage_locked` another process or tab has it open · `journal_damaged` what was recorded can't be read in full ·
 * `storage_failed` nothing more can be recorded · `wrong_merchant` the storage belongs to another merchant ·
 * `invalid_options` the terminal was set up wrongly · `closed` it was closed.
 */
export type TerminalErrorCode =
  | 'storage_locked'
  | 'journal_damaged'
  | 'storage_failed'
  | 'wrong_merchant'
  | 'invalid_options'
  | 'closed'

/** Compare `code`, not the class: every bundle carries its own copy of it. */
export class TerminalError extends Error {
  readonly code: TerminalErrorCode
  constructor(code: TerminalErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'TerminalError'
    this.code = code
  }
}

/** The sentence of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
