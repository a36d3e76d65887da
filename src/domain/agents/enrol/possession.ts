/**
 * Proof of possession: an agent signs a challenge with the key that it enrols. A challenge is not stored: its nonce carries its
 * time and a MAC over whom it was made for, so it counts for that organisation and those keys alone.
 * @module
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../clock.ts'
import type { Core } from '../../../core/index.ts'
import { AppError } from '../../../errors.ts'
import type { PublicKey } from '../../../keys/public-key.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import { CHALLENGE_VALID_MS } from './record.ts'
import type { Possession } from './schemas.ts'

/** Begins every message that is signed. */
const PREFIX = 'agent-pop/1\n'
const PURPOSE = 'agent-challenge'
const RANDOM_BYTES = 16
const TIME_BYTES = 8
const MAC_BYTES = 32
const NONCE_BYTES = RANDOM_BYTES + TIME_BYTES + MAC_BYTES

/** Whom a challenge is for. */
export interface Challenged {
  readonly organisation: string
  readonly key: PublicKey
  /** A second key, which must sign as well. */
  readonly pqKey?: PublicKey
}

export interface Challenge {
  readonly nonce: string
  readonly aud: string
  readonly org: string
  readonly message: string
  readonly messagePq?: string
  /** Unix ms. */
  readonly expiresAt: number
}

interface Deps {
  readonly core: Pick<Core, 'base64urlDecode'>
  readonly sealing: Pick<Sealing, 'mac'>
  readonly clock: Clock
  /** BASE_URL: what is signed for one service means nothing to another. */
  readonly baseUrl: string
}

const refusal = (member: keyof Possession, code: string, message: string): AppError =>
  new AppError('validation_failed', { details: [{ path: `/proof_of_possession/${member}`, code, message }] })

export type Possessions = ReturnType<typeof createPossessions>

export const createPossessions = ({ core, sealing, clock, baseUrl }: Deps) => {
  /** What a key signs: the prefix and canonical JSON (RFC 8785). */
  const messageOf = (organisation: string, { kid }: PublicKey, nonce: string): string =>
    PREFIX + canonicalJson({ aud: baseUrl, org: organisation, kid, nonce })

  const macOf = ({ organisation, key, pqKey }: Challenged, head: Uint8Array): Uint8Array => {
    const whom = [organisation, key.kid, pqKey?.kid ?? null, Buffer.from(head).toString('hex')]
    return sealing.mac(PURPOSE, Buffer.from(JSON.stringify(whom)))
  }

  /** Throws unless the nonce is one that was made here for these keys, less than an hour ago. */
  const checkNonce = (challenged: Challenged, text: string): void => {
    const nonce = core.base64urlDecode(text)
    const head = nonce?.subarray(0, RANDOM_BYTES + TIME_BYTES)
    if (
      nonce === undefined ||
      head === undefined ||
      nonce.length !== NONCE_BYTES ||
      !timingSafeEqual(nonce.subarray(head.length), macOf(challenged, head))
    )
      throw refusal('nonce', 'nonce_unknown', 'nonce must be from a challenge for these keys')
    const madeAt = Number(Buffer.from(head).readBigUInt64BE(RANDOM_BYTES))
    if (clock.now() >= madeAt + CHALLENGE_VALID_MS)
      throw refusal('nonce', 'nonce_expired', 'nonce must be from a challenge of the last hour')
  }

  const checkSignature = (
    { organisation }: Challenged,
    key: PublicKey,
    nonce: string,
    member: 'signature' | 'signature_pq',
    text: string,
  ): void => {
    const signature = core.base64urlDecode(text)
    const message = Buffer.from(messageOf(organisation, key, nonce))
    if (signature === undefined || !key.verify(message, signature))
      throw refusal(
        member,
        'signature_invalid',
        `${member} must be the signature of the challenge's message with the key`,
      )
  }

  return {
    /** A fresh challenge. */
    challenge(challenged: Challenged): Challenge {
      const { organisation, key, pqKey } = challenged
      const now = clock.now()
      const time = Buffer.alloc(TIME_BYTES)
      time.writeBigUInt64BE(BigInt(now))
      const head = Buffer.concat([randomBytes(RANDOM_BYTES), time])
      const nonce = Buffer.concat([head, macOf(challenged, head)]).toString('base64url')
      return {
        nonce,
        aud: baseUrl,
        org: organisation,
        message: messageOf(organisation, key, nonce),
        messagePq: pqKey && messageOf(organisation, pqKey, nonce),
        expiresAt: now + CHALLENGE_VALID_MS,
      }
    },

    /**
     * Returns if every key has signed a challenge that was made for them.
     * @throws AppError validation_failed with code `nonce_unknown`, `nonce_expired`, `signature_invalid` or `required`
     */
    check(challenged: Challenged, { nonce, signature, signature_pq }: Possession): void {
      checkNonce(challenged, nonce)
      checkSignature(challenged, challenged.key, nonce, 'signature', signature)
      if (challenged.pqKey === undefined) return
      if (signature_pq === undefined)
        throw refusal('signature_pq', 'required', 'signature_pq is required, because there is a second key')
      checkSignature(challenged, challenged.pqKey, nonce, 'signature_pq', signature_pq)
    },
  }
}
