/** Values that token_validation has a witness for. @module */
import { type TokenFields, tokenMessage } from '../../../../src/circuits/issuer-signature.ts'
import {
  type TokenValidationValues,
  tokenValidation,
} from '../../../../src/circuits/mappers/token_validation.ts'
import { randomElement } from '../../elements.ts'
import { issuedTo } from '../issued.ts'
import { testIssuer } from '../issuer.ts'

export const AUDIENCE = 0xa0d1e5cen

/** With `token` a token of other fields, signed. */
export const tokenValidationValues = ({
  token: fields,
  ...changes
}: Partial<Omit<TokenValidationValues, 'token'>> & {
  token?: Partial<TokenFields>
} = {}): TokenValidationValues => {
  const secret = changes.secret ?? randomElement()
  const token = {
    tokenId: randomElement(),
    subject: randomElement(),
    audience: AUDIENCE,
    claims: randomElement(),
    issuedAt: 1_799_999_000n,
    expiresAt: 1_800_001_000n,
    ...issuedTo(secret),
    ...fields,
  }
  return {
    token,
    secret,
    signature: testIssuer.sign(tokenMessage(token)),
    issuer: testIssuer.point,
    now: 1_800_000_000n,
    audience: AUDIENCE,
    disclose: true,
    ctx: randomElement(),
    ...changes,
  }
}

export const goodInput = tokenValidation.witnessInput(tokenValidationValues())
