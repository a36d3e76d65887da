/**
 * What the service knows natively of one circuit: how a caller's inputs become a statement that is proved, and what
 * has to hold beside the pairing before a proof counts as verified. One for each circuit, in statements/.
 * @module
 */
import type { TSchema } from 'typebox'
import type { Caller } from '../../caller.ts'
import type { Circuit, Provable } from '../../circuits/circuit.ts'
import { AppError } from '../../errors.ts'
import type { Json } from '../../ledger/decision.ts'
import type { Expectation } from '../../rules/expectation.ts'

/** What is proved, as `ctx` binds it: hashes and public values, never data. JSON that JCS can write. */
export type Stated = Readonly<Record<string, Json>>

/** What every proof mixes in; a circuit takes what it has signals for. */
export interface ProofBinding {
  /** `contextElement`: of audience, organisation, circuit, statement, nonce and expiry. */
  readonly ctx: bigint
  /** `scopeElement` of audience and purpose. */
  readonly scope: bigint
  /** Fresh randomness of 248 bits. */
  readonly salt: bigint
  /** Unix seconds, for the public signal `now`. */
  readonly now: bigint
}

/** A statement that is ready to be proved. */
export interface Prepared {
  /** Bound by `ctx` and kept with the proof, together with `purpose` and `subject` (a keyed hash). */
  readonly statement: Stated
  /** Why the decision is NO where that isn't simply that the rules don't hold; told and logged. */
  readonly reason?: string
  /** Unix ms: when it ends at the latest. */
  readonly expiresAt?: number | null
  /** Whom the entry in the ledger is about, as kind and id; the log holds a pseudonym of it. */
  readonly subject?: readonly [kind: string, id: string]
  /**
   * How what the inputs present differs from what is expected of it. Absent: nothing can be expected of it.
   * @param now Unix ms @throws AppError validation_failed for what can't apply
   */
  differs?(expect: Expectation, now: number): readonly ReasonCode[]
  /**
   * May be called more than once. @throws RangeError for values that no witness exists for, {@link falseStatement}
   */
  signals(binding: ProofBinding): Provable
}

/** A proof as it was stored. */
export interface ProofRecord {
  /** `prf_…` */
  readonly proofId: string
  readonly organisation: string
  readonly circuitId: string
  /** Lower-case hex; `proofDigest`. */
  readonly digest: string
  readonly publicSignals: readonly string[]
  /** What `ctx` binds; null where the proof was made elsewhere and only its signals are known. */
  readonly context: StoredContext | null
  /** Unix ms. */
  readonly createdAt: number
  /** Unix ms. */
  readonly expiresAt: number | null
}

export interface StoredContext {
  /** With `purpose` (of the scope; `proof` where none is named) and `subject` (a keyed hash), where it was given. */
  readonly statement: Stated
  readonly nonce: string
  /** Of the scope, where it is not the statement that names it. */
  readonly purpose?: string
  /** Only of a proof that somebody else made. */
  readonly elsewhere?: Elsewhere
}

/** What a proof made elsewhere is bound to instead of this service and the organisation that has it on record. */
export interface Elsewhere {
  readonly aud: string
  readonly org: string
  /** The organisation of this service that issued what is proved of; null where none that was accepted did. */
  readonly issuer: string | null
}

/** A proof whose pairing holds, that is known, and whose signals are the stored ones. */
export interface Checked {
  readonly caller: Caller
  readonly publicSignals: readonly string[]
  readonly record: ProofRecord
  /** What the record's `ctx` binds. */
  readonly statement: Stated
  /** Unix ms. */
  readonly now: number
}

/** A word that tells why a proof is not verified. All of them stand in docs/proofs.md. */
export type ReasonCode = Uppercase<string>

/** A proof that another one stands for. */
export interface StatedMember {
  /** Lower-case hex; `proofDigest`. */
  readonly digest: string
  /** What it said when it was attested. */
  readonly decision: number
}

/** What a proof shows, which may yet turn out not to hold. */
export type Shown = Pick<Checked, 'publicSignals' | 'statement'>

/** How a circuit's proofs lead to whoever vouches for them, and what a YES of theirs says to others. */
export interface Vouched {
  /** The organisation that issued what is proved of; undefined where none of this service did. */
  issuer(shown: Shown): Promise<string | undefined>
  /** A YES in one sentence of the service's own: nobody can choose a word of it. */
  sentence(shown: Shown): string
  /** Whether a YES shows somebody whom the issuer has checked. */
  isPerson(shown: Shown): boolean
}

/**
 * Which organisation issued what a proof spends, the id of a consent, and when it is over (Unix ms; null: that doesn't stand there);
 * undefined: none of this service, or it has been over for a day.
 */
export type IssuerLookup = (
  circuitId: string,
  spent: bigint,
) => Promise<
  | { readonly organisation: string; readonly consent: string | null; readonly expiresAt: number | null }
  | undefined
>

/** A counter of the ledger that moves on where something takes the place of what a proof shows. */
export interface Superseding {
  /** Whose it is, where it is not that of the organisation that asks. */
  readonly otherIssuer: string | undefined
  readonly counter: string
  /** Where it stands at most as long as the proof counts. */
  readonly stood: number
  /** Why the proof is not verified any more. */
  readonly reason: ReasonCode
}

export interface Statement {
  /** The circuit's mapper. A statement whose circuit is not in the catalogue is not offered. */
  readonly circuit: Circuit<string>
  /** The output that is 1 for YES and 0 for NO; null where a proof exists of a YES only. */
  readonly decision: string | null
  /**
   * The output that is spent with the digest, so that a re-proof under another nonce can't be spent again. 0 is no value of it: of such
   * a proof nothing can be spent. Absent: only the digest is spent.
   */
  readonly spends?: string
  /** Whether what the issuer has spent of it counts for other organisations, too: a token that is used up. */
  readonly issuerSpends?: true
  /**
   * Whether proofs must tell the status of what was issued, in the output `disclosedStatus`: always, or unless their statement does
   * without it (`disclose` "0"). Absent: the circuit has no such output.
   */
  readonly status?: 'required' | 'waivable'
  /** Absent: nobody vouches for what is proved, since whoever makes the proof chooses what it is about. */
  readonly vouched?: Vouched
  /** Whether it evaluates rules, so that its decision is that of whoever asks by rules or by policy. */
  readonly provesRules?: true
  /** Schema of `inputs` as callers send them. */
  readonly inputs: TSchema
  /**
   * From a caller's inputs, which fit the schema, to what is proved. @param at Unix ms
   * @throws AppError inputs_insufficient, not_provable, validation_failed (paths begin at the inputs), not_found
   */
  prepare(caller: Caller, inputs: unknown, at: number): Promise<Prepared> | Prepared
  /** The proofs that it stands for: they are looked up again with it, and spent with it. Absent: for none but itself. */
  readonly members?: (statement: Stated) => readonly StatedMember[]
  /**
   * Names what has one record only, such as a payment: another proof of it is not recorded, and gets the id of the first.
   * @returns undefined where nothing is known of what the signals are about
   */
  recordedOnce?(caller: Caller, publicSignals: readonly string[]): Promise<string | undefined>
  /** What may take the place of what a proof shows without revoking it. Absent: nothing. */
  superseding?(
    asked: Pick<Checked, 'caller' | 'publicSignals' | 'statement'>,
  ): Promise<Superseding | undefined>
  /**
   * Whether what it shows, a YES, is over by now, where the proof leads to what was issued: asked of members, whose `now` was compared
   * with the clock only once. Absent: `check` finds it, or it has no end.
   * @param now Unix ms
   */
  isOver?(publicSignals: readonly string[], now: number): Promise<boolean>
  /**
   * The native checks of this circuit: a code for each that fails. The service itself has compared the signals with the
   * stored ones, recomputed `ctx` and `scope`, held `now` within 120 seconds of the clock, and asks for expiry, spending
   * and revocation.
   */
  check(asked: Checked): Promise<readonly ReasonCode[]> | readonly ReasonCode[]
}

export const STATEMENT_FALSE = 'STATEMENT_FALSE'

/** What is asked for isn't so, and the circuit has no way of proving that: 422 with reason STATEMENT_FALSE. */
export const falseStatement = (message: string, cause?: unknown): AppError =>
  new AppError('not_provable', { message, reason: STATEMENT_FALSE, cause })

export const isFalseStatement = (error: unknown): error is AppError =>
  error instanceof AppError && error.reason === STATEMENT_FALSE
