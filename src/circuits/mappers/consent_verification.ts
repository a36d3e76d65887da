/** Circuit `consent_verification`: a signed consent covers a controller and a purpose now, or it doesn't. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
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
  /** Over {@link consentMessage}. */
  readonly signature: IssuerSignature
  readonly issuer: IssuerPoint
  /** Encoded like the consent's. */
  readonly controller: bigint
  /** Encoded like the consent's, not 0. */
  readonly purpose: bigint
  /** Unix seconds. */
  readonly now: bigint
  /** `scopeElement` of src/rules/encode.ts: where the subject's handle is to be unlinkable to others. */
  readonly scope: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

/** A consent has one nullifier wherever it is shown, so that a withdrawn one can be looked up. */
const NO_SCOPE = 0n

/** What every proof of a consent carries: withdrawn, it is known again. @throws RangeError for a secret beyond the field */
export const consentNullifier = ({ secret }: Pick<ConsentFields, 'secret'>): bigint =>
  poseidon(POSEIDON_TAGS.NULLIFIER, [secret, NO_SCOPE])

/** What stands for the subject of a consent within a scope. @throws RangeError for what is no element of the field */
export const consentSubjectHandle = ({ subject }: Pick<ConsentFields, 'subject'>, scope: bigint): bigint =>
  poseidon(POSEIDON_TAGS.SUBJECT, [subject, scope])

export const consentVerification = defineCircuit({
  id: 'consent_verification',
  name: 'Consent verification',
  description: 'Whether a signed consent covers a controller and a purpose at a time.',
  version: '1.0.0',
  domain: 8192,
  proves:
    'The prover holds a consent that this issuer key signed, and consent_verified says whether it is given to this ' +
    'controller for this purpose and from ≤ now < to. The handle belongs to its subject and scope. The nullifier is the ' +
    'same in every proof of a consent, so that a withdrawn one is recognised: whoever sees two proofs of it can tell.',
  checks: [
    "the issuer key is this service's, and valid now",
    'now is within 120 seconds of the clock',
    'controller, purpose, scope and ctx are recomputed from what was asked',
    'subject_handle is that of the person in question, which the asker compares',
    'the nullifier is not revoked',
  ],
  selfAsserted: false,
  outputs: ['consent_verified', 'subject_handle', 'nullifier'],
  inputs: ['issuerX', 'issuerY', 'controller', 'purpose', 'now', 'scope', 'ctx'],
  secrets: [
    'subject',
    'secret',
    'consentController',
    ['purposes', CONSENT_PURPOSES],
    'from',
    'to',
    'r8x',
    'r8y',
    's',
  ],
  assign(values: ConsentVerificationValues) {
    const { consent, signature, issuer, controller, purpose, now, scope, ctx } = values
    const { subject, secret, controller: consentController, purposes, from, to } = consent
    demandNumbers({ from, to, now })
    if (purpose === 0n) throw new RangeError('purpose must not be 0')
    demandSignature(consentMessage(consent), signature, issuer)
    const isCovered = consentController === controller && purposes.includes(purpose)
    return {
      consent_verified: isCovered && from <= now && now < to ? 1n : 0n,
      subject_handle: consentSubjectHandle(consent, scope),
      nullifier: consentNullifier(consent),
      issuerX: issuer.x,
      issuerY: issuer.y,
      controller,
      purpose,
      now,
      scope,
      ctx,
      subject,
      secret,
      consentController,
      purposes,
      from,
      to,
      ...signature,
    }
  },
})
