/** Values that consent_verification has a witness for. @module */

import { type ConsentFields, consentMessage } from '../../../../src/circuits/issuer-signature.ts'
import {
  type ConsentVerificationValues,
  consentVerification,
} from '../../../../src/circuits/mappers/consent_verification.ts'
import { randomElement } from '../../elements.ts'
import { issuedTo } from '../issued.ts'
import { testIssuer } from '../issuer.ts'

export const [CONTROLLER, BILLING, RESEARCH] = [0xc0n, 0xb111n, 0x5ea2c4n] as const

/** With `consent` a consent of other fields, signed. */
export const consentVerificationValues = ({
  consent: fields,
  ...changes
}: Partial<Omit<ConsentVerificationValues, 'consent'>> & {
  consent?: Partial<ConsentFields>
} = {}): ConsentVerificationValues => {
  const secret = changes.secret ?? randomElement()
  const consent = {
    subject: randomElement(),
    ...issuedTo(secret),
    controller: CONTROLLER,
    purposes: [BILLING, RESEARCH, 0n, 0n, 0n, 0n, 0n, 0n],
    from: 1_799_999_000n,
    to: 1_800_001_000n,
    ...fields,
  }
  return {
    consent,
    secret,
    signature: testIssuer.sign(consentMessage(consent)),
    issuer: testIssuer.point,
    controller: CONTROLLER,
    purpose: RESEARCH,
    now: 1_800_000_000n,
    disclose: true,
    scope: randomElement(),
    ctx: randomElement(),
    ...changes,
  }
}

export const goodInput = consentVerification.witnessInput(consentVerificationValues())
