/**
 * Where a terminal keeps its records. A storage is opened by one terminal at a time; what it holds is a snapshot of
 * the nullifier set and the records since.
 * @module
 */
import { messageOf, TerminalError } from '../errors.ts'
import type { Contents, JournalRecord } from './records.ts'

export interface Storage {
  /**
   * Takes the storage for this terminal alone and gives back what it holds.
   * @throws TerminalError storage_locked, journal_damaged
   */
  open(): Promise<OpenStorage>
}

export interface OpenStorage {
  readonly contents: Contents
  /**
   * Records all or nothing. `apply` runs once they are durable and before anything later is written, so that the
   * terminal's memory always equals what a restart would read. Where it throws, they are recorded all the same, and nothing
   * more is until the storage is opened again.
   * @throws TerminalError storage_failed, and then `apply` has not run
   */
  append(records: readonly JournalRecord[], apply: () => void): Promise<void>
  /** Replaces everything by what `capture` returns, atomically. Appends made meanwhile follow it. */
  rewrite(capture: () => Contents): Promise<void>
  /** Waits for what has begun. */
  close(): Promise<void>
}

/** @param error why nothing is recorded */
export const storageFailed = (error: unknown): TerminalError =>
  new TerminalError('storage_failed', `The terminal could not record: ${messageOf(error)}`, error)

/** Keeps records in memory: they outlive the terminal, not the process. For tests, benches and kiosks that may forget. */
export const memoryStorage = (): Storage => {
  let contents: Contents = { records: [] }
  let records: JournalRecord[] = []
  let taken = false
  return {
    open: async () => {
      if (taken) throw new TerminalError('storage_locked', 'This memory storage is used by another terminal.')
      taken = true
      let isOpen = true
      /** What `apply` threw, after which the terminal lacks what is recorded. */
      let broken: unknown
      const expectWhole = (): void => {
        if (!isOpen) throw new TerminalError('storage_failed', 'This memory storage was closed.')
        if (broken !== undefined) throw storageFailed(broken)
      }
      return {
        contents: { ...contents, records: [...records] },
        append: async (added, apply) => {
          expectWhole()
          for (const record of added) records.push(record)
          try {
            apply()
          } catch (error) {
            broken = error
          }
        },
        rewrite: async (capture) => {
          expectWhole()
          contents = capture()
          records = [...contents.records]
        },
        close: async () => {
          isOpen = false
          taken = false
        },
      }
    },
  }
}
