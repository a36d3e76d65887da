/** Circuit `consent_verification`: a signed consent covers a controller and a purpose now, or it doesn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { credentialNullifier, demandHolder } from '../holder-commitment.ts'
import {
  CONSENT_PURPOSES,
  type ConsentFields,
  consentMessage,
  demandSignature,
  type IssuerPoint,
  type IssuerSignature,
} from '../issuer-signature.ts'
import { demandNumbers } from './number-range.ts'

export interface ConsentVerificationValues {
  readonly consent: ConsentFields
  /** Behind the consent's `holder`. */
  readonly secret: bigint
  /** Over {@link consentMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Encoded like the consent's. */
  readonly controller: bigint
  /** Encoded like the consent's, not 0. */
  readonly purpose: bigint
  /** Unix seconds. */
  readonly now: bigint
  /** Whether its status is to be shown. The service accepts no proof without it. */
  readonly disclose: boolean
  /** `scopeElement` of src/rules/encode.ts: where the subject's handle is to be unlinkable to others. */
  readonly scope: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** What stands for the subject of a consent within a scope. @throws RangeError for what is no element of the field */
export const consentSubjectHandle = ({ subject }: Pick<ConsentFields, 'subject'>, scope: bigint): bigint =>
  poseidon(POSEIDON_TAGS.SUBJECT, [subject, scope])

export const consentVerification = defineCircuit({
  id: 'consent_verification',
  name: 'Consent verification',
  description: 'Whether a signed consent covers a controller and a purpose at a time.',
  version: '2.0.0',
  domain: 8192,
  proves:
    'The prover knows the secret behind a consent that this issuer key signed for this organisation, and consent_verified ' +
    'says whether it is given to this controller for this purpose and from ≤ now < to. The handle belongs to its subject ' +
    'and scope. With disclose 1, disclosedStatus is the place of the consent in a status list. It and the nullifier are the ' +
    'same in every proof of a consent: whoever sees two proofs of it can tell.',
  checks: [
    "the issuer key is this service's, and valid now",
    'organisation is an issuer that the asker accepts, and says whether the holder made the secret (2^248 and above)',
    'now is within 120 seconds of the clock',
    'controller, purpose, scope and ctx are recomputed from what was asked',
    'subject_handle is that of the person in question, which the asker compares',
    'disclosedStatus is disclosed, not withdrawn and not superseded',
  ],
  selfAsserted: false,
  outputs: ['consent_verified', 'subject_handle', 'nullifier', 'disclosedStatus'],
  inputs: ['issuerX', 'issuerY', 'organisation', 'controller', 'purpose', 'now', 'disclose', 'scope', 'ctx'],
  secrets: [
    'subject',
    'secret',
    'consentController',
    ['purposes', CONSENT_PURPOSES],
    'from',
    'to',
    'status',
    'r8x',
    'r8y',
    's',
  ],
  assign(values: ConsentVerificationValues) {
    const { consent, secret, signature, issuer, controller, purpose, now, disclose, scope, ctx } = values
    const {
      subject,
      holder,
      controller: consentController,
      purposes,
      from,
      to,
      organisation,
      status,
    } = consent
    demandNumbers({ from, to, now })
    if (purpose === 0n) throw new RangeError('purpose must not be 0')
    demandHolder(holder, secret, organisation)
    demandSignature(consentMessage(consent), signature, issuer)
    const isCovered = consentController === controller && purposes.includes(purpose)
    return {
      consent_verified: isCovered && from <= now && now < to ? 1n : 0n,
      subject_handle: consentSubjectHandle(consent, scope),
      nullifier: credentialNullifier(secret, status),
      disclosedStatus: disclose ? status : 0n,
      issuerX: issuer.x,
      issuerY: issuer.y,
      organisation,
      controller,
      purpose,
      now,
      disclose: disclose ? 1n : 0n,
      scope,
      ctx,
      subject,
      secret,
      consentController,
      purposes,
      from,
      to,
      status,
      ...signature,
    }
  },
})
