/** Keys as callers send them, and a fresh pair for those who send none. @module */
import { generateKeyPairSync } from 'node:crypto'
import { AppError } from '../../../errors.ts'
import { type PublicKey, readPublicKey } from '../../../keys/public-key.ts'
import type { PrivateJwk } from './schemas.ts'

export interface SentKeys {
  readonly public_key?: object
  readonly public_key_pq?: object
}

/** The keys of an agent or a device. */
export interface ReadKeys {
  /** Ed25519 or P-256. */
  readonly key: PublicKey
  /** ML-DSA. */
  readonly pqKey?: PublicKey
  /** Of a pair that was made here. */
  readonly privateKey?: PrivateJwk
}

const refuse = (path: string, code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path, code, message }] })
}

/** An Ed25519 pair (RFC 8032), as JWKs (RFC 8037). */
const newPrivateKey = (): PrivateJwk =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as PrivateJwk

/**
 * Reads the keys of an agent or a device.
 * @param sent with neither key a pair is made, whose private part only the answer holds
 * @throws AppError validation_failed naming the key that is none, or is missing
 */
export const readKeys = async (sent: SentKeys): Promise<ReadKeys> => {
  // Signed for with both keys, a key that was made here would count as the holder's own.
  if (sent.public_key === undefined && sent.public_key_pq !== undefined)
    return refuse('/public_key', 'required', 'public_key is required with public_key_pq')
  const privateKey = sent.public_key === undefined ? newPrivateKey() : undefined
  const { kty, crv, x } = privateKey ?? {}
  const key = await readPublicKey(sent.public_key ?? { kty, crv, x })
  if (key === undefined || key.jwk.kty === 'AKP')
    return refuse(
      '/public_key',
      'key_invalid',
      'public_key must be a public JWK: Ed25519 (kty OKP) or P-256 (kty EC)',
    )
  if (sent.public_key_pq === undefined) return { key, privateKey }
  const pqKey = await readPublicKey(sent.public_key_pq)
  if (pqKey === undefined || pqKey.jwk.kty !== 'AKP')
    return refuse(
      '/public_key_pq',
      'key_invalid',
      'public_key_pq must be a public JWK: ML-DSA-44 or ML-DSA-65 (kty AKP)',
    )
  return { key, pqKey, privateKey }
}
