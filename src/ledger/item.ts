/**
 * What the ledger takes: a change as a value. It says what must be unique (claims), what must suffice (takes),
 * what is written (rows, entry) and what the caller gets (result). Nothing in it awaits anything.
 * @module
 */
import type { ErrorCode } from '../errors.ts'
import type { Row } from '../store/table.ts'

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
  /** No personal data, no secrets. */
  readonly data: { readonly [key: string]: Json }
  /** Beside the hashed entry, for followers. */
  readonly circuitId?: string
  readonly proofId?: string
  /** The key that it is about; default: the one that was used. */
  readonly keyId?: string
}

/** A key that may be held once per organisation and kind. */
export interface Claim {
  readonly kind: string
  readonly key: string
  /** Kept with the claim and shown to whoever loses it; small. */
  readonly holder?: Json
  /** What the loser fails with, unless the item says what to do instead. */
  readonly code: ErrorCode
  /** Only asks: lost when somebody holds the key, but never takes it. */
  readonly look?: boolean
}

/**
 * A guarded counter: adds `amount` to `counter` if the sum stays ≤ `limit`, else does as `otherwise` says, else the
 * item fails with `code`, unless it says what to do instead.
 */
export interface Take {
  readonly counter: string
  readonly amount: number
  readonly limit: number
  readonly code: ErrorCode
  /** Taken instead when this one is used up. */
  readonly otherwise?: Take
}

/** Where an entry landed. Hashes are lower-case hex; `treeSize` and `root` are those of the batch that carried it. */
export interface Receipt {
  readonly index: number
  readonly entryId: string
  readonly leafHash: string
  readonly treeSize: number
  readonly root: string
  /** Unix ms stamped into the entry. */
  readonly at: number
}

/** Who holds a claim that was lost. `at` is Unix ms. */
export interface Held {
  readonly claim: Claim
  readonly holder: Json
  readonly at: number
}

/** A change that commits an entry. */
export interface Item<R> {
  readonly claims?: readonly Claim[]
  readonly takes?: readonly Take[]
  readonly entry: Entry
  /** Further entries, which stand behind it in the log. */
  readonly more?: readonly Entry[]
  /** Pure row builder, called once everything is won. */
  readonly rows?: (receipt: Receipt) => readonly Row[]
  /** @param taken what each of the takes left its counter at, in their order */
  readonly result: (receipt: Receipt, taken: readonly number[]) => R
  /**
   * What to do when a claim is lost: another item (its claims a subset, by kind and key, of this one's) or a
   * settled answer that writes nothing. May throw an AppError. Absent: fails with the claim's code.
   */
  readonly lost?: (held: Held) => Item<R> | Settled<R>
  /**
   * What to do when a take does not fit: another item, as for `lost`, or a settled answer. Nothing is taken then.
   * May throw an AppError. Absent: fails with the take's code.
   * @param value where the counter stands
   */
  readonly exceeded?: (take: Take, value: number) => Item<R> | Settled<R>
}

/** An answer without an entry, such as a repeated request's first answer. */
export interface Settled<R> {
  readonly settled: R
}
