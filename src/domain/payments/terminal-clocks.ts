/**
 * Notices a terminal whose clock went back. Payments of an outage arrive after those that follow it, so order of
 * arrival says nothing: stamps are compared in the order of the nonces, which count a terminal's payments.
 * @module
 */
import { LRUCache } from 'lru-cache'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import { findTerminalClock, terminalClocks } from './store.ts'

/** Stamps that go back by more than this raise `clock_rollback`. */
export const MAX_ROLLBACK_MS = 5 * 60_000
/** A kept stamp is renewed when it falls behind by this much, so that not every payment writes a row. */
const KEEP_EVERY_MS = 60_000
const MAX_TERMINALS_IN_MEMORY = 10_000
const NONCES = 0x1_0000

interface Seen {
  nonce: number
  stampedAt: number
  /** What the database holds. */
  keptAt: number
}

/** Whether `nonce` was not counted before `last`; serial number arithmetic (RFC 1982), as nonces wrap at 2^16. */
const isNotBefore = (nonce: number, last: number): boolean => (nonce - last + NONCES) % NONCES < NONCES / 2

export interface TerminalClock {
  /**
   * Takes note of a payment's stamp.
   * @param nonce 0..65535, absent in compact proofs, which then count as the newest
   * @param stampedAt Unix ms
   * @returns whether the clock went back, and the row that keeps the new stamp, if it is time
   */
  observe(nonce: number | undefined, stampedAt: number): { rolledBack: boolean; row?: Row }
}

export const createTerminalClocks = ({ database }: { database: Database }) => {
  const terminals = new LRUCache<string, Seen>({ max: MAX_TERMINALS_IN_MEMORY })

  const load = async (terminal: string): Promise<Seen> => {
    const row = await findTerminalClock(database, terminal)
    const loaded = terminals.get(terminal) ?? {
      nonce: row?.nonce ?? 0,
      stampedAt: row?.stamped_at ?? 0,
      keptAt: row?.stamped_at ?? 0,
    }
    terminals.set(terminal, loaded)
    return loaded
  }

  return {
    /** The clock of a terminal, read from the database the first time. Synchronous where it is known. */
    of(terminal: string): TerminalClock | Promise<TerminalClock> {
      const clock = (seen: Seen): TerminalClock => ({
        observe(nonce = seen.nonce, stampedAt) {
          if (seen.stampedAt !== 0 && !isNotBefore(nonce, seen.nonce)) return { rolledBack: false }
          const rolledBack = stampedAt < seen.stampedAt - MAX_ROLLBACK_MS
          seen.nonce = nonce
          seen.stampedAt = rolledBack ? stampedAt : Math.max(seen.stampedAt, stampedAt)
          if (!rolledBack && seen.stampedAt - seen.keptAt < KEEP_EVERY_MS) return { rolledBack }
          seen.keptAt = seen.stampedAt
          return {
            rolledBack,
            row: terminalClocks.row({ terminal, nonce: seen.nonce, stamped_at: seen.stampedAt }),
          }
        },
      })
      const seen = terminals.get(terminal)
      return seen === undefined ? load(terminal).then(clock) : clock(seen)
    },

    /** Call where what was observed could not be written, so that it is read again from what was. */
    forget(terminal: string): void {
      terminals.delete(terminal)
    },
  }
}
