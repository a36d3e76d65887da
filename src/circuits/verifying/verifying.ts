/**
 * `assay/verifying`: what verifies proofs, of `assay/proving`, and nothing that makes them, for pages and terminals that only look
 * at proofs of others. In pages it needs `'wasm-unsafe-eval'` in the content security policy.
 * @module
 */
export { decodeZk1, type ProofWithSignals, proofDigest, type SnarkProof } from '../../protocol/zk1.ts'
export {
  type ProofRefusal,
  type ProofVerdict,
  readVerificationKey,
  type VerificationKey,
  verifyPairing,
} from '../verifier.ts'
