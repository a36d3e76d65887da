/** A good input of each circuit, and proofs of them that are made once for all tests of a process. */
import type { CircuitId } from '../../src/circuits/catalogue.ts'
import type { WitnessInput } from '../../src/circuits/circuit.ts'
import { createProofMaker, type Proved } from '../../src/circuits/groth16.ts'
import { artifacts } from './circuits.ts'
import { auditProofInput } from './inputs/audit_proof.ts'
import { compositeInput } from './inputs/composite.ts'
import { consentVerificationInput } from './inputs/consent_verification.ts'
import { eligibilityInput } from './inputs/eligibility.ts'
import { kycInput } from './inputs/kyc.ts'
import { offlineValidationInput } from './inputs/offline_validation.ts'
import { proofAggregationInput } from './inputs/proof_aggregation.ts'
import { quantumSafeTokenInput } from './inputs/quantum_safe_token.ts'
import { simpleYesnoInput } from './inputs/simple_yesno.ts'
import { tokenValidationInput } from './inputs/token_validation.ts'
import { yesnoInput } from './inputs/yesno.ts'

/** A good witness input of each circuit, by id. One file of `inputs/` for each. */
export const GOOD_INPUTS: Readonly<Record<CircuitId, WitnessInput>> = {
  simple_yesno: simpleYesnoInput,
  yesno: yesnoInput,
  eligibility: eligibilityInput,
  composite: compositeInput,
  kyc: kycInput,
  token_validation: tokenValidationInput,
  consent_verification: consentVerificationInput,
  audit_proof: auditProofInput,
  proof_aggregation: proofAggregationInput,
  quantum_safe_token: quantumSafeTokenInput,
  offline_validation: offlineValidationInput,
}

const proofs = new Map<CircuitId, Promise<Proved>>()

/** A proof of the good input, made on this thread; one proof is not worth any tables. */
export const goodProof = (id: CircuitId): Promise<Proved> => {
  const proof = proofs.get(id) ?? createProofMaker(artifacts[id], 0).then((make) => make(GOOD_INPUTS[id]))
  proofs.set(id, proof)
  return proof
}
