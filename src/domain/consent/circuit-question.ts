/** A consent as the circuit consent_verification is asked about it, and what the circuit can't know of it. @module */
import { consentSubjectHandle } from '../../circuits/mappers/consent_verification.ts'
import type { Facts } from '../../rules/expectation.ts'
import type { ConsentStatus } from './schemas.ts'
import { type CircuitConsent, nameElement, subjectElement } from './sealed-consent.ts'
import { controllerOf, purposesOf, type Standing, statusAt, supersededPurposes } from './standing.ts'

/** What a proof is to be made of, as callers name it. */
export interface CircuitQuestion {
  /** `cns_…`, or the receipt. */
  readonly consent: { readonly consentId: string } | { readonly receipt: string }
  readonly purpose: string
  /** Default: the consent's own. */
  readonly controller?: string
  /** Whose consent it must be. */
  readonly subjectId?: string
}

/** A consent ready to be proved of. */
export interface PreparedConsent extends CircuitConsent {
  readonly consentId: string
  /** What of the consent can be compared with what is expected. */
  readonly facts: Facts
  /** Elements of what is asked. */
  readonly controller: bigint
  readonly purpose: bigint
}

/** Why there is no proof of a consent that counts. */
export type Refusal = Exclude<ConsentStatus, 'given'> | 'unknown' | 'subject_mismatch'

export interface RefusedConsent {
  readonly refused: Refusal
}

/** Asked by the hash inside the circuit, which is all that a proof holds of its purpose. @param at Unix ms */
const refusalAt = (standing: Standing, purpose: bigint, at: number): Refusal | undefined => {
  const status = statusAt(standing, at)
  if (status !== 'given') return status
  const isSuperseded = supersededPurposes(standing, at).some((one) => nameElement(one) === purpose)
  return isSuperseded ? 'superseded' : undefined
}

/**
 * The circuit's values, or why it can't be asked: that a consent is over, or for other purposes, it says itself.
 * @param asked.subject permanent pseudonym of whose consent it must be @param asked.at Unix ms
 */
export const prepareConsent = (
  standing: Standing,
  asked: Pick<CircuitQuestion, 'purpose' | 'controller'> & {
    readonly subject: string | undefined
    readonly at: number
    /** Address of the service. */
    readonly issuer: string
  },
): PreparedConsent | RefusedConsent => {
  const { row, inside } = standing
  if (asked.subject !== undefined && asked.subject !== row.subject) return { refused: 'subject_mismatch' }
  const purpose = nameElement(asked.purpose)
  const refused = refusalAt(standing, purpose, asked.at)
  if (refused !== undefined && refused !== 'expired') return { refused }
  // What was refused has no signature, also when it is over.
  if (inside.circuit === undefined) return { refused: 'refused' }
  const controller =
    asked.controller === undefined ? inside.circuit.consent.controller : nameElement(asked.controller)
  const facts: Facts = {
    issuers: [row.organisation, asked.issuer],
    statement: { consentId: row.id, controller: controllerOf(standing), purposes: purposesOf(standing) },
    max_age_seconds: row.recorded_at,
  }
  return { ...inside.circuit, consentId: row.id, facts, controller, purpose }
}

/** What a proof shows of a consent. */
export interface ProvenConsent {
  readonly purpose: bigint
  readonly subjectHandle: bigint
  readonly scope: bigint
  /** As the proof discloses it. */
  readonly status: bigint
}

/** Why a proof that says YES of this consent doesn't count, or undefined. @param at Unix ms */
export const provenRefusal = (
  standing: Standing,
  { purpose, subjectHandle, scope, status }: ProvenConsent,
  at: number,
): Refusal | undefined => {
  const handle = consentSubjectHandle({ subject: subjectElement(standing.row.subject) }, scope)
  if (handle !== subjectHandle) return 'subject_mismatch'
  const { circuit } = standing.inside
  // Another one of the same person's was named.
  if (circuit?.consent.status !== status) return 'unknown'
  return refusalAt(standing, purpose, at)
}
