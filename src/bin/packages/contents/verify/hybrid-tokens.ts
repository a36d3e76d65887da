/**
 * Hybrid tokens: claims under a classical and a post-quantum signature, over the same bytes. Each signature is checked with the published
 * keys and nothing else; whoever can't check one that is demanded refuses the token, and never falls back to the other.
 * @module
 */
import { p256 } from '@noble/curves/nist.js'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { createCore } from '../../../../core/index.ts'
import {
  demandedSignatures,
  type FormFault,
  HYBRID_TOKEN_CONTEXT,
  type HybridToken,
  hybridSigningBytes,
  readHybridToken,
  readSignature,
  type VerificationPolicy,
} from '../../../../protocol/hybrid-token.ts'
import { isClock, type PublishedKey, verifyEd25519 } from './keys.ts'

const MS_PER_SECOND = 1000
/** SEC 1 §2.3.3: an uncompressed point. */
const UNCOMPRESSED = 0x04
const COORDINATE_BYTES = 32

const core = createCore()

/** A key of `/.well-known/jwks.json` or `/.well-known/jwks-pq.json`. */
export interface PublishedHybridKey extends PublishedKey {
  readonly y?: string
  /** `ML-DSA-44`, `ML-DSA-65`. */
  readonly alg?: string
  readonly pub?: string
}

interface PublishedKeys {
  readonly keys: readonly PublishedHybridKey[]
}

export interface ExpectedHybridToken {
  /** The service's `/.well-known/jwks.json`, fetched beforehand. */
  readonly keys: PublishedKeys
  /** The service's `/.well-known/jwks-pq.json`, fetched beforehand. */
  readonly pqKeys: PublishedKeys
  /**
   * What you demand, whatever the token's own policy says; default: both signatures. A policy is signed like the rest, so that whoever could
   * forge one of the signatures could write a token that asks for no other.
   */
  readonly required?: VerificationPolicy
  /** Unix milliseconds; default: now. */
  readonly now?: number
}

type Half = 'CLASSICAL' | 'PQ'

export type HybridRefusal =
  | FormFault
  /** It is demanded, and empty. */
  | `${Half}_SIGNATURE_MISSING`
  /** Not canonical base64url, or not of the algorithm's length. */
  | `${Half}_SIGNATURE_MALFORMED`
  /** None of the given keys has its `kid` and algorithm. Those of agents and devices are published nowhere. */
  | `${Half}_KEY_UNKNOWN`
  | `${Half}_SIGNATURE_INVALID`
  /** `now` is no time in milliseconds: seconds, or no number. */
  | 'CLOCK_REFUSED'
  | 'TOKEN_EXPIRED'

export type HybridVerdict =
  | { readonly valid: true; readonly token: HybridToken }
  | { readonly valid: false; readonly reason: HybridRefusal }

type Verify = (message: Uint8Array, signature: Uint8Array) => boolean

const verifyP256 =
  ({ x = '', y = '' }: PublishedHybridKey): Verify =>
  (message, signature) => {
    const [first, second] = [core.base64urlDecode(x), core.base64urlDecode(y)]
    if (first?.length !== COORDINATE_BYTES || second?.length !== COORDINATE_BYTES) return false
    const point = Uint8Array.of(UNCOMPRESSED, ...first, ...second)
    // Of a key that is no point of the curve nothing is signed. Both forms of a signature hold, as they do in WebCrypto.
    return p256.utils.isValidPublicKey(point) && p256.verify(signature, message, point, { lowS: false })
  }

const verifyMlDsa =
  (scheme: typeof ml_dsa44, { pub = '' }: PublishedHybridKey): Verify =>
  (message, signature) => {
    const key = core.base64urlDecode(pub)
    if (key === undefined || key.length !== scheme.lengths.publicKey) return false
    return scheme.verify(signature, message, key, { context: HYBRID_TOKEN_CONTEXT })
  }

/** What a key verifies under an algorithm of hybrid tokens; undefined when it is for another one. */
const verifierOf = (
  algorithm: HybridToken['alg_classical'] | HybridToken['alg_pq'],
  key: PublishedHybridKey,
): Verify | undefined => {
  const { kty, crv, alg } = key
  switch (algorithm) {
    case 'Ed25519':
      return kty === 'OKP' && crv === 'Ed25519'
        ? (message, signature) => verifyEd25519(key, message, signature)
        : undefined
    case 'ECDSA_P256':
      return kty === 'EC' && crv === 'P-256' ? verifyP256(key) : undefined
    case 'Dilithium2':
      return kty === 'AKP' && alg === 'ML-DSA-44' ? verifyMlDsa(ml_dsa44, key) : undefined
    case 'Dilithium3':
      return kty === 'AKP' && alg === 'ML-DSA-65' ? verifyMlDsa(ml_dsa65, key) : undefined
  }
}

const halfRefusal = (half: Half, token: HybridToken, { keys }: PublishedKeys): HybridRefusal | undefined => {
  const isPq = half === 'PQ'
  const [algorithm, text, kid] = isPq
    ? [token.alg_pq, token.sig_pq, token.kid_pq]
    : [token.alg_classical, token.sig_classical, token.kid_classical]
  if (text === '') return `${half}_SIGNATURE_MISSING`
  const signature = readSignature(algorithm, text)
  if (signature === undefined) return `${half}_SIGNATURE_MALFORMED`
  const key = kid === '' ? undefined : keys.find((one) => one.kid === kid)
  const verify = key && verifierOf(algorithm, key)
  if (verify === undefined) return `${half}_KEY_UNKNOWN`
  return verify(hybridSigningBytes(token), signature) ? undefined : `${half}_SIGNATURE_INVALID`
}

/**
 * A token of `POST /v1/tokens/generate-quantum-safe`: that some organisation of this service issued it, and anybody can have one there. Which
 * one did, and whether it was revoked, only the service knows: admit people by `POST /v1/tokens/validate-quantum-safe`.
 * @param value the token's JSON, parsed
 */
export const verifyHybridToken = (
  value: unknown,
  { keys, pqKeys, required = 'hybrid_required', now = Date.now() }: ExpectedHybridToken,
): HybridVerdict => {
  const refuse = (reason: HybridRefusal): HybridVerdict => ({ valid: false, reason })
  const read = readHybridToken(value)
  if ('fault' in read) return refuse(read.fault)
  const { token } = read
  const demanded = demandedSignatures(token.verification_policy, required)
  const reason =
    (demanded.classical ? halfRefusal('CLASSICAL', token, keys) : undefined) ??
    (demanded.pq ? halfRefusal('PQ', token, pqKeys) : undefined)
  if (reason !== undefined) return refuse(reason)
  if (!isClock(now)) return refuse('CLOCK_REFUSED')
  return now / MS_PER_SECOND < token.exp ? { valid: true, token } : refuse('TOKEN_EXPIRED')
}
