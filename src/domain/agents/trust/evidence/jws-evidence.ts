/** A compact JWS as evidence: signed by the agent for one audience and a short time, to be used once. @module */
import { hash } from 'node:crypto'
import type { PublicKey } from '../../../../keys/public-key.ts'
import { readJws } from '../../../../protocol/jws.ts'
import type { EvidenceReason } from '../reasons.ts'
import { type Evidence, type FindKey, nonceFault, timeFaults } from './evidence.ts'

/** Explicit typing (RFC 8725 §3.11): what an agent signs to be recognised authorises nothing, and the other way round. */
export const PROOF_TYP = 'agent-proof+jws'
export const REQUEST_TYP = 'agent-request+jws'

export interface JwsExpectations {
  readonly typ: typeof PROOF_TYP | typeof REQUEST_TYP
  /** Must be `aud`, or one of its members. */
  readonly audience: string
  /** Unix seconds. */
  readonly now: number
}

/** `alg` by key: EdDSA (RFC 8037) or its fully-specified name (RFC 9864), ES256 (RFC 7518), ML-DSA as in its JWK. */
const isAlgorithmOf = ({ alg }: PublicKey, stated: unknown): boolean =>
  stated === alg || (alg === 'Ed25519' && stated === 'EdDSA')

/**
 * Whether the key made the signature, by the algorithm that is the key's own.
 * @param covered header and payload as they were signed
 * @returns why not, or undefined
 */
export const jwsFault = (
  key: PublicKey,
  alg: unknown,
  covered: Uint8Array,
  signature: Uint8Array,
): EvidenceReason | undefined => {
  if (!isAlgorithmOf(key, alg)) return 'ALG_MISMATCH'
  return key.verify(covered, signature) ? undefined : 'SIGNATURE_INVALID'
}

const isFor = (aud: unknown, audience: string): boolean =>
  Array.isArray(aud) ? aud.includes(audience) : aud === audience

const refused = (reason: EvidenceReason, digest: string): Evidence => ({
  method: 'jws',
  reasons: [reason],
  digest,
})

const asNumber = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) ? Number(value) : undefined

/** Judges a compact JWS with the claims `aud`, `iat`, `exp` and `nonce` or `jti`. Fails closed, with every reason. */
export const readJwsEvidence = async (
  text: string,
  expected: JwsExpectations,
  findKey: FindKey,
): Promise<Evidence> => {
  const digest = hash('sha256', text)
  const read = readJws(text)
  if (read === undefined) return refused('JWS_MALFORMED', digest)
  const { header, payload, covered, signature } = read
  // Other members, such as jku, jwk or crit, would ask for something that is not done here.
  if (Object.keys(header).sort().join() !== 'alg,kid,typ' || header.typ !== expected.typ)
    return refused('HEADER_REFUSED', digest)
  const signer = await findKey(header.kid)
  if (typeof signer === 'string') return refused(signer, digest)
  const fault = jwsFault(signer.publicKey, header.alg, covered, signature)
  if (fault !== undefined) return refused(fault, digest)
  const { aud, iat, exp } = payload
  const nonce = payload.nonce ?? payload.jti
  const nonceReason = nonceFault(nonce)
  return {
    method: 'jws',
    reasons: [
      ...(isFor(aud, expected.audience) ? [] : (['AUDIENCE_MISMATCH'] as const)),
      ...timeFaults(iat, exp, expected.now),
      ...(nonceReason === undefined ? [] : [nonceReason]),
    ],
    signer,
    created: asNumber(iat),
    expires: asNumber(exp),
    nonce: typeof nonce === 'string' ? nonce : undefined,
    signed: payload,
    digest,
  }
}
