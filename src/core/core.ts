/**
 * The core: hashing, MACs, base64url and payment proofs over one instance of the WebAssembly module.
 * @module
 */
import { type Base64url, createBase64url } from './base64url.ts'
import { createHmac, type Hmac } from './hmac.ts'
import { type InstanceOptions, instantiate } from './instance.ts'
import { createPaymentProofs, type PaymentProofs } from './payment-proof.ts'
import { createSha256, type Sha256 } from './sha256.ts'

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
