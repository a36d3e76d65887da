/** ML-DSA (FIPS 204, pure), as keys of ours and of others use it. @module */
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'

export const ML_DSA_ALGORITHMS = ['ML-DSA-44', 'ML-DSA-65'] as const
export type MlDsaAlgorithm = (typeof ML_DSA_ALGORITHMS)[number]

/** Bytes that a key is made from (FIPS 204 §5.1). */
export const ML_DSA_SEED_BYTES = 32
/** FIPS 204 §5.2. */
export const MAX_CONTEXT_BYTES = 255

/** What a signature is made of. */
export interface SignatureAsked {
  readonly alg: MlDsaAlgorithm
  /** Expanded: 2,560 or 4,032 bytes. */
  readonly secretKey: Uint8Array
  readonly message: Uint8Array
  /** At most {@link MAX_CONTEXT_BYTES}. */
  readonly context: Uint8Array
}

/** The algorithm of that name. */
export const mlDsa = (alg: MlDsaAlgorithm) => (alg === 'ML-DSA-44' ? ml_dsa44 : ml_dsa65)

export const isMlDsa = (alg: string): alg is MlDsaAlgorithm =>
  (ML_DSA_ALGORITHMS as readonly string[]).includes(alg)

/**
 * Takes 2 to 60 ms of its thread: how often it begins anew is up to chance.
 * @returns 2,420 or 3,309 bytes
 * @throws RangeError for a context that is too long
 */
export const signMlDsa = ({ alg, secretKey, message, context }: SignatureAsked): Uint8Array => {
  if (context.length > MAX_CONTEXT_BYTES)
    throw new RangeError(`A context has at most ${MAX_CONTEXT_BYTES} bytes.`)
  return mlDsa(alg).sign(message, secretKey, { context })
}
