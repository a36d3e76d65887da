/** Every circuit there is. What else knows circuits by name derives it from here. @module */
import { auditProof } from './audit_proof.ts'
import type { Circuit } from './circuit.ts'
import { composite } from './composite.ts'
import { consentVerification } from './consent_verification.ts'
import { eligibility } from './eligibility.ts'
import { kyc } from './kyc.ts'
import { offlineValidation } from './offline_validation.ts'
import { proofAggregation } from './proof_aggregation.ts'
import { quantumSafeToken } from './quantum_safe_token.ts'
import { simpleYesno } from './simple_yesno.ts'
import { tokenValidation } from './token_validation.ts'
import { yesno } from './yesno.ts'

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
