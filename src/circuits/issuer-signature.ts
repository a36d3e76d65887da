/**
 * What the service's issuer signs for circuits, and the check of such a signature: EdDSA on Baby Jubjub (EIP-2494)
 * with Poseidon, the scheme of circomlib's EdDSAPoseidonVerifier. Nothing here signs: signatures are made where
 * something is issued (src/keys/issuer.ts), and mappers only pass them on.
 * @module
 */
import { babyjubjub } from '@noble/curves/misc.js'
import { poseidon5 } from 'poseidon-lite/poseidon5'
import { POSEIDON_TAGS } from '../core/poseidon-tags.ts'
import { poseidon } from './field.ts'

/** A public key: a point on Baby Jubjub in the subgroup of prime order, affine twisted Edwards coordinates. */
export interface IssuerPoint {
  readonly x: bigint
  readonly y: bigint
}

/** `s` is below the order of the subgroup; R8 is a point of it. */
export interface IssuerSignature {
  readonly r8x: bigint
  readonly r8y: bigint
  readonly s: bigint
}

/** What everything that is signed for circuits says of who holds it and who issued it. */
export interface Issued {
  /** `holderCommitment` of src/circuits/holder.ts: only who knows the secret behind it can make proofs. */
  readonly holder: bigint
  /** `organisationElement` of src/rules/encode.ts: who issued it, and whether the holder made the secret. */
  readonly organisation: bigint
  /** Its place in a status list, as `statusNumber` of src/protocol/status.ts has it; never 0. */
  readonly status: bigint
}

/** What was found out about somebody. */
export interface KycCredential extends Issued {
  /** A keyed hash of who it is; never a name. */
  readonly subject: bigint
  /** yyyymmdd, not 0. */
  readonly birthDate: bigint
  /** `encodeValue` of the country's code (src/rules/encode.ts), not 0. */
  readonly country: bigint
  /** 0 ≤ level < 2^64: how well it was checked. */
  readonly level: bigint
  /** Unix seconds; not valid from then on. */
  readonly expiresAt: bigint
}

export interface TokenFields extends Issued {
  /** `h248` of the token's id. */
  readonly tokenId: bigint
  /** A keyed hash of who it is about. */
  readonly subject: bigint
  /** `h248` of the audience, 0 where any may take it. */
  readonly audience: bigint
  /** `h248` of the claims in canonical JSON. */
  readonly claims: bigint
  /** Unix seconds; valid from then on. */
  readonly issuedAt: bigint
  /** Unix seconds; not valid from then on. */
  readonly expiresAt: bigint
}

/** Places for purposes in a consent. */
export const CONSENT_PURPOSES = 8

export interface ConsentFields extends Issued {
  /** A keyed hash of who consents. */
  readonly subject: bigint
  /** `h248` of who may use the data. */
  readonly controller: bigint
  /** {@link CONSENT_PURPOSES} elements, each the `h248` of a purpose; 0 where a place is unused. */
  readonly purposes: readonly bigint[]
  /** Unix seconds; given from then on. */
  readonly from: bigint
  /** Unix seconds; over from then on. */
  readonly to: bigint
}

/** Proofs that an attestor has verified. */
export interface AggregateFields {
  /** How many they are. */
  readonly count: bigint
  /** `contextElement` of src/rules/encode.ts: what the aggregate is for. */
  readonly ctx: bigint
  /** Poseidon[AGGREGATE_CHAIN] of their digests and decisions. */
  readonly chain: bigint
}

/** @returns what is signed of a credential. @throws RangeError for fields that are no elements of the field */
export const kycMessage = (credential: KycCredential): bigint => {
  const { subject, birthDate, country, level, expiresAt, holder, organisation, status } = credential
  const fields = [subject, birthDate, country, level, expiresAt, holder, organisation, status]
  return poseidon(POSEIDON_TAGS.KYC2, fields)
}

/** @returns what is signed of a token. @throws RangeError for fields that are no elements of the field */
export const tokenMessage = (token: TokenFields): bigint => {
  const { tokenId, subject, audience, claims, issuedAt, expiresAt, holder, organisation, status } = token
  const fields = [tokenId, subject, audience, claims, issuedAt, expiresAt, holder, organisation, status]
  return poseidon(POSEIDON_TAGS.TOKEN2, fields)
}

/**
 * @returns what is signed of a consent
 * @throws RangeError for another number of purposes, and fields that are no elements of the field
 */
export const consentMessage = (consent: ConsentFields): bigint => {
  const { subject, holder, controller, purposes, from, to, organisation, status } = consent
  if (purposes.length !== CONSENT_PURPOSES)
    throw new RangeError(`purposes must have ${CONSENT_PURPOSES} elements, 0 where unused`)
  const fields = [subject, holder, controller, ...purposes, from, to, organisation, status]
  return poseidon(POSEIDON_TAGS.CONSENT2, fields)
}

/** @returns what is signed of an aggregate. @throws RangeError for fields that are no elements of the field */
export const aggregateMessage = ({ count, ctx, chain }: AggregateFields): bigint =>
  poseidon(POSEIDON_TAGS.AGGREGATE, [count, ctx, chain])

/** h of the scheme: Poseidon (circomlib, capacity 0) of R8, A and the message. */
export const signatureChallenge = (r8: IssuerPoint, issuer: IssuerPoint, message: bigint): bigint =>
  poseidon5([r8.x, r8.y, issuer.x, issuer.y, message])

const { Point } = babyjubjub

/** @returns the point, or undefined where it isn't one of the subgroup of prime order other than its zero */
const pointOf = ({ x, y }: IssuerPoint): InstanceType<typeof Point> | undefined => {
  if (x < 0n || y < 0n || x >= Point.Fp.ORDER || y >= Point.Fp.ORDER) return undefined
  const point = Point.fromAffine({ x, y })
  try {
    point.assertValidity()
  } catch {
    // The only way in which the library says that a point isn't on the curve.
    return undefined
  }
  return !point.is0() && point.isTorsionFree() ? point : undefined
}

/**
 * Whether S · B8 = R8 + 8h · A, with S below the order of the subgroup and both points in it, as the circuits demand.
 * @param message an element of the field
 */
export const issuerSignatureHolds = (
  message: bigint,
  { r8x, r8y, s }: IssuerSignature,
  issuer: IssuerPoint,
): boolean => {
  const order = Point.Fn.ORDER
  const a = pointOf(issuer)
  const r8 = pointOf({ x: r8x, y: r8y })
  if (a === undefined || r8 === undefined || s < 0n || s >= order) return false
  const scalar = (8n * signatureChallenge({ x: r8x, y: r8y }, issuer, message)) % order
  return Point.BASE.multiplyUnsafe(s).equals(r8.add(a.multiplyUnsafe(scalar)))
}

/** @throws RangeError where the signature doesn't hold: no witness exists then */
export const demandSignature = (message: bigint, signature: IssuerSignature, issuer: IssuerPoint): void => {
  if (!issuerSignatureHolds(message, signature, issuer))
    throw new RangeError("the signature is not the issuer's over these fields")
}
