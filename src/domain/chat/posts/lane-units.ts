/** What the chat's lane queues, and what it knows while it decides. @module */

import type { MessageProof, Source } from '../schemas.ts'
import type { NameRow, ProofRow } from '../store.ts'
import type { MessageContent } from './content.ts'
import type { Repetitions, TextHashes } from './duplicates.ts'
import type { TargetRow } from './store-lane.ts'

/** What is kept of an envelope, so that it can't be used again. */
export interface UsedEnvelope {
  readonly fingerprint: string
  readonly id: string
  /** Unix ms from which on it is refused anyway. */
  readonly expiresAt: number
}

/** An envelope that was found good, still to be consumed. */
export interface AcceptedEnvelope extends UsedEnvelope {
  readonly agentId: string
  readonly about: string
  readonly proof: AcceptedProof | undefined
}

/** The proof of an envelope, which holds. */
export interface AcceptedProof {
  readonly shown: MessageProof
  /** Keyed hash of circuit and nullifier, 16 bytes: it speaks for one key at a time. */
  readonly key: Buffer
  readonly provesPerson: boolean
}

/** A post that keeps the content rules. */
export interface PostUnit {
  readonly weight: 1
  readonly content: MessageContent
  readonly skeleton: string
  readonly kind: 'agent' | 'house'
  readonly source: Source
  /** Keyed hash of the address block; absent for the operator. */
  readonly address?: Buffer
  /** Keyed hash of the key that signed, else of the address block and the name: who may not repeat what it said. */
  readonly poster: Buffer
  readonly hashes: TextHashes
  readonly envelope?: AcceptedEnvelope
}

/** A removal by the operator, or by the author, whom an envelope proves. */
export interface RemovalUnit {
  readonly weight: 1
  readonly remove: number
  readonly by: 'operator' | UsedEnvelope
}

export type ChatUnit = PostUnit | RemovalUnit
export const isRemoval = (unit: ChatUnit): unit is RemovalUnit => 'remove' in unit

/** What is stored, as far as the batch needs it; kept up to date as the batch is decided. */
export interface Known {
  readonly names: Map<string, NameRow>
  readonly targets: Map<number, TargetRow>
  /** See duplicates.ts. */
  readonly repetitions: Repetitions
  /** `fingerprint/id` of envelopes that were used. */
  readonly envelopes: Set<string>
  /** Keyed hash in hexadecimal → which key the proof spoke for last, and when. */
  readonly proofs: Map<string, ProofRow>
  /** Fingerprint, or address in hexadecimal → when it bound names lately. */
  readonly bindings: Map<string, number[]>
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** In {@link Known.envelopes}. */
export const envelopeKey = ({ fingerprint, id }: { fingerprint: string; id: string }): string =>
  `${fingerprint}/${id}`
