/** Identifiers: a prefix that names the kind and a lower-case ULID (26 characters, sortable by time). @module */
import { randomFillSync } from 'node:crypto'
import { encodeTime, monotonicFactory } from 'ulid'

export type IdPrefix =
  | 'org'
  | 'acc'
  | 'ses'
  | 'key'
  | 'mer'
  | 'ter'
  | 'mtk'
  | 'txn'
  | 'pay'
  | 'ent'
  | 'alr'
  | 'req'
  | 'ver'
  | 'pod'
  | 'prx'
  | 'hmv'
  | 'dec'
  | 'agt'
  | 'dev'
  | 'prf'
  | 'chl'
  | 'tok'
  | 'hyt'
  | 'tkt'
  | 'cns'
  | 'kyc'
  | 'aml'
  | 'fnd'
  | 'aut'
  | 'bdg'
  | 'whk'
  | 'inv'

const POOL_BYTES = 4096
const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

/** A uniform fraction in [0, 1), one byte of a pooled CSPRNG read: all that a base-32 digit needs. */
const randomFraction = (): number => {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  return (pool[used++] as number) / 256
}

const next = monotonicFactory(randomFraction)

/** Characters of a ULID's time. */
const TIME_CHARACTERS = 10

/** What stands before every id that was made at a time or later. */
export const idsFrom = (prefix: IdPrefix, unixMs: number): string =>
  `${prefix}_${encodeTime(unixMs, TIME_CHARACTERS).toLowerCase()}`

/** `newId('key', now)` → `key_01j…`. @param unixMs time part of the ULID */
export const newId = (prefix: IdPrefix, unixMs: number): string => `${prefix}_${next(unixMs).toLowerCase()}`
