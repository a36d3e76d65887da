/**
 * Hybrid tokens: claims about a subject under a classical and a post-quantum signature, both over the same bytes. What
 * is signed names the algorithms, the keys and the policy, so none of them can be swapped or stripped.
 * @module
 */

import { createCore } from '../core/index.ts'
import { canonicalJson, hasCanonicalJson } from './canonical-json.ts'
import { isObject } from './json-object.ts'

/** Begins what is signed, and is the ML-DSA context string (FIPS 204 §5.2). */
export const HYBRID_TOKEN_SCHEMA = 'hybrid-token/1'
export const HYBRID_TOKEN_CONTEXT: Uint8Array = new TextEncoder().encode(HYBRID_TOKEN_SCHEMA)

/** Ed25519 (RFC 8032); ECDSA on P-256 with SHA-256, r ‖ s (RFC 7518 §3.4). */
export const CLASSICAL_ALGORITHMS = ['Ed25519', 'ECDSA_P256'] as const
export type ClassicalAlgorithm = (typeof CLASSICAL_ALGORITHMS)[number]
/** ML-DSA-44 and ML-DSA-65 (FIPS 204) under the names that they had as candidates. */
export const PQ_ALGORITHMS = ['Dilithium2', 'Dilithium3'] as const
export type PqAlgorithm = (typeof PQ_ALGORITHMS)[number]
export const VERIFICATION_POLICIES = ['classical_only', 'pq_only', 'hybrid_required'] as const
export type VerificationPolicy = (typeof VERIFICATION_POLICIES)[number]

/** Those of the standards. Round 3 of the competition had 3,293 bytes for Dilithium3; such signatures are none. */
export const SIGNATURE_BYTES: Readonly<Record<ClassicalAlgorithm | PqAlgorithm, number>> = {
  Ed25519: 64,
  ECDSA_P256: 64,
  Dilithium2: 2420,
  Dilithium3: 3309,
}

/** Of a token as JSON in UTF-8. */
export const MAX_HYBRID_TOKEN_BYTES = 6144
/** From `iat` to `exp`. */
export const MAX_LIFE_SECONDS = 365 * 24 * 3600
export const MAX_SUBJECT_CHARACTERS = 256
/** Levels of lists and objects inside one another, `claims` itself being the first. */
export const MAX_CLAIMS_DEPTH = 16

const TOKEN_ID = /^hyt_[0-9a-z]{26}$/
/** Whether an id is that of a hybrid token. */
export const isHybridTokenId = (id: string): boolean => TOKEN_ID.test(id)
/** RFC 7638 thumbprints; empty where the token has no such signature. */
const KID = /^[\w-]{43}$/

/** What both signatures cover. */
export interface HybridContent {
  /** `hyt_…` */
  readonly token_id: string
  readonly subject: string
  /** With `decision`, 1 or 0. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly alg_classical: ClassicalAlgorithm
  readonly alg_pq: PqAlgorithm
  readonly verification_policy: VerificationPolicy
  /** Unix seconds, as `exp`; the token holds before `exp`. */
  readonly iat: number
  readonly exp: number
  readonly kid_classical: string
  readonly kid_pq: string
}

export interface HybridToken extends HybridContent {
  /** Base64url; empty where there is none. */
  readonly sig_classical: string
  readonly sig_pq: string
  /** Not signed: whose the keys are says who signed. */
  readonly signed_by?: string
}

/** Which signatures count. */
export interface Demanded {
  readonly classical: boolean
  readonly pq: boolean
}

const core = createCore()

/** Those that the token's own policy or the asker's demand. */
export const demandedSignatures = (...policies: readonly VerificationPolicy[]): Demanded => ({
  classical: policies.some((policy) => policy !== 'pq_only'),
  pq: policies.some((policy) => policy !== 'classical_only'),
})

/** UTF-8 of `hybrid-token/1`, a newline, and the canonical JSON (RFC 8785) of the ten members that are signed. */
export const hybridSigningBytes = ({
  token_id,
  subject,
  claims,
  alg_classical,
  alg_pq,
  verification_policy,
  iat,
  exp,
  kid_classical,
  kid_pq,
}: HybridContent): Uint8Array => {
  const signed = {
    token_id,
    subject,
    claims,
    alg_classical,
    alg_pq,
    verification_policy,
    iat,
    exp,
    kid_classical,
    kid_pq,
  }
  return new TextEncoder().encode(`${HYBRID_TOKEN_SCHEMA}\n${canonicalJson(signed)}`)
}

/** Bytes of a token as JSON in UTF-8. */
export const hybridTokenBytes = (token: HybridToken): number =>
  new TextEncoder().encode(JSON.stringify(token)).length

/** Whether canonical JSON can hold a value that JSON could: 1e999 is read as infinite. */
const isFiniteWithin = (value: unknown, depth: number): boolean => {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((member) => isFiniteWithin(member, depth - 1))
}

/** What is wrong with claims, or undefined. */
export const claimsFault = (claims: unknown): 'no_object' | 'no_decision' | 'too_deep' | undefined => {
  if (!isObject(claims)) return 'no_object'
  if (claims.decision !== 0 && claims.decision !== 1) return 'no_decision'
  return isFiniteWithin(claims, MAX_CLAIMS_DEPTH) ? undefined : 'too_deep'
}

const isSeconds = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const isOneOf = (values: readonly string[], value: unknown): boolean =>
  typeof value === 'string' && values.includes(value)

const isText = (value: unknown): value is string => typeof value === 'string'

const isKid = (value: unknown): boolean => isText(value) && (value === '' || KID.test(value))

const isSubject = (value: unknown): boolean => {
  if (!isText(value)) return false
  const { length } = [...value]
  return length > 0 && length <= MAX_SUBJECT_CHARACTERS
}

/** Each member's form; `signed_by` may be left out, and there are no others. */
const FORMS: Readonly<Record<Exclude<keyof HybridToken, 'signed_by'>, (value: unknown) => boolean>> = {
  token_id: (value) => isText(value) && isHybridTokenId(value),
  subject: isSubject,
  claims: (value) => claimsFault(value) === undefined,
  alg_classical: isText,
  alg_pq: isText,
  sig_classical: isText,
  sig_pq: isText,
  verification_policy: isText,
  iat: isSeconds,
  exp: isSeconds,
  kid_classical: isKid,
  kid_pq: isKid,
}

/** Why a value is no hybrid token. */
export type FormFault =
  | 'TOKEN_MALFORMED'
  | 'TOKEN_TOO_LARGE'
  | 'ALGORITHM_UNKNOWN'
  | 'POLICY_UNKNOWN'
  | 'LIFETIME_INVALID'

const isFormed = (value: unknown): value is HybridToken => {
  if (!isObject(value)) return false
  const { signed_by, ...members } = value
  return (
    Object.keys(members).length === Object.keys(FORMS).length &&
    Object.entries(FORMS).every(([name, fits]) => Object.hasOwn(members, name) && fits(members[name])) &&
    (signed_by === undefined || isText(signed_by))
  )
}

/** Reads a value as a hybrid token; of its signatures only that they are texts. Never throws. */
export const readHybridToken = (
  value: unknown,
): { readonly token: HybridToken } | { readonly fault: FormFault } => {
  if (!isFormed(value)) return { fault: 'TOKEN_MALFORMED' }
  if (hybridTokenBytes(value) > MAX_HYBRID_TOKEN_BYTES) return { fault: 'TOKEN_TOO_LARGE' }
  // Nobody could have signed it.
  if (!hasCanonicalJson(value)) return { fault: 'TOKEN_MALFORMED' }
  const { alg_classical, alg_pq, verification_policy, iat, exp } = value
  if (!isOneOf(CLASSICAL_ALGORITHMS, alg_classical) || !isOneOf(PQ_ALGORITHMS, alg_pq))
    return { fault: 'ALGORITHM_UNKNOWN' }
  if (!isOneOf(VERIFICATION_POLICIES, verification_policy)) return { fault: 'POLICY_UNKNOWN' }
  if (exp <= iat || exp - iat > MAX_LIFE_SECONDS) return { fault: 'LIFETIME_INVALID' }
  return { token: value }
}

/** The bytes of a signature. @returns undefined unless they are canonical base64url of the algorithm's length */
export const readSignature = (
  alg: ClassicalAlgorithm | PqAlgorithm,
  text: string,
): Uint8Array | undefined => {
  const length = SIGNATURE_BYTES[alg]
  if (text.length !== Math.ceil((length * 4) / 3)) return undefined
  return core.base64urlDecode(text)
}
