/** Circuit `quantum_safe_token`: a hybrid token stands in the ledger, is decided, unexpired and signed as required. @module */
import { FIELD_MODULUS } from '../../core/field.ts'
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { demandNumbers } from './number-range.ts'
import { SHARD_DEPTH, type ShardPlace, shardLeaf, shardRoot } from './shard-member.ts'

/** Number of ledger entries of type `hybrid_token`. */
const TYPE_HYBRID_TOKEN = 11n
/** Which signatures a token has, or must have: sums of these. */
export const POLICY_BITS = { classical: 1n, pq: 2n, hybrid: 3n } as const
/** Where expiry begins in the terms: above decision and policy bits. */
const EXPIRY_FACTOR = 8n

/** What the ledger's commitment to a hybrid token is made of. */
export interface HybridTokenTerms {
  /** `h248` of the bytes that both signatures cover. */
  readonly tokenDigest: bigint
  /** 1 for YES, 0 for NO. */
  readonly decision: bigint
  /** Unix seconds, below 2^64; the token holds before it. */
  readonly exp: bigint
  /** {@link POLICY_BITS} of the signatures that were verified when the token was logged. */
  readonly policyBits: bigint
  /** Secret, at least 128 random bits: it hides all of it and is the source of the nullifier. */
  readonly salt: bigint
}

export interface QuantumSafeTokenValues extends HybridTokenTerms, ShardPlace {
  /** Unix seconds, below 2^64. */
  readonly now: bigint
  /** {@link POLICY_BITS} that the asker demands. */
  readonly requiredBits: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

const demandPolicy = (name: string, bits: bigint): void => {
  if (bits < 0n || bits > POLICY_BITS.hybrid) throw new RangeError(`${name} must be within 2 bits`)
}

/** Poseidon[NULLIFIER](salt, token digest): one for each token, and nothing that the log holds leads to it. */
export const hybridTokenNullifier = ({ salt, tokenDigest }: HybridTokenTerms): bigint =>
  poseidon(POSEIDON_TAGS.NULLIFIER, [salt, tokenDigest])

/**
 * Poseidon[HYBRID_TOKEN](nullifier, salt + decision + 2 · policy bits + 8 · expiry): `commitment` of the entry of type
 * `hybrid_token`. The nullifier binds the salt, so the sum binds the terms; the salt hides them.
 * @throws RangeError for terms that the circuit has no witness for
 */
export const hybridTokenCommitment = (token: HybridTokenTerms): bigint => {
  const { decision, policyBits, exp, salt } = token
  if (decision !== 0n && decision !== 1n) throw new RangeError('decision must be 0 or 1')
  demandPolicy('policyBits', policyBits)
  demandNumbers({ exp })
  const terms = decision + 2n * policyBits + EXPIRY_FACTOR * exp
  return poseidon(POSEIDON_TAGS.HYBRID_TOKEN, [hybridTokenNullifier(token), (salt + terms) % FIELD_MODULUS])
}

export const quantumSafeToken = defineCircuit({
  id: 'quantum_safe_token',
  name: 'Quantum-safe token',
  description: 'A hybrid token stands in the ledger, is decided, has not expired, and is signed as required.',
  version: '1.0.0',
  domain: 4096,
  proves:
    'The prover knows a hybrid token whose entry stands in the shard with this root. quantum_safe_valid says whether its ' +
    'decision is YES, now is before its expiry, and its entry records a post-quantum signature and every one in ' +
    'requiredBits. The statement rests on hashes only; the signatures are not verified inside, and the proof itself, ' +
    'Groth16, is not post-quantum.',
  checks: [
    'the signatures that the policy bits stand for were verified by the service before it logged the token',
    'root is that of a shard as an entry ledger.poseidon_root of the log says it',
    'now is within 120 seconds of the clock, and requiredBits and ctx are recomputed from what was asked',
    'nullifier is neither spent nor revoked',
  ],
  selfAsserted: false,
  outputs: ['quantum_safe_valid', 'nullifier'],
  inputs: ['root', 'now', 'requiredBits', 'ctx'],
  secrets: [
    'leafHash',
    'tokenDigest',
    'decision',
    'exp',
    'policyBits',
    'salt',
    'position',
    ['path', SHARD_DEPTH],
  ],
  assign({ now, requiredBits, ctx, leafHash, position, path, ...token }: QuantumSafeTokenValues) {
    demandNumbers({ now })
    demandPolicy('requiredBits', requiredBits)
    const { tokenDigest, decision, exp, policyBits, salt } = token
    const leaf = shardLeaf(TYPE_HYBRID_TOKEN, leafHash, hybridTokenCommitment(token))
    const demanded = requiredBits | POLICY_BITS.pq
    const isValid = decision === 1n && now < exp && (policyBits & demanded) === demanded
    return {
      quantum_safe_valid: isValid ? 1n : 0n,
      nullifier: hybridTokenNullifier(token),
      root: shardRoot(leaf, { position, path }),
      now,
      requiredBits,
      ctx,
      leafHash,
      tokenDigest,
      decision,
      exp,
      policyBits,
      salt,
      position: BigInt(position),
      path,
    }
  },
})
