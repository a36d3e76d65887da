/** What issuers know a holder by, and tokens and consents are known by, without the secret behind them. @module */
import { POSEIDON_TAGS } from '../core/poseidon-tags.ts'
import { poseidon } from './field.ts'

/**
 * Poseidon[HOLDER](secret, organisation): another one for each issuer, so that issuers can't compare.
 * @param organisation `organisationElement` of src/rules/encode.ts
 * @throws RangeError for what is no element of the field
 */
export const holderCommitment = (secret: bigint, organisation: bigint): bigint =>
  poseidon(POSEIDON_TAGS.HOLDER, [secret, organisation])

/**
 * Poseidon[CREDENTIAL](secret, status): what every proof of a token or a consent carries, and only its holder can compute.
 * @throws RangeError for what is no element of the field
 */
export const credentialNullifier = (secret: bigint, status: bigint): bigint =>
  poseidon(POSEIDON_TAGS.CREDENTIAL, [secret, status])

/** @throws RangeError where the secret isn't the one behind the commitment: no witness exists then */
export const demandHolder = (holder: bigint, secret: bigint, organisation: bigint): void => {
  if (holderCommitment(secret, organisation) !== holder)
    throw new RangeError('the secret is not that of the holder to whom it was issued')
}
