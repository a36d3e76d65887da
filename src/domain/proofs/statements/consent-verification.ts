/** What the service knows of `consent_verification`: the consent's issuer is its own, it is asked for who asks. @module */

import { consentVerification } from '../../../circuits/consent_verification.ts'
import { CONSENT_PURPOSES, type ConsentFields, consentMessage } from '../../../circuits/issuer-signature.ts'
import { AppError } from '../../../errors.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { ConsentInputs } from '../schemas-inputs.ts'
import type { Statement } from '../statement.ts'
import { demandIssued, element, elements, keyReasons, mismatch, numbers, signatureOf } from './signed.ts'

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
}

/** 0 marks an unused place, which nobody may ask for. */
const requirePurpose = (purpose: bigint): void => {
  if (purpose !== 0n) return
  throw new AppError('validation_failed', {
    details: [{ path: '/inputs/purpose', code: 'out_of_range', message: 'must not be 0' }],
  })
}

export const consentVerificationStatement = ({ issuer }: Deps): Statement => ({
  circuit: consentVerification,
  decision: 'consent_verified',
  nullifier: 'nullifier',
  inputs: ConsentInputs,

  async prepare(_caller, inputs, at) {
    // They fit the schema.
    const given = inputs as ConsentInputs
    const consent: ConsentFields = {
      ...elements(['subject', 'secret'], given),
      ...numbers(['from', 'to'], given),
      controller: element('consentController', given.consentController),
      purposes: Array.from({ length: CONSENT_PURPOSES }, (_, i) =>
        element(`purposes/${i}`, given.purposes[i] ?? '0'),
      ),
    }
    const { controller, purpose } = elements(['controller', 'purpose'], given)
    requirePurpose(purpose)
    const signed = await signatureOf(issuer, given)
    await demandIssued(issuer, consentMessage(consent), signed, at)
    return {
      statement: { controller: String(controller), purpose_element: String(purpose) },
      signals({ ctx, scope, now }) {
        const values = { consent, ...signed, controller, purpose, now, scope, ctx }
        return {
          publicSignals: consentVerification.publicSignals(values),
          witness: consentVerification.witnessInput(values),
        }
      },
    }
  },

  async check({ publicSignals, statement, now }) {
    const { issuerX, issuerY, controller, purpose } = consentVerification.read(publicSignals)
    return [
      ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
      ...mismatch(statement, { controller }, 'CONTROLLER_MISMATCH'),
      ...mismatch(statement, { purpose_element: purpose }, 'PURPOSE_MISMATCH'),
    ]
  },
})
