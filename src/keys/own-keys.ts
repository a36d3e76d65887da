/** Our own public keys, read once and not with every signature. @module */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Jwk } from './jwks.ts'

const read = new WeakMap<Jwk, KeyObject>()

/**
 * A key as node:crypto verifies with it, remembered for as long as its JWK is.
 * @param jwk Ed25519 or P-256, one that the service made itself: it is not checked, and never changed
 */
export const ownPublicKey = (jwk: Jwk): KeyObject => {
  const known = read.get(jwk)
  if (known !== undefined) return known
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  read.set(jwk, key)
  return key
}
