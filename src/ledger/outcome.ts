/** What became of a ledger commit whose connection broke: its first entry is looked for. @module */
import type { Database } from '../store/database.ts'
import { settled } from '../store/transactions.ts'
import { lockAndReadHead, readEntryId } from './reads.ts'
import type { Head, Resolution } from './resolve.ts'

/** A transaction whose commit is about to be sent. */
export interface Pending {
  readonly head: Head
  readonly resolution: Resolution
}

/**
 * Runs `work`, which tells what it is about to commit, and finds out what became of it if the connection breaks.
 * @throws ConnectionLost when nothing was committed, AppError unavailable when nobody can say
 */
export const settledByEntry = (
  database: Database,
  work: (commits: (pending: Pending) => void) => Promise<Pending>,
): Promise<Pending> =>
  settled(database, work, ({ head, resolution: { firstEntryId } }) =>
    // A change without an entry leaves nothing to look for.
    firstEntryId === undefined
      ? undefined
      : async (session) => {
          await lockAndReadHead(session)
          return (await readEntryId(session, head.size)) === firstEntryId
        },
  )
