/** Circuit `token_validation`: a signed token is valid at a time and for an audience, or it isn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import {
  demandSignature,
  type IssuerPoint,
  type IssuerSignature,
  type TokenFields,
  tokenMessage,
} from '../issuer-signature.ts'
import { demandNumbers } from './number-range.ts'

export interface TokenValidationValues {
  readonly token: TokenFields
  /** Over {@link tokenMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Unix seconds. */
  readonly now: bigint
  /** Who is asking, encoded like the token's audience; 0 accepts only tokens for any audience. */
  readonly audience: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** A token has one nullifier wherever it is shown, so that a revoked one can be looked up. */
const NO_SCOPE = 0n

/** What every proof of a token carries: spent or revoked, it is known again. @throws RangeError for a secret beyond the field */
export const tokenNullifier = ({ secret }: Pick<TokenFields, 'secret'>): bigint =>
  poseidon(POSEIDON_TAGS.NULLIFIER, [secret, NO_SCOPE])

export const tokenValidation = defineCircuit({
  id: 'token_validation',
  name: 'Token validation',
  description: 'Whether a signed token is valid at a time and for an audience.',
  version: '1.0.0',
  domain: 8192,
  proves:
    'The prover holds a token that this issuer key signed, and token_valid says whether issued at ≤ now < expires at ' +
    'and the token is for this audience or for any. The nullifier is the same in every proof of a token, so that a ' +
    'revoked one is recognised: whoever sees two proofs of one token can tell. Its subject and claims are not shown.',
  checks: [
    "the issuer key is this service's, and valid now",
    'now is within 120 seconds of the clock',
    'audience and ctx are recomputed from what was asked',
    'the nullifier is not revoked',
  ],
  selfAsserted: false,
  outputs: ['token_valid', 'nullifier'],
  inputs: ['issuerX', 'issuerY', 'now', 'audience', 'ctx'],
  secrets: [
    'tokenId',
    'subject',
    'tokenAudience',
    'claims',
    'issuedAt',
    'expiresAt',
    'secret',
    'r8x',
    'r8y',
    's',
  ],
  assign({ token, signature, issuer, now, audience, ctx }: TokenValidationValues) {
    const { audience: tokenAudience, issuedAt, expiresAt, secret, ...rest } = token
    demandNumbers({ issuedAt, expiresAt, now })
    demandSignature(tokenMessage(token), signature, issuer)
    const isForAudience = tokenAudience === 0n || tokenAudience === audience
    return {
      token_valid: isForAudience && issuedAt <= now && now < expiresAt ? 1n : 0n,
      nullifier: tokenNullifier(token),
      issuerX: issuer.x,
      issuerY: issuer.y,
      now,
      audience,
      ctx,
      ...rest,
      tokenAudience,
      issuedAt,
      expiresAt,
      secret,
      ...signature,
    }
  },
})
