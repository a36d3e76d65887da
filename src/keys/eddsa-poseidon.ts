/**
 * EdDSA on Baby Jubjub (EIP-2494) with Poseidon: the scheme of circomlib's EdDSAPoseidonVerifier. Keys and nonces
 * come about as in circomlibjs, with BLAKE-512, so that both sign the same.
 * @module
 */
import { babyjubjub } from '@noble/curves/misc.js'
import { bytesToNumberLE, numberToBytesLE } from '@noble/curves/utils.js'
import { blake512 } from '@noble/hashes/blake1.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { type IssuerPoint, type IssuerSignature, signatureChallenge } from '../circuits/issuer-signature.ts'

export const EDDSA_SEED_BYTES = 32
const ELEMENT_BYTES = 32

export interface EddsaKey {
  readonly point: IssuerPoint
  /** Always the same for one message. @throws RangeError for a message that is no element of the field */
  sign(message: bigint): IssuerSignature
}

/**
 * Bits as in RFC 8032 §5.1.5: a multiple of 8 with its 255th bit set.
 * @param hash at least 32 bytes
 */
const prunedScalar = (hash: Uint8Array): bigint => {
  const bits = bytesToNumberLE(hash.subarray(0, EDDSA_SEED_BYTES))
  return ((BigInt.asUintN(254, bits) >> 3n) << 3n) | (1n << 254n)
}

/**
 * @param seed 32 random bytes
 * @throws RangeError for another length
 */
export const eddsaKey = (seed: Uint8Array): EddsaKey => {
  if (seed.length !== EDDSA_SEED_BYTES) throw new RangeError(`a seed has ${EDDSA_SEED_BYTES} bytes`)
  const { Point } = babyjubjub
  const order = Point.Fn.ORDER
  const hash = blake512(seed)
  const prefix = hash.slice(EDDSA_SEED_BYTES)
  const scalar = prunedScalar(hash)
  const point = Point.BASE.multiply((scalar >> 3n) % order).toAffine()
  return {
    point,
    sign(message) {
      if (message < 0n || message >= Point.Fp.ORDER)
        throw new RangeError('message is no element of the field')
      const nonceHash = blake512(concatBytes(prefix, numberToBytesLE(message, ELEMENT_BYTES)))
      const nonce = bytesToNumberLE(nonceHash) % order
      const r8 = Point.BASE.multiply(nonce).toAffine()
      const s = (nonce + signatureChallenge(r8, point, message) * scalar) % order
      return { r8x: r8.x, r8y: r8.y, s }
    },
  }
}
