/**
 * The typed face of the WebAssembly core. Works the same in Node, browsers and workers; imports nothing.
 * @module
 */
import { type Base64url, createBase64url } from './base64url.ts'
import { createHmac, type Hmac } from './hmac.ts'
import { type InstanceOptions, instantiate } from './instance.ts'
import { createPaymentProofs, type PaymentProofs } from './payment-proof.ts'
import { createSha256, type Sha256 } from './sha256.ts'

export type { Base64url } from './base64url.ts'
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
  type ProofInput,
  type ProofKey,
  type ProofVerdict,
  type StoredPayment,
} from './payment-proof.ts'
export type { Sha256 } from './sha256.ts'

/** One core serves one thread: its calls share fixed buffers and don't overlap. */
export interface Core extends Sha256, Hmac, Base64url, PaymentProofs {}

/**
 * A core of its own: 64 KiB of memory, ready at once, with no file or network access. Pages need the content security
 * policy `'wasm-unsafe-eval'`.
 */
export const createCore = (options: InstanceOptions = {}): Core => {
  const instance = instantiate(options)
  const { slots, ...hmac } = createHmac(instance)
  return {
    ...createSha256(instance),
    ...hmac,
    ...createBase64url(instance),
    ...createPaymentProofs(instance, slots),
  }
}
