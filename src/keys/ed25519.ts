/** Ed25519 signatures of strangers, checked strictly: RFC 8032 §5.1.7 without cofactor, and no weak keys. @module */
import { createPublicKey, verify } from 'node:crypto'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SIGN_BIT = 1n << 255n
/** Order of the base field, RFC 8032 §5.1. */
const P = (1n << 255n) - 19n
/** Order of the base point. */
const L = (1n << 252n) + 27742317777372353535851937790883648493n
/** y of a point of order 8; that of the others is its negative. */
const Y_OF_ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
/** y of the eight points whose order divides 8: orders 1, 2, 4, 8, 8. Whoever has such a key signs for everybody. */
const SMALL_ORDER: ReadonlySet<bigint> = new Set([1n, P - 1n, 0n, Y_OF_ORDER_8, P - Y_OF_ORDER_8])

const littleEndian = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** Whether these 32 bytes are the one encoding of a y that is no point's of small order. */
const isStrongPoint = (bytes: Uint8Array): boolean => {
  const y = littleEndian(bytes) & (SIGN_BIT - 1n)
  return y < P && !SMALL_ORDER.has(y)
}

/** Whether these 32 bytes are a key whose signatures mean something. */
export const isStrongEd25519Key = isStrongPoint

/**
 * Whether a key signed a message. Stricter than most: S must be below the order of the base point, key and R must be canonical
 * encodings of points whose order is not small, and S·B = R + k·A must hold without multiplying by the cofactor, so that
 * nobody makes a second signature of the first. Takes about 0.15 ms.
 * @param publicKey 32 bytes @param signature 64 bytes; anything else is no signature
 */
export const verifyEd25519 = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
  if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  const [r, s] = [signature.subarray(0, KEY_BYTES), signature.subarray(KEY_BYTES)]
  if (littleEndian(s) >= L || !isStrongPoint(publicKey) || !isStrongPoint(r)) return false
  const x = Buffer.from(publicKey).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, key, signature)
}
