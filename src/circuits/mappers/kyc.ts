/** Circuit `kyc`: a signed credential answers what was asked of it, or it doesn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { demandHolder } from '../holder-commitment.ts'
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
  /** Behind the credential's `holder`. */
  readonly secret: bigint
  /** Over {@link kycMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Unix seconds. */
  readonly now: bigint
  /** 0 ≤ minLevel < 2^64 */
  readonly minLevel: bigint
  /** yyyymmdd: who was born later is refused. */
  readonly latestBirthDate: bigint
  /** Up to {@link KYC_COUNTRIES} that are accepted, encoded like the credential's; none: any is. */
  readonly countries: readonly bigint[]
  /** Whether its subject is to act once in the scope, whichever credential they show: `person` is 0 otherwise. */
  readonly unique: boolean
  /** Whether its status is to be shown, so that it can be looked up. */
  readonly disclose: boolean
  /** `scopeElement` of src/rules/encode.ts: where the nullifier is to be unlinkable to others. */
  readonly scope: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** In the first place for a country: any is accepted. */
const ANY_COUNTRY = 0n

/** Unused places repeat the first; all are 0 where any country is accepted. @throws RangeError for too many */
export const filledCountries = (countries: readonly bigint[]): bigint[] => {
  const [first = ANY_COUNTRY] = countries
  if (countries.length > KYC_COUNTRIES) throw new RangeError(`countries must be at most ${KYC_COUNTRIES}`)
  return Array.from({ length: KYC_COUNTRIES }, (_, i) => countries[i] ?? first)
}

/** What a secret is known by in a scope. */
export const kycNullifier = (secret: bigint, scope: bigint): bigint =>
  poseidon(POSEIDON_TAGS.NULLIFIER, [secret, scope])

/** What a subject spends in a scope, whichever credential and secret of theirs a proof shows. */
export const kycPerson = (subject: bigint, scope: bigint): bigint =>
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
  const isFrom = countries.includes(country) || countries[0] === ANY_COUNTRY
  return level >= minLevel && birthDate <= latestBirthDate && isFrom && now < expiresAt ? 1n : 0n
}

export const kyc = defineCircuit({
  id: 'kyc',
  name: 'Credential',
  description:
    'Whether a signed credential has a level, an age and a country that are accepted, and is valid.',
  version: '2.0.0',
  domain: 8192,
  proves:
    'The prover knows the secret behind a credential that this issuer key signed for this organisation, and decision says ' +
    'whether now < expiry, level ≥ minLevel, birth date ≤ latestBirthDate and its country is one of countries, or any is ' +
    'accepted (0). The nullifier belongs to the secret and scope; person, where unique is 1, to the subject and scope, ' +
    'whichever of their credentials is shown. With disclose 1, disclosedStatus is the place of the credential in a status ' +
    'list, and two proofs of one credential are linkable. A secret can be given away: not proof that the subject is present.',
  checks: [
    "the issuer key is this service's, and valid now",
    'organisation is an issuer that the asker accepts, and says whether the holder made the secret (2^248 and above)',
    'now is within 120 seconds of the clock',
    'minLevel, latestBirthDate, countries, unique, scope and ctx are recomputed from what was asked',
    'disclosedStatus is disclosed unless the asker does without, and not revoked, replaced or erased',
    'person is not spent',
  ],
  selfAsserted: false,
  outputs: ['decision', 'nullifier', 'person', 'disclosedStatus'],
  inputs: [
    'issuerX',
    'issuerY',
    'organisation',
    'now',
    'minLevel',
    'latestBirthDate',
    ['countries', KYC_COUNTRIES],
    'unique',
    'disclose',
    'scope',
    'ctx',
  ],
  secrets: ['subject', 'birthDate', 'country', 'level', 'expiresAt', 'secret', 'status', 'r8x', 'r8y', 's'],
  assign(values: KycValues) {
    const { credential, secret, signature, issuer, now, minLevel, latestBirthDate, scope, ctx } = values
    const countries = filledCountries(values.countries)
    const { holder, organisation, status, ...fields } = credential
    const { subject, birthDate, country, level, expiresAt } = fields
    demandNumbers({ birthDate, level, expiresAt, now, minLevel, latestBirthDate })
    if (birthDate === 0n || country === 0n) throw new RangeError('birthDate and country must not be 0')
    demandHolder(holder, secret, organisation)
    demandSignature(kycMessage(credential), signature, issuer)
    return {
      decision: kycDecision(credential, { now, minLevel, latestBirthDate, countries }),
      nullifier: kycNullifier(secret, scope),
      person: values.unique ? kycPerson(subject, scope) : 0n,
      disclosedStatus: values.disclose ? status : 0n,
      issuerX: issuer.x,
      issuerY: issuer.y,
      organisation,
      now,
      minLevel,
      latestBirthDate,
      countries,
      unique: values.unique ? 1n : 0n,
      disclose: values.disclose ? 1n : 0n,
      scope,
      ctx,
      ...fields,
      secret,
      status,
      ...signature,
    }
  },
})
