/** What the service knows of `consent_verification`: the consent's issuer is its own, it is asked for who asks. @module */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { CONSENT_PURPOSES, type ConsentFields, consentMessage } from '../../../circuits/issuer-signature.ts'
import { consentVerification } from '../../../circuits/mappers/consent_verification.ts'
import { AppError } from '../../../errors.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { type Facts, unexpected } from '../../../rules/expectation.ts'
import type { Refusal } from '../../consent/circuit-question.ts'
import { asLogged, LogConsent, Receipt, RevokeConsent } from '../../consent/schemas.ts'
import type { ConsentService } from '../../consent/service.ts'
import {
  type Checked,
  falseStatement,
  type IssuerLookup,
  type ReasonCode,
  type Statement,
} from '../statement.ts'
import { askedIn, circuitQuestion, EXPECTED, WHOLE } from './question.ts'
import { CLOSED, expecting, issuedSignals, Signal, signalsForm, signature, withAnswer } from './schemas.ts'
import {
  demandIssued,
  element,
  elements,
  keyReasons,
  mismatch,
  numbers,
  recipientOf,
  type Signed,
  signatureOf,
} from './signed.ts'

/** Parts of a question about a kept consent, as the routes of consents take them. */
const CONSENT_QUESTION = {
  consentId: RevokeConsent.properties.consentId,
  receipt: Receipt,
  purpose: LogConsent.properties.purposes.items,
  controller: LogConsent.properties.controller,
  subjectId: LogConsent.properties.subjectId,
} as const

const ConsentSignals = Type.Object(
  {
    subject: Signal,
    secret: Signal,
    consentController: Signal,
    purposes: Type.Array(Signal, {
      minItems: 1,
      maxItems: CONSENT_PURPOSES,
      description: 'In the order of the signature.',
    }),
    from: Signal,
    to: Signal,
    ...issuedSignals,
    ...signature,
    controller: Signal,
    purpose: Signal,
  },
  { title: 'ConsentSignals', description: 'The fields of a consent with their signature, and the question.' },
)
type ConsentSignals = Static<typeof ConsentSignals>

const askedOfConsent = {
  purpose: CONSENT_QUESTION.purpose,
  controller: Type.Optional(CONSENT_QUESTION.controller),
  subjectId: Type.Optional(CONSENT_QUESTION.subjectId),
}
const ByConsentId = Type.Object({ consentId: CONSENT_QUESTION.consentId, ...askedOfConsent }, CLOSED)
const ByReceipt = Type.Object({ receipt: CONSENT_QUESTION.receipt, ...askedOfConsent }, CLOSED)

/** The first two are closed, so that inputs with a `secret` are signals. */
const ConsentInputs = Type.Union([ByConsentId, ByReceipt, ConsentSignals])
type ConsentInputs = Static<typeof ConsentInputs>

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
  readonly consents: Pick<ConsentService, 'forCircuit' | 'refusalOf' | 'superseding'>
  readonly issuerOf: IssuerLookup
}

interface Asked extends Signed {
  readonly consent: ConsentFields
  readonly secret: bigint
  readonly controller: bigint
  readonly purpose: bigint
  /** Of a consent that the service keeps. */
  readonly consentId?: string
  readonly facts?: Facts
}

/** Why a kept consent doesn't count: for a proof that is asked for, and for one that was made before. */
const REFUSALS: Readonly<Record<Refusal, readonly [message: string, code: ReasonCode]>> = {
  unknown: ['This is no receipt of a consent that your organisation recorded.', 'CONSENT_UNKNOWN'],
  refused: ['The consent was refused.', 'CONSENT_REFUSED'],
  withdrawn: ['The consent was withdrawn.', 'CONSENT_WITHDRAWN'],
  expired: ['The consent is over.', 'CONSENT_EXPIRED'],
  superseded: ['A later record supersedes the consent for this purpose.', 'CONSENT_SUPERSEDED'],
  subject_mismatch: ['The consent is that of somebody else.', 'SUBJECT_MISMATCH'],
}

/** 0 marks an unused place, which nobody may ask for. */
const requirePurpose = (purpose: bigint): void => {
  if (purpose !== 0n) return
  throw new AppError('validation_failed', {
    details: [{ path: '/inputs/purpose', code: 'out_of_range', message: 'must not be 0' }],
  })
}

type ProofOfConsent = Parameters<NonNullable<Statement['superseding']>>[0]

export const consentVerificationStatement = ({ issuer, consents, issuerOf }: Deps): Statement => {
  const kept = async (caller: Caller, given: Exclude<ConsentInputs, ConsentSignals>): Promise<Asked> => {
    const { purpose, controller, subjectId } = given
    const consent = 'receipt' in given ? { receipt: given.receipt } : { consentId: given.consentId }
    const found = await consents.forCircuit(caller, { consent, purpose, controller, subjectId })
    if ('refused' in found) throw falseStatement(REFUSALS[found.refused][0])
    return found
  }

  const raw = async (given: ConsentSignals): Promise<Asked> => {
    const consent: ConsentFields = {
      ...elements(['subject'], given),
      ...numbers(['from', 'to'], given),
      controller: element('consentController', given.consentController),
      purposes: Array.from({ length: CONSENT_PURPOSES }, (_, i) =>
        element(`purposes/${i}`, given.purposes[i] ?? '0'),
      ),
      ...recipientOf(given),
    }
    const { controller, purpose, secret } = elements(['controller', 'purpose', 'secret'], given)
    requirePurpose(purpose)
    return { consent, secret, controller, purpose, ...(await signatureOf(issuer, given)) }
  }

  /**
   * The consent that a proof of a YES is about, which its status tells: whoever makes a proof may leave the id out of the statement.
   * A proof of a NO stands whatever becomes of it.
   */
  const consentOf = async ({ caller, publicSignals, statement }: ProofOfConsent) => {
    const { consent_verified, subject_handle, scope, purpose, disclosedStatus } =
      consentVerification.read(publicSignals)
    if (consent_verified !== 1n) return undefined
    const issued = await issuerOf(consentVerification.id, disclosedStatus)
    const consentId = issued?.consent ?? statement.consent_id
    // Of signals that were signed without being recorded, nothing else is known; of a recorded consent, something must be.
    if (typeof consentId !== 'string') return issued && { consentId: undefined }
    const organisation = issued?.organisation ?? caller.organisation
    return {
      organisation,
      consentId,
      proven: { purpose, subjectHandle: subject_handle, scope, status: disclosedStatus },
    }
  }

  /** What became of that consent. */
  const standingReasons = async (checked: Checked): Promise<ReasonCode[]> => {
    const about = await consentOf(checked)
    if (about === undefined) return []
    const refused =
      about.consentId === undefined
        ? 'unknown'
        : await consents.refusalOf(about.organisation, about.consentId, about.proven)
    return refused === undefined ? [] : [REFUSALS[refused][1]]
  }

  return {
    circuit: consentVerification,
    decision: 'consent_verified',
    spends: 'disclosedStatus',
    status: 'required',
    inputs: ConsentInputs,
    vouched: {
      issuer: async ({ publicSignals }) =>
        (await issuerOf(consentVerification.id, consentVerification.read(publicSignals).disclosedStatus))
          ?.organisation,
      sentence: () => 'Holds a consent that is in force.',
      isPerson: () => false,
    },

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const given = inputs as ConsentInputs
      const { consentId, facts, ...asked }: Asked = await ('secret' in given
        ? raw(given)
        : kept(caller, given))
      await demandIssued(issuer, caller, asked.consent, consentMessage(asked.consent), asked, at)
      return {
        statement: {
          controller: String(asked.controller),
          purpose_element: String(asked.purpose),
          disclose: '1',
          ...(consentId !== undefined && { consent_id: consentId }),
        },
        ...(facts && { differs: (expect, now) => unexpected(expect, facts, now) }),
        signals({ ctx, scope, now }) {
          const values = { ...asked, disclose: true, now, scope, ctx }
          return {
            publicSignals: consentVerification.publicSignals(values),
            witness: consentVerification.witnessInput(values),
          }
        },
      }
    },

    async superseding(asked) {
      const about = await consentOf(asked)
      if (about?.consentId === undefined) return undefined
      const { organisation, consentId, proven } = about
      const found = await consents.superseding(organisation, consentId, proven.purpose)
      const otherIssuer = organisation === asked.caller.organisation ? undefined : organisation
      return found && { ...found, otherIssuer, reason: REFUSALS.superseded[1] }
    },

    async check(checked) {
      const { publicSignals, statement, now } = checked
      const { issuerX, issuerY, controller, purpose } = consentVerification.read(publicSignals)
      return [
        ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
        ...mismatch(statement, { controller }, 'CONTROLLER_MISMATCH'),
        ...mismatch(statement, { purpose_element: purpose }, 'PURPOSE_MISMATCH'),
        ...(await standingReasons(checked)),
      ]
    },
  }
}

export const consentVerificationQuestion = circuitQuestion({
  circuit: consentVerification.id,
  name: 'verifyConsentByCircuit',
  summary: 'Prove that a signed consent covers a purpose',
  description: `Send \`consentId\` or \`receipt\` with \`purpose\`, or \`inputs\`. With \`subjectId\` it must be the consent of that person, identified in the public inputs by \`subject_handle\`. For a consent that was withdrawn, superseded or refused the field is false, also for proofs made earlier. ${WHOLE} ${EXPECTED}`,
  body: Type.Union([
    expecting(withAnswer(asLogged, ByConsentId)),
    expecting(ByReceipt),
    expecting(signalsForm(ConsentSignals)),
  ]),
  field: 'consent_verified',
  title: 'ConsentVerification',
  isTrue:
    'The consent was signed by this service, currently covers controller and purpose, and was neither withdrawn nor superseded.',
  errors: ['read_only'],
  example: { body: { consentId: '{consentId}', purpose: 'newsletter', subjectId: 'customer-1007' } },
  async asked(body, caller, { consents }) {
    if (!('consentId' in body)) return askedIn(body)
    await consents.requireLogged(caller, body)
    const { consentId, purpose, controller, subjectId, expect } = body
    return { inputs: { consentId, purpose, controller, subjectId }, expect }
  },
})
