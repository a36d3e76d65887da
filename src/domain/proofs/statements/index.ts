/** What the service knows of each circuit, and how it is asked: both lists have a line for each one's file. @module */
import type { Statement } from '../statement.ts'
import { auditProofQuestion, auditProofStatement } from './audit_proof.ts'
import { consentVerificationQuestion, consentVerificationStatement } from './consent_verification.ts'
import { kycStatement } from './kyc.ts'
import { offlineValidationQuestion, offlineValidationStatement } from './offline_validation.ts'
import { proofAggregationQuestion, proofAggregationStatement } from './proof_aggregation.ts'
import { quantumSafeTokenQuestion, quantumSafeTokenStatement } from './quantum_safe_token.ts'
import { ruleStatements } from './rules.ts'
import { tokenValidationQuestion, tokenValidationStatement } from './token_validation.ts'

/** All that take services. */
const STATEMENTS = [
  kycStatement,
  tokenValidationStatement,
  consentVerificationStatement,
  auditProofStatement,
  proofAggregationStatement,
  quantumSafeTokenStatement,
  offlineValidationStatement,
] as const

/** What all of them together take. */
type Deps = (typeof STATEMENTS)[number] extends (deps: infer All) => Statement ? All : never

/** @returns one for each circuit */
export const createStatements = (deps: Deps): readonly Statement[] => [
  ...ruleStatements,
  ...STATEMENTS.map((create) => create(deps)),
]

/** Those of the circuits that have a route, in the order of the OpenAPI document. */
export const CIRCUIT_QUESTIONS = [
  tokenValidationQuestion,
  consentVerificationQuestion,
  auditProofQuestion,
  proofAggregationQuestion,
  quantumSafeTokenQuestion,
  offlineValidationQuestion,
] as const
export type ResultField = (typeof CIRCUIT_QUESTIONS)[number]['field']
