/** Circuit `proof_aggregation`: an attestor has verified a number of proofs, and how they were decided. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import {
  aggregateMessage,
  demandSignature,
  type IssuerPoint,
  type IssuerSignature,
} from '../issuer-signature.ts'

/** Places for proofs in an aggregate. */
export const AGGREGATE_MEMBERS = 8

/** A proof that the attestor has verified. */
export interface AggregateMember {
  /** The first 31 bytes of its 32-byte digest, big-endian; never 0. */
  readonly digest: bigint
  /** 1n where it says YES, else 0n. */
  readonly decision: bigint
}

export interface ProofAggregationValues {
  /** 1 to {@link AGGREGATE_MEMBERS}. */
  readonly members: readonly AggregateMember[]
  /** Over `aggregateMessage` of their number, ctx and {@link aggregateChain}. */
  readonly signature: IssuerSignature
  readonly attestor: IssuerPoint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** Places beyond the members are 0. @throws RangeError for no or too many members, no digest, or a decision that is no bit */
const placesOf = (members: readonly AggregateMember[]): { digests: bigint[]; decisions: bigint } => {
  if (members.length === 0 || members.length > AGGREGATE_MEMBERS)
    throw new RangeError(`members must be 1 to ${AGGREGATE_MEMBERS}`)
  if (members.some(({ digest }) => digest === 0n)) throw new RangeError('digest must not be 0')
  if (members.some(({ decision }) => decision !== 0n && decision !== 1n))
    throw new RangeError('decision must be 0 or 1')
  return {
    digests: Array.from({ length: AGGREGATE_MEMBERS }, (_, i) => members[i]?.digest ?? 0n),
    decisions: members.reduce((sum, { decision }, i) => sum + (decision << BigInt(i)), 0n),
  }
}

/**
 * Poseidon[AGGREGATE_CHAIN] of 8 digests and of the decisions as the bits of a number, the first one the lowest; places
 * beyond the members are 0.
 * @throws RangeError for no or too many members, a digest that is 0, and a decision that is no bit
 */
export const aggregateChain = (members: readonly AggregateMember[]): bigint => {
  const { digests, decisions } = placesOf(members)
  return poseidon(POSEIDON_TAGS.AGGREGATE_CHAIN, [...digests, decisions])
}

export const proofAggregation = defineCircuit({
  id: 'proof_aggregation',
  name: 'Proof aggregation',
  description: 'How many of up to eight proofs that an attestor has verified say YES.',
  version: '1.0.0',
  domain: 8192,
  proves:
    'This attestor key signed a chain of count proofs for this ctx, yes_count of them say YES, and all says whether ' +
    'every one does. Attested, not recursive: the attestor verified the inner proofs natively before it signed, and ' +
    'this proof does not verify them again.',
  checks: [
    "the attestor key is this service's, and valid now",
    'ctx is recomputed from what was asked',
    'the digests are distinct, and chain is that of the proofs in question',
  ],
  selfAsserted: false,
  outputs: ['chain', 'count', 'yes_count', 'all'],
  inputs: ['attestorX', 'attestorY', 'ctx'],
  secrets: [['digests', AGGREGATE_MEMBERS], 'decisions', 'r8x', 'r8y', 's'],
  assign({ members, signature, attestor, ctx }: ProofAggregationValues) {
    const chain = aggregateChain(members)
    const count = BigInt(members.length)
    const yesCount = BigInt(members.filter(({ decision }) => decision === 1n).length)
    demandSignature(aggregateMessage({ count, ctx, chain }), signature, attestor)
    return {
      chain,
      count,
      yes_count: yesCount,
      all: yesCount === count ? 1n : 0n,
      attestorX: attestor.x,
      attestorY: attestor.y,
      ctx,
      ...placesOf(members),
      ...signature,
    }
  },
})
