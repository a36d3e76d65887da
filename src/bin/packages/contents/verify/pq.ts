/**
 * `assay-verify/pq`: what the service signs twice, once so that it holds when Ed25519 no longer does: checkpoints of the log, hybrid tokens. An
 * entry of its own, since ML-DSA (FIPS 204) is more code than all else that is checked.
 * @module
 */
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { checkpointReader } from './checkpoint.ts'

export type { Cosigned } from '../../../../protocol/checkpoint/witness-policy.ts'
export type { HybridToken, VerificationPolicy } from '../../../../protocol/hybrid-token.ts'
export type { CheckpointRefusal, CheckpointVerdict, ExpectedCheckpoint } from './checkpoint.ts'
export {
  type ExpectedHybridToken,
  type HybridRefusal,
  type HybridVerdict,
  type PublishedHybridKey,
  verifyHybridToken,
} from './hybrid-tokens.ts'

/**
 * `readCheckpoint` of `assay-verify`, and more: the log's own ML-DSA-44 cosignature must hold beside its Ed25519 signature, and witnesses
 * may cosign with either.
 * @param expected `keys` with both lines of `GET /checkpoint/keys`
 * @throws TypeError for keys that are none and policies that can't be read, RangeError for a quorum that can't be met
 */
export const readCheckpoint = checkpointReader((signature, message, publicKey) =>
  ml_dsa44.verify(signature, message, publicKey),
)
