/** A good input of each circuit, and proofs of them that are made once for all tests of a process. */
import type { CircuitId } from '../../../src/circuits/catalogue.ts'
import type { WitnessInput } from '../../../src/circuits/circuit.ts'
import { createProofMaker, type Proved } from '../../../src/circuits/proving/groth16.ts'
import { artifacts } from '../circuits/circuits.ts'
import { auditProofInput } from '../circuits/inputs/audit_proof.ts'
import { compositeInput } from '../circuits/inputs/composite.ts'
import { consentVerificationInput } from '../circuits/inputs/consent_verification.ts'
import { eligibilityInput } from '../circuits/inputs/eligibility.ts'
import { kycInput } from '../circuits/inputs/kyc.ts'
import { offlineValidationInput } from '../circuits/inputs/offline_validation.ts'
import { proofAggregationInput } from '../circuits/inputs/proof_aggregation.ts'
import { quantumSafeTokenInput } from '../circuits/inputs/quantum_safe_token.ts'
import { simpleYesnoInput } from '../circuits/inputs/simple_yesno.ts'
import { tokenValidationInput } from '../circuits/inputs/token_validation.ts'
import { yesnoInput } from '../circuits/inputs/yesno.ts'

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
