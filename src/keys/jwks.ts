/** Public keys as JSON Web Keys (RFC 7517) and their names (RFC 7638). @module */
import { hash } from 'node:crypto'

/** A public key without its name: OKP (RFC 8037), EC (RFC 7518 §6.2) or AKP (ML-DSA, draft-ietf-cose-dilithium). */
export interface Jwk {
  readonly kty: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
  readonly alg?: string
  readonly pub?: string
}

/** A key as it is published. */
export interface PublishedJwk extends Jwk {
  readonly kid: string
  readonly use: 'sig'
}

export interface JwkSet {
  readonly keys: readonly PublishedJwk[]
}

/**
 * SHA-256 thumbprint of the required members of a key (RFC 7638 §3), base64url, 43 characters. Asynchronous libraries take
 * as long for it as for a classical signature, and it is made whenever one is checked.
 */
export const thumbprint = ({ alg, crv, kty, pub, x, y }: Jwk): string => {
  // In the order of their names; what is undefined is left out. Of the kinds of keys only AKP requires alg.
  const required = { alg: kty === 'AKP' ? alg : undefined, crv, kty, pub, x, y }
  return hash('sha256', JSON.stringify(required), 'base64url')
}
