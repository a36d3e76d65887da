/**
 * The journal in IndexedDB: the same frames as on disk, one a row. Transactions are `durability: "strict"`, so that
 * they complete only once the browser has flushed them. A Web Lock keeps a second tab out.
 * @module
 */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { TerminalError } from '../errors.ts'
import { createDurableLog, framesOf, type Medium } from './durable-log.ts'
import { type ReadJournal, readJournal, type Salvage, salvageJournal } from './frame.ts'
import { voidRecord } from './records.ts'
import type { Storage } from './storage.ts'

const DEFAULT_NAME = 'assay-terminal'
const VERSION = 1
const FRAMES = 'frames'
const DAMAGED = 'damaged'
const STRICT = { durability: 'strict' } as const

interface Schema extends DBSchema {
  /** Keys count up. */
  [FRAMES]: { key: number; value: Uint8Array }
  /** Whole journals that were damaged, as they were. */
  [DAMAGED]: { key: number; value: Uint8Array }
}

const openDatabase = (name: string): Promise<IDBPDatabase<Schema>> =>
  openDB<Schema>(name, VERSION, {
    upgrade: (db) => {
      db.createObjectStore(FRAMES, { autoIncrement: true })
      db.createObjectStore(DAMAGED, { autoIncrement: true })
    },
  })

/**
 * Holds the Web Lock of a database until the returned function is called.
 * @throws TerminalError storage_locked while another tab or worker holds it; storage_failed in an insecure context
 */
const takeLock = (name: string): Promise<() => void> =>
  new Promise((resolve, reject) => {
    if (!isSecureContext) {
      // Elsewhere there is no navigator.locks, and two tabs could spoil one journal.
      throw new TerminalError(
        'storage_failed',
        'A terminal needs a page of a secure context: HTTPS or localhost.',
      )
    }
    const request = navigator.locks.request(`assay-terminal:${name}`, { ifAvailable: true }, (lock) => {
      if (!lock) {
        reject(
          new TerminalError(
            'storage_locked',
            `Another tab uses this terminal's storage (${name}). Only one may.`,
          ),
        )
        return undefined
      }
      return new Promise<void>((release) => resolve(release))
    })
    request.catch(reject)
  })

const concatenate = (frames: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(frames.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const frame of frames) {
    bytes.set(frame, offset)
    offset += frame.length
  }
  return bytes
}

/** Puts whole journals in place of the present one, in one transaction. */
const replaceFrames = async (
  db: IDBPDatabase<Schema>,
  frames: readonly Uint8Array[],
  damaged?: Uint8Array,
): Promise<void> => {
  const change = db.transaction([FRAMES, DAMAGED], 'readwrite', STRICT)
  const store = change.objectStore(FRAMES)
  await Promise.all([
    store.clear(),
    ...frames.map((frame) => store.add(frame)),
    ...(damaged ? [change.objectStore(DAMAGED).add(damaged)] : []),
    change.done,
  ])
}

const mediumOf = (db: IDBPDatabase<Schema>): Medium => ({
  write: async (frame) => {
    const change = db.transaction(FRAMES, 'readwrite', STRICT)
    await Promise.all([change.store.add(frame), change.done])
  },
  replace: (frames) => replaceFrames(db, frames),
  close: async () => db.close(),
})

/** Rows are written whole or not at all, so what disk storage would take for a torn last write is damage here. */
const readRows = (rows: readonly Uint8Array[]): ReadJournal => {
  const bytes = concatenate(rows)
  const journal = readJournal(bytes)
  if (journal.wholeBytes === bytes.length) return journal
  throw new TerminalError('journal_damaged', `The journal is damaged at byte ${journal.wholeBytes}.`)
}

const readOrCreate = async (db: IDBPDatabase<Schema>, name: string): Promise<ReadJournal> => {
  let rows = await db.getAll(FRAMES)
  if (rows.length === 0) {
    rows = framesOf({ records: [] })
    await replaceFrames(db, rows)
  }
  try {
    return readRows(rows)
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error
    throw new TerminalError(
      error.code,
      `${error.message} Database: ${name}. Nothing was changed. ` +
        `To keep every record that can still be read, call recoverIndexedDb('${name}') ` +
        '(and hand it the transaction ids of payments that were taken back).',
    )
  }
}

/**
 * Durable storage for browsers. One tab at a time.
 * @param name of the IndexedDB database; default `assay-terminal`
 */
export const indexedDbStorage = (name: string = DEFAULT_NAME): Storage => ({
  open: async () => {
    const unlock = await takeLock(name)
    try {
      // Asks the browser not to evict the journal when space is short. It may decline, or ask the user first.
      void navigator.storage?.persist?.().catch(() => false)
      const db = await openDatabase(name)
      try {
        const { contents, nextSequence } = await readOrCreate(db, name)
        const log = createDurableLog(mediumOf(db), contents, nextSequence)
        return {
          ...log,
          close: async () => {
            await log.close()
            unlock()
          },
        }
      } catch (error) {
        db.close()
        throw error
      }
    } catch (error) {
      unlock()
      throw error
    }
  },
})

/**
 * Replaces a damaged journal by what can still be read of it. The damaged one is kept in the store `damaged`.
 * @param takenBack transaction ids of payments that the application knows as void: what the journal has of them is not uploaded,
 *   though it can't be read any more that they were taken back
 * @returns undefined when the journal is whole and was left alone
 * @throws TerminalError storage_locked
 */
export const recoverIndexedDb = async (
  name: string = DEFAULT_NAME,
  takenBack: readonly string[] = [],
): Promise<Omit<Salvage, 'contents'> | undefined> => {
  const unlock = await takeLock(name)
  try {
    const db = await openDatabase(name)
    try {
      const rows = await db.getAll(FRAMES)
      try {
        readRows(rows)
        return undefined
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error
      }
      const bytes = concatenate(rows)
      const { contents, ...found } = salvageJournal(bytes)
      const records = [...contents.records, ...takenBack.map(voidRecord)]
      await replaceFrames(db, framesOf({ ...contents, records }), bytes)
      return found
    } finally {
      db.close()
    }
  } finally {
    unlock()
  }
}
