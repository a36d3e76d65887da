/**
 * Public keys of others, from JSON Web Keys: Ed25519 (RFC 8037), P-256 (RFC 7518 §6.2) and ML-DSA-44 and -65 (kty AKP,
 * draft-ietf-cose-dilithium). Keys whose signatures prove nothing, such as points of small order, are no keys.
 * @module
 */
import { createPublicKey, verify } from 'node:crypto'
import { isObject } from '../protocol/json-object.ts'
import { isStrongEd25519Key, verifyEd25519 } from './ed25519.ts'
import { type Jwk, thumbprint } from './jwks.ts'
import { isMlDsa, MAX_CONTEXT_BYTES, mlDsa } from './ml-dsa.ts'
import type { SigningAlgorithm } from './signers.ts'

/** A key that was read and is sound. */
export interface PublicKey {
  readonly alg: SigningAlgorithm
  /** RFC 7638 thumbprint, 43 characters: names that the key's owner chose are not believed. */
  readonly kid: string
  /** Its required members only, as they are hashed into `kid`. */
  readonly jwk: Jwk
  /**
   * Whether this key signed these bytes; never throws. ES256 takes r ‖ s in 64 bytes.
   * @param context of ML-DSA (FIPS 204 §5.2), at most 255 bytes; the other algorithms have none and refuse one
   */
  verify(message: Uint8Array, signature: Uint8Array, context?: Uint8Array): boolean
}

const ES256_SIGNATURE_BYTES = 64
const COORDINATE_BYTES = 32

/** Canonical base64url (RFC 4648 §5) without padding. @returns undefined for anything else, and for another length */
const bytesOf = (text: unknown, length: number): Buffer | undefined => {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === length && bytes.toString('base64url') === text ? bytes : undefined
}

type Read = Omit<PublicKey, 'kid'>

const readEd25519 = ({ x }: Members): Read | undefined => {
  const key = bytesOf(x, COORDINATE_BYTES)
  if (key === undefined || !isStrongEd25519Key(key)) return undefined
  return {
    alg: 'Ed25519',
    jwk: { kty: 'OKP', crv: 'Ed25519', x: x as string },
    verify: (message, signature, context) => context === undefined && verifyEd25519(key, message, signature),
  }
}

const readP256 = ({ x, y }: Members): Read | undefined => {
  if (bytesOf(x, COORDINATE_BYTES) === undefined || bytesOf(y, COORDINATE_BYTES) === undefined)
    return undefined
  const jwk = { kty: 'EC', crv: 'P-256', x: x as string, y: y as string }
  let key: ReturnType<typeof createPublicKey>
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    // The only way in which it says that a point isn't on the curve.
    return undefined
  }
  return {
    alg: 'ES256',
    jwk,
    verify: (message, signature, context) =>
      context === undefined &&
      signature.length === ES256_SIGNATURE_BYTES &&
      verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature),
  }
}

const readMlDsa = ({ alg, pub }: Members): Read | undefined => {
  if (typeof alg !== 'string' || !isMlDsa(alg)) return undefined
  const scheme = mlDsa(alg)
  const key = bytesOf(pub, scheme.lengths.publicKey as number)
  if (key === undefined) return undefined
  return {
    alg,
    jwk: { kty: 'AKP', alg, pub: pub as string },
    verify(message, signature, context) {
      if (signature.length !== scheme.lengths.signature) return false
      if (context !== undefined && context.length > MAX_CONTEXT_BYTES) return false
      return scheme.verify(signature, message, key, context === undefined ? {} : { context })
    },
  }
}

type Members = Readonly<Record<string, unknown>>

const readMembers = (jwk: Members): Read | undefined => {
  // Whoever sends a private key has lost it.
  if ('d' in jwk || 'priv' in jwk) return undefined
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') return readEd25519(jwk)
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') return readP256(jwk)
  return jwk.kty === 'AKP' ? readMlDsa(jwk) : undefined
}

/** Reads a public JWK. @returns undefined for anything that is no sound key of these algorithms, private keys among it */
export const readPublicKey = (jwk: unknown): PublicKey | undefined => {
  if (!isObject(jwk)) return undefined
  const read = readMembers(jwk)
  return read && { ...read, kid: thumbprint(read.jwk) }
}
