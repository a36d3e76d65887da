/**
 * The typed face of the WebAssembly core. Works the same in Node, browsers and workers; imports nothing.
 * @module
 */
export type { Base64url } from './base64url.ts'
export { type Core, createCore } from './core.ts'
export { type Hmac, MIDSTATE_BYTES } from './hmac.ts'
export { coreModule, type InstanceOptions } from './instance.ts'
export {
  createNullifierSet,
  NULLIFIER_ENTRY_BYTES,
  NULLIFIER_SEED_BYTES,
  type NullifierSet,
  type NullifierSetOptions,
  restoreNullifierSet,
} from './nullifier-set.ts'
export { NullifierSnapshotError } from './nullifier-snapshot.ts'
export {
  CARD_TOKEN_LIMIT_BYTES,
  MERCHANT_LIMIT_BYTES,
  type PaymentFacts,
  type PaymentProof,
  type PaymentProofs,
  type ProofClaim,
  type ProofInput,
  type ProofKey,
  type ProofVerdict,
} from './payment-proof.ts'
export type { Sha256 } from './sha256.ts'
