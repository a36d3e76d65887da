/** Values that kyc has a witness for. @module */
import { type KycCredential, kycMessage } from '../../../../src/circuits/issuer-signature.ts'
import { type KycValues, kyc } from '../../../../src/circuits/mappers/kyc.ts'
import { encodeValue } from '../../../../src/rules/encode.ts'
import { randomElement } from '../../elements.ts'
import { issuedTo } from '../issued.ts'
import { testIssuer } from '../issuer.ts'

export const COUNTRIES = ['IT', 'FR', 'DE', 'ES', 'AT', 'CH', 'PT', 'NL', 'BE'].map(encodeValue)

/** With `credential` a credential of other fields, signed. */
export const kycValues = ({
  credential: fields,
  ...changes
}: Partial<Omit<KycValues, 'credential'>> & { credential?: Partial<KycCredential> } = {}): KycValues => {
  const secret = changes.secret ?? randomElement()
  const credential = {
    subject: randomElement(),
    birthDate: 19901231n,
    country: encodeValue('IT'),
    level: 2n,
    expiresAt: 1_900_000_000n,
    ...issuedTo(secret),
    ...fields,
  }
  return {
    credential,
    secret,
    signature: testIssuer.sign(kycMessage(credential)),
    issuer: testIssuer.point,
    now: 1_800_000_000n,
    minLevel: 1n,
    latestBirthDate: 20081121n,
    countries: COUNTRIES.slice(0, 2),
    unique: true,
    disclose: true,
    scope: randomElement(),
    ctx: randomElement(),
    ...changes,
  }
}

// The country is the last of eight, so that each of them counts: behind the one that is found they no longer do.
export const goodInput = kyc.witnessInput(kycValues({ countries: COUNTRIES.slice(0, 8).reverse() }))
