/** Who holds things in tests of circuits. @module */
import { holderCommitment } from '../../../src/circuits/holder-commitment.ts'
import type { Issued } from '../../../src/circuits/issuer-signature.ts'
import { type Binding, organisationElement } from '../../../src/rules/encode.ts'

export const ISSUING_ORGANISATION = 'org_issuer'
export const STATUS = (3n << 20n) + 78n

/** A holder with this secret, at an organisation. */
export const issuedTo = (
  secret: bigint,
  binding: Binding = 'holder',
  organisation = ISSUING_ORGANISATION,
): Issued => {
  const element = organisationElement(organisation, binding)
  return { holder: holderCommitment(secret, element), organisation: element, status: STATUS }
}
