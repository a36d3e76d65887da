/**
 * Proof that a wallet has the key that a credential is bound to: a JWT as OpenID4VCI 1.0 defines it (appendix F.1), over our
 * address and a nonce. Nonces are not stored: one carries its time and a MAC over whom it was made for.
 * @module
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { type PublicKey, readPublicKey } from '../../../keys/public-key.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { readJws } from '../../../protocol/jws.ts'
import type { CredentialNonce, HolderJwk } from './schemas.ts'

const PROOF_TYP = 'openid4vci-proof+jwt'
const MAC_PURPOSE = 'kyc-credential-nonce'
const RANDOM_BYTES = 16
const TIME_BYTES = 8
const MAC_BYTES = 32
const HEAD_BYTES = RANDOM_BYTES + TIME_BYTES
const NONCE_VALID_MS = 300_000
/** Clocks of wallets may be ahead or behind by so much. */
const CLOCK_SKEW_SECONDS = 60
const MS_PER_SECOND = 1000

interface Deps {
  readonly sealing: Pick<Sealing, 'mac'>
  readonly clock: Clock
  readonly baseUrl: string
}

/** A key whose owner has shown that they have it. */
export interface ProvenKey {
  readonly key: PublicKey
  /** It counts once. */
  readonly nonce: string
}

const refuse = (code: string, message: string, path = '/proof_of_possession'): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

export const createPossession = ({ sealing, clock, baseUrl }: Deps) => {
  const macOf = (organisation: string, head: Uint8Array): Uint8Array =>
    sealing.mac(MAC_PURPOSE, Buffer.from(JSON.stringify([organisation, Buffer.from(head).toString('hex')])))

  const checkNonce = (organisation: string, text: unknown, now: number | undefined): string => {
    const nonce = Buffer.from(typeof text === 'string' ? text : '', 'base64url')
    const head = nonce.subarray(0, HEAD_BYTES)
    const isOurs =
      nonce.length === HEAD_BYTES + MAC_BYTES &&
      nonce.toString('base64url') === text &&
      timingSafeEqual(nonce.subarray(HEAD_BYTES), macOf(organisation, head))
    if (!isOurs) return refuse('nonce_unknown', 'its nonce must be one that you were given here')
    const madeAt = Number(head.readBigUInt64BE(RANDOM_BYTES))
    if (now !== undefined && now >= madeAt + NONCE_VALID_MS)
      refuse('nonce_expired', 'its nonce must be from the last five minutes: get another')
    return nonce.toString('base64url')
  }

  const checkTime = (iat: unknown, nowMs: number): void => {
    const now = nowMs / MS_PER_SECOND
    const oldest = now - NONCE_VALID_MS / MS_PER_SECOND - CLOCK_SKEW_SECONDS
    if (typeof iat !== 'number' || !Number.isInteger(iat) || iat < oldest || iat > now + CLOCK_SKEW_SECONDS)
      refuse('iat', 'its iat must be the time at which it was signed, in Unix seconds')
  }

  return {
    /** A nonce for one proof. */
    nonce(organisation: string): CredentialNonce {
      const now = clock.now()
      const head = Buffer.alloc(HEAD_BYTES)
      randomBytes(RANDOM_BYTES).copy(head)
      head.writeBigUInt64BE(BigInt(now), RANDOM_BYTES)
      const nonce = Buffer.concat([head, macOf(organisation, head)]).toString('base64url')
      return { nonce, audience: baseUrl, expires_at: iso(now + NONCE_VALID_MS) }
    },

    /**
     * Checks a proof. That its nonce was not used before is for the commit to say.
     * @param now Unix ms; undefined for a proof that was taken before, of which nonce and time may be old by now
     * @throws AppError validation_failed for a key that is none, and for a proof that is wrong, with what is wrong of it
     */
    prove(organisation: string, holderJwk: HolderJwk, proof: string, now: number | undefined): ProvenKey {
      const key = readPublicKey(holderJwk)
      if (key === undefined) return refuse('key_invalid', 'must be a public key on P-256', '/holder_jwk')
      const read = readJws(proof)
      if (read === undefined) return refuse('malformed', 'must be a compact JWS')
      const { header, payload, covered, signature } = read
      if (
        Object.keys(header).sort().join() !== 'alg,jwk,typ' ||
        header.alg !== 'ES256' ||
        header.typ !== PROOF_TYP
      )
        refuse('header', `its header must be {"alg": "ES256", "typ": "${PROOF_TYP}", "jwk"}`)
      const named = isObject(header.jwk) ? readPublicKey(header.jwk) : undefined
      if (named?.kid !== key.kid) refuse('key_mismatch', 'the jwk of its header must be holder_jwk')
      if (!key.verify(covered, signature)) refuse('signature_invalid', 'its signature must be by holder_jwk')
      if (payload.aud !== baseUrl) refuse('audience', `its aud must be ${baseUrl}`)
      if (now !== undefined) checkTime(payload.iat, now)
      return { key, nonce: checkNonce(organisation, payload.nonce, now) }
    },
  }
}
