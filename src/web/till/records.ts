/**
 * What the till keeps beside the journal of its terminal: what it was paired with, and a list of its payments for receipts
 * and reports. The journal alone decides on payments; where the two differ, the journal is right.
 * @module
 */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Pairing } from '../../protocol/terminal-pairing.ts'

const DATABASE = 'assay-till'
const VERSION = 1
/** Older ones make room. The service keeps every payment. */
export const MAX_LISTED = 5000

/**
 * What became of a payment. `unknown`: it waits no more, and this page was closed before it could hear why. `lost`: it waited, and
 * can't be read since the journal was damaged.
 */
export type State = 'booked' | 'waiting' | 'late' | 'void' | 'conflict' | 'rejected' | 'unknown' | 'lost'

export interface Sale {
  readonly transactionId: string
  /** Of the terminal that took it: a device may have been another one before. */
  readonly terminalId: string
  /** Major units. */
  readonly amount: number
  readonly currency: string
  /** Unix ms, by this device. */
  readonly at: number
  readonly state: State
  /** Why, where the service refused it later. */
  readonly reason?: string
}

export interface Settings {
  /** ISO 4217. */
  readonly currency: string
  /** Unix ms at which the present shift began. */
  readonly shiftSince: number
}

interface Schema extends DBSchema {
  kept: { key: 'pairing' | 'settings'; value: Pairing | Settings }
  sales: { key: string; value: Sale; indexes: { at: number } }
}

export type Records = Awaited<ReturnType<typeof openRecords>>

const open = (): Promise<IDBPDatabase<Schema>> =>
  openDB<Schema>(DATABASE, VERSION, {
    upgrade: (db) => {
      db.createObjectStore('kept')
      db.createObjectStore('sales', { keyPath: 'transactionId' }).createIndex('at', 'at')
    },
  })

export const openRecords = async () => {
  const db = await open()

  /** Removes the oldest beyond the limit. */
  const makeRoom = async (): Promise<void> => {
    const extra = (await db.count('sales')) - MAX_LISTED
    if (extra <= 0) return
    const oldest = await db.getAllKeysFromIndex('sales', 'at', undefined, extra)
    await Promise.all(oldest.map((id) => db.delete('sales', id)))
  }

  return {
    close: () => db.close(),
    pairing: () => db.get('kept', 'pairing') as Promise<Pairing | undefined>,
    /**
     * Keeps a pairing with the settings that begin with it, or neither; unless one is kept, whose secrets would be lost: another
     * window may be pairing as well.
     * @returns what is kept now
     */
    async pair(
      pairing: Pairing,
      begun: Settings,
    ): Promise<{ readonly pairing: Pairing; readonly settings: Settings }> {
      const { store, done } = db.transaction('kept', 'readwrite')
      const earlier = (await store.get('pairing')) as Pairing | undefined
      if (earlier !== undefined)
        return {
          pairing: earlier,
          settings: ((await store.get('settings')) as Settings | undefined) ?? begun,
        }
      await Promise.all([store.put(begun, 'settings'), store.put(pairing, 'pairing'), done])
      return { pairing, settings: begun }
    },
    async unpair(): Promise<void> {
      await db.delete('kept', 'pairing')
    },
    settings: () => db.get('kept', 'settings') as Promise<Settings | undefined>,
    async set(settings: Settings): Promise<void> {
      await db.put('kept', settings, 'settings')
    },
    /** Newest first, taken since a time. */
    async sales(since: number): Promise<Sale[]> {
      return (await db.getAllFromIndex('sales', 'at', IDBKeyRange.lowerBound(since))).reverse()
    },
    find: (transactionId: string): Promise<Sale | undefined> => db.get('sales', transactionId),
    /** Adds it, or says what became of it. */
    async put(sale: Sale): Promise<void> {
      await db.put('sales', sale)
      await makeRoom()
    },
  }
}
