/** Circuit `kyc`: a signed credential answers what was asked of it, or it doesn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import {
  demandSignature,
  type IssuerPoint,
  type IssuerSignature,
  type KycCredential,
  kycMessage,
} from '../issuer-signature.ts'
import { demandNumbers } from './number-range.ts'

/** How many countries can be accepted. */
export const KYC_COUNTRIES = 8

export interface KycValues {
  readonly credential: KycCredential
  /** Over {@link kycMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Unix seconds. */
  readonly now: bigint
  /** 0 ≤ minLevel < 2^64 */
  readonly minLevel: bigint
  /** yyyymmdd: who was born later is refused. */
  readonly latestBirthDate: bigint
  /** 1 to {@link KYC_COUNTRIES} that are accepted, encoded like the credential's; the rest repeats the first. */
  readonly countries: readonly bigint[]
  /** `scopeElement` of src/rules/encode.ts: where the nullifier is to be unlinkable to others. */
  readonly scope: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** Unused places repeat the first. @throws RangeError for none or too many */
export const filledCountries = (countries: readonly bigint[]): bigint[] => {
  const [first] = countries
  if (first === undefined || countries.length > KYC_COUNTRIES)
    throw new RangeError(`countries must be 1 to ${KYC_COUNTRIES}`)
  return Array.from({ length: KYC_COUNTRIES }, (_, i) => countries[i] ?? first)
}

/** What a proof of a subject spends in a scope, whichever credential of the subject it shows. */
export const kycNullifier = (subject: bigint, scope: bigint): bigint =>
  poseidon(POSEIDON_TAGS.SUBJECT, [subject, scope])

/** What a credential answers to what is asked: 1 for YES, 0 for NO. */
export const kycDecision = (
  { level, birthDate, country, expiresAt }: KycCredential,
  {
    now,
    minLevel,
    latestBirthDate,
    countries,
  }: Pick<KycValues, 'now' | 'minLevel' | 'latestBirthDate' | 'countries'>,
): bigint => {
  const isAccepted = level >= minLevel && birthDate <= latestBirthDate && countries.includes(country)
  return isAccepted && now < expiresAt ? 1n : 0n
}

export const kyc = defineCircuit({
  id: 'kyc',
  name: 'Credential',
  description:
    'Whether a signed credential has a level, an age and a country that are accepted, and is valid.',
  version: '1.0.0',
  domain: 8192,
  proves:
    'The prover holds a credential that this issuer key signed, and decision says whether now < expiry, ' +
    'level ≥ minLevel, birth date ≤ latestBirthDate and its country is one of countries. The nullifier belongs to its ' +
    'subject and scope. A bearer credential: not proof that the holder is its subject, or is present.',
  checks: [
    "the issuer key is this service's, and valid now",
    'now is within 120 seconds of the clock',
    'minLevel, latestBirthDate, countries, scope and ctx are recomputed from what was asked',
    "the credential that the statement names is of the nullifier's person, says what decision says, and was neither replaced nor erased",
    'the nullifier is not revoked',
  ],
  selfAsserted: false,
  outputs: ['decision', 'nullifier'],
  inputs: [
    'issuerX',
    'issuerY',
    'now',
    'minLevel',
    'latestBirthDate',
    ['countries', KYC_COUNTRIES],
    'scope',
    'ctx',
  ],
  secrets: ['subject', 'birthDate', 'country', 'level', 'expiresAt', 'secret', 'r8x', 'r8y', 's'],
  assign({ credential, signature, issuer, now, minLevel, latestBirthDate, scope, ctx, ...asked }: KycValues) {
    const countries = filledCountries(asked.countries)
    const { subject, birthDate, country, level, expiresAt } = credential
    demandNumbers({ birthDate, level, expiresAt, now, minLevel, latestBirthDate })
    if (birthDate === 0n || country === 0n) throw new RangeError('birthDate and country must not be 0')
    demandSignature(kycMessage(credential), signature, issuer)
    return {
      decision: kycDecision(credential, { now, minLevel, latestBirthDate, countries }),
      nullifier: kycNullifier(subject, scope),
      issuerX: issuer.x,
      issuerY: issuer.y,
      now,
      minLevel,
      latestBirthDate,
      countries,
      scope,
      ctx,
      ...credential,
      ...signature,
    }
  },
})
