/** Circuit `token_validation`: a signed token is valid at a time and for an audience, or it isn't. @module */
import { defineCircuit } from '../circuit.ts'
import { credentialNullifier, demandHolder } from '../holder-commitment.ts'
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
  /** Behind the token's `holder`. */
  readonly secret: bigint
  /** Over {@link tokenMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Unix seconds. */
  readonly now: bigint
  /** Who is asking, encoded like the token's audience; 0 accepts only tokens for any audience. */
  readonly audience: bigint
  /** Whether its status is to be shown. The service accepts no proof without it. */
  readonly disclose: boolean
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

export const tokenValidation = defineCircuit({
  id: 'token_validation',
  name: 'Token validation',
  description: 'Whether a signed token is valid at a time and for an audience.',
  version: '2.0.0',
  domain: 8192,
  proves:
    'The prover knows the secret behind a token that this issuer key signed for this organisation, and token_valid says ' +
    'whether issued at ≤ now < expires at and the token is for this audience or for any. Its subject and claims are not ' +
    'shown. With disclose 1, disclosedStatus is the place of the token in a status list. It and the nullifier are the same ' +
    'in every proof of a token: whoever sees two proofs of one token can tell.',
  checks: [
    "the issuer key is this service's, and valid now",
    'organisation is an issuer that the asker accepts, and says whether the holder made the secret (2^248 and above)',
    'now is within 120 seconds of the clock',
    'audience and ctx are recomputed from what was asked',
    'disclosedStatus is disclosed, not revoked and not used up',
  ],
  selfAsserted: false,
  outputs: ['token_valid', 'nullifier', 'disclosedStatus'],
  inputs: ['issuerX', 'issuerY', 'organisation', 'now', 'audience', 'disclose', 'ctx'],
  secrets: [
    'tokenId',
    'subject',
    'tokenAudience',
    'claims',
    'issuedAt',
    'expiresAt',
    'secret',
    'status',
    'r8x',
    'r8y',
    's',
  ],
  assign({ token, secret, signature, issuer, now, audience, disclose, ctx }: TokenValidationValues) {
    const { audience: tokenAudience, issuedAt, expiresAt, holder, organisation, status, ...rest } = token
    demandNumbers({ issuedAt, expiresAt, now })
    demandHolder(holder, secret, organisation)
    demandSignature(tokenMessage(token), signature, issuer)
    const isForAudience = tokenAudience === 0n || tokenAudience === audience
    return {
      token_valid: isForAudience && issuedAt <= now && now < expiresAt ? 1n : 0n,
      nullifier: credentialNullifier(secret, status),
      disclosedStatus: disclose ? status : 0n,
      issuerX: issuer.x,
      issuerY: issuer.y,
      organisation,
      now,
      audience,
      disclose: disclose ? 1n : 0n,
      ctx,
      ...rest,
      tokenAudience,
      issuedAt,
      expiresAt,
      secret,
      status,
      ...signature,
    }
  },
})
