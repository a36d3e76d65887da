/** Proofs as the service hands them around; the wire forms are made of these. @module */
import type { Tier } from '../../circuits/proving/prover.ts'
import type { Receipt } from '../../ledger/decision.ts'
import type { SnarkProof } from '../../protocol/zk1.ts'
import type { Binding, ProofContext } from '../../rules/encode.ts'
import type { Expectation } from '../../rules/expectation.ts'
import type { UsageCategory } from '../usage/schemas.ts'
import type { BoundContext } from './binding.ts'
import type { ProofRecording } from './recording.ts'
import type { ProofDecision } from './spending/acceptance.ts'
import type { Prepared, ReasonCode, StoredContext } from './statement.ts'

/** A proof that is asked for. */
export interface ProofAsk {
  readonly circuitId: string
  readonly prepared: Prepared
  readonly category: UsageCategory
  /** Bound by `ctx`; default: random. */
  readonly nonce?: string
  /** Default: the proof never expires. */
  readonly ttlSeconds?: number
  /** What nullifiers are scoped to, beside the service; default: `defaultPurpose`. */
  readonly purpose?: string
  /** An id of the caller's. Only keyed hashes of it are kept and bound. */
  readonly subject?: string
  /** 32 bytes that open the circuit's commitment, see `saltElement`; default: random, and forgotten. */
  readonly salt?: Uint8Array
  /** Default `paying`. */
  readonly tier?: Tier
}

/** A proof that was made, before it is committed. */
export interface MadeProof {
  /** `prf_…` */
  readonly proofId: string
  readonly circuitId: string
  /** Lower-case hex; `proofDigest`. */
  readonly digest: string
  readonly proof: SnarkProof
  readonly publicSignals: readonly string[]
  /** From the public signals. */
  readonly decision: 0 | 1
  /** Why it is 0, where that isn't simply that the rules don't hold. */
  readonly reason?: string
  /** What `ctx` is the hash of. */
  readonly context: BoundContext
  /** Unix ms. */
  readonly createdAt: number
  /** Unix ms. */
  readonly expiresAt: number | null
  /** Only of a recorded one that somebody else made. */
  readonly elsewhere?: MadeElsewhere
  readonly recording: ProofRecording
}

/** The proof alone. */
export type UncommittedProof = Omit<MadeProof, 'recording'>

export interface GeneratedProof extends UncommittedProof {
  readonly receipt: Receipt
}

/** A context as somebody sends it. */
export type SentContext = ProofContext & Pick<StoredContext, 'statement'>

/** A proof as somebody presents it, unchecked. */
export interface PresentedProof {
  readonly proofId?: string
  readonly circuitId?: string
  /** JSON form of snarkjs, or `zk1.…`; anything else is refused with a reason. */
  readonly proof: unknown
  /** Canonical decimals; may be absent with `zk1.…`, which holds them. */
  readonly publicSignals?: readonly string[]
  /** What it is said to be made for: counts where it is no proof that the organisation has on record. */
  readonly context?: SentContext
  /** What else has to be so of it. */
  readonly expect?: Expectation
  /** What the answer that made it said of it, where that came back. */
  readonly decision?: 0 | 1
  readonly digest?: string
}

/** What is known of a proof that somebody else made; nobody can know that it was the holder. */
export interface MadeElsewhere {
  readonly binding: Binding
  /** The organisation. */
  readonly issuer: string
}

/** What came of checking a proof. */
export interface CheckedProof {
  /** The pairing holds under the key of the circuit. */
  readonly valid: boolean
  /** Valid, and everything holds that the service can check. */
  readonly verified: boolean
  /** Null also where the proof is not valid. */
  readonly decision: ProofDecision
  /** Null where the proof is not valid. */
  readonly digest: string | null
  readonly circuitId: string | null
  /** Of the stored proof, where there is one. */
  readonly proofId: string | null
  /** What the proof was made for: what its `ctx` is the hash of; null where the service doesn't know. */
  readonly context: BoundContext | null
  /** Only of a proof that somebody else made, where it is verified. */
  readonly elsewhere?: MadeElsewhere
  /** Why it is not valid, or not verified, or not accepted where it was to be spent; empty otherwise. */
  readonly reasonCodes: readonly ReasonCode[]
  /** Whether this very call spent it; absent where it was not asked to. */
  readonly consumed?: boolean
  /** Unix ms: when this very call spent it. */
  readonly consumedAt?: number
}

/** A proof that was made elsewhere, whose `ctx` is known to bind this. */
export interface ForeignProof {
  readonly circuitId: string
  readonly proof: unknown
  readonly publicSignals: readonly string[]
  readonly context: StoredContext
  /** Unix ms: from when its age counts where no signal tells; absent: from now. */
  readonly createdAt?: number
  /** Which organisation `ctx` names; absent: the caller's. */
  readonly organisation?: string
  /** What else has to be so of it. */
  readonly expect?: Expectation
  /** Where it counts as used; absent: it isn't counted. */
  readonly category?: UsageCategory
  /** Whom the entry is about, as kind and id. */
  readonly subject?: readonly [kind: string, id: string]
}

/** A foreign proof that was checked and, where it is verified, recorded. */
export interface AdoptedProof extends CheckedProof {
  /** Absent unless this very call recorded it. */
  readonly receipt?: Receipt
  /** The recorded one; null unless it is verified. */
  readonly recorded: Pick<GeneratedProof, 'proofId' | 'digest' | 'proof' | 'publicSignals'> | null
}
