/** Every circuit there is. What else knows circuits by name derives it from here. @module */

import type { Circuit } from './circuit.ts'
import { auditProof } from './mappers/audit_proof.ts'
import { composite } from './mappers/composite.ts'
import { consentVerification } from './mappers/consent_verification.ts'
import { eligibility } from './mappers/eligibility.ts'
import { kyc } from './mappers/kyc.ts'
import { offlineValidation } from './mappers/offline_validation.ts'
import { proofAggregation } from './mappers/proof_aggregation.ts'
import { quantumSafeToken } from './mappers/quantum_safe_token.ts'
import { simpleYesno } from './mappers/simple_yesno.ts'
import { tokenValidation } from './mappers/token_validation.ts'
import { yesno } from './mappers/yesno.ts'

const catalogue = [
  simpleYesno,
  yesno,
  eligibility,
  composite,
  kyc,
  tokenValidation,
  consentVerification,
  auditProof,
  proofAggregation,
  quantumSafeToken,
  offlineValidation,
] as const

export type CircuitId = (typeof catalogue)[number]['id']

export const CIRCUITS: readonly Circuit<CircuitId>[] = catalogue

/** @returns the circuit of this id, or undefined where there is none */
export const findCircuit = (id: string): Circuit<CircuitId> | undefined =>
  CIRCUITS.find((circuit) => circuit.id === id)

/**
 * The circuit that names these public signals.
 * @returns undefined also where it has another number of them: those of a version that was replaced have other names
 */
export const circuitOf = (
  id: string | undefined,
  publicSignals: readonly unknown[],
): Circuit<CircuitId> | undefined =>
  CIRCUITS.find((circuit) => circuit.id === id && circuit.publicNames.length === publicSignals.length)
