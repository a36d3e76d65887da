/** Public keys as JSON Web Keys (RFC 7517) and their names (RFC 7638). @module */
import { calculateJwkThumbprint } from 'jose'

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

/** SHA-256 thumbprint of the required members of a key (RFC 7638 §3), base64url, 43 characters. */
export const thumbprint = (jwk: Jwk): Promise<string> => calculateJwkThumbprint({ ...jwk }, 'sha256')
