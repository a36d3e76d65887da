/**
 * What the ledger takes: a decision, which reads what is claimed and counted, and then writes. It is a function that waits
 * for nothing and does nothing else: the ledger runs it several times, and commits what the last run wrote.
 * @module
 */
import type { Row } from '../store/table.ts'
import type { Claim, ClaimKind } from './claim-kinds.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Kinds of entries, as the audit routes and webhooks name them. */
export type EntryType =
  | 'verify'
  | 'prove'
  | 'spend'
  | 'key.revoked'
  | 'gate'
  | 'attest'
  | 'payment'
  | 'revoke'
  | 'chat'
  | 'account'
  | 'hybrid_token'
  | 'ledger.poseidon_root'
  | 'ledger.head'

/** A fact to commit. Names never reach the log: `subject` is turned into a pseudonym. */
export interface Entry {
  readonly type: EntryType
  /**
   * Whom it is about: kind and id, such as `['terminal', 'ter_…']`; default: who asked. Never an id that is made for
   * the entry: everything the same subject does must count as one subject's.
   */
  readonly subject?: readonly [kind: string, id: string]
  /** Lower-case hex. */
  readonly digest?: string
  /** A canonical element of the BN254 scalar field: 32 bytes big-endian, lower-case hex. */
  readonly commitment?: string
  /** No personal data, no secrets. Members that are undefined are left out. */
  readonly data: { readonly [key: string]: Json | undefined }
  /** Beside the hashed entry, for followers. */
  readonly circuitId?: string
  readonly proofId?: string
  /** The key that it is about; default: the one that was used. */
  readonly keyId?: string
}

/** Who holds a claim. */
export interface Held {
  /** What was claimed with the key, or null. */
  readonly holder: Json
  /** Unix ms. */
  readonly at: number
}

/** Where an entry stands in the log. */
export interface Place {
  /** Which log, from 0. */
  readonly log: number
  readonly index: number
  readonly entryId: string
  /** Lower-case hex. */
  readonly leafHash: string
  /** Unix ms stamped into the entry. */
  readonly at: number
}

/** Where an entry stands, and the tree that carries it, in lower-case hex: that of its batch. */
export interface Receipt extends Place {
  readonly treeSize: number
  readonly root: string
}

/**
 * What a decision reads and writes, all in the organisation of its caller. Reads see what this decision has written, so
 * several may be made one after the other; within one, read first: only a throw takes back what was written, all of it.
 */
export interface Tx {
  /** Unix ms: the time of everything in the batch. */
  readonly at: number
  /** Who holds a key; undefined: it is free. */
  holder(kind: ClaimKind, key: string): Held | undefined
  /** Where a counter stands; 0: nothing was ever added. */
  counter(name: string): number
  /** Takes a free key, for good. @param holder kept with it; small @throws Error when it is held: look first */
  claim(kind: ClaimKind, key: string, holder?: Json): void
  /** @returns where the counter stands then @throws RangeError beyond the safe integers */
  add(counter: string, amount: number): number
  /** @throws Error when `data` holds NaN, infinity or itself, or the commitment is no field element */
  append(entry: Entry): Place
  write(row: Row): void
  /**
   * Ends a decision whose answer or rows need the tree, or take long to make of their place: `finish` runs once, when
   * everything in the batch is decided. It may still write rows. Pure, and made not to throw.
   */
  withRoot<R>(finish: (root: string, treeSize: number) => R): WithRoot<R>
}

/** An answer that waits for the tree. @see Tx.withRoot */
export class WithRoot<R> {
  readonly finish: (root: string, treeSize: number) => R
  constructor(finish: (root: string, treeSize: number) => R) {
    this.finish = finish
  }
}

/**
 * Decides what is written, and answers. Pure: ids, randomness and signatures are made before, and the time is `tx.at`. The first
 * run comes before anything is read, when every key looks free and every place is a stand-in: what it throws is forgotten.
 * Later ones know what was read. A throw writes nothing, and fails nobody else.
 */
export type Decide<R> = (tx: Tx) => R | WithRoot<R>

/** Part of a decision: whether what it rests on was changed since that was read. In the first run nothing was. */
export type IsOvertaken = (tx: Tx) => boolean

/** @param stood where the counter stood before all else was read @returns whether it has moved on since */
export const hasMoved =
  (counter: string, stood: number): IsOvertaken =>
  // Greater, not different: in the first run every counter is 0.
  (tx) =>
    tx.counter(counter) > stood

/** @param claims free when they were read @returns whether somebody holds one of them by now */
export const isTaken =
  (claims: readonly Claim[]): IsOvertaken =>
  (tx) =>
    claims.some((claim) => tx.holder(...claim) !== undefined)

/** @returns whether one of several was overtaken */
export const isAnyOvertaken =
  (parts: readonly IsOvertaken[]): IsOvertaken =>
  (tx) =>
    parts.some((part) => part(tx))

/** What is known of somebody or something, as facts for rules. */
export interface KnownFacts {
  readonly facts: Readonly<Record<string, unknown>>
  readonly isOvertaken: IsOvertaken
}
