/**
 * `assay/proving`: zero-knowledge proofs where the secrets are, in a browser or in Node, with the files that the service
 * itself proves with. The service takes such proofs like its own.
 *
 * In pages it needs `'wasm-unsafe-eval'` in the content security policy. A proof keeps its thread busy for about as long
 * as GET /api/circuits lets expect of its constraints: use a worker where that matters.
 * @module
 */
import type { Answer } from '../answer.ts'
import { CircuitFilesError } from '../artifacts/artifact-files.ts'
import type { Circuit, Provable } from '../circuit.ts'
import { offlineValidation } from '../mappers/offline_validation.ts'
import { type OfflinePaymentStatement, offlinePaymentValues } from '../mappers/offline-payment.ts'
import { createProofMaker, type Proved, type ProvingArtifacts } from './groth16.ts'

export { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
export { STATUS_LIST_ENTRIES, statusListUri, statusNumber, statusPlace } from '../../protocol/status.ts'
export {
  type ExpectedStatusList,
  readStatusList,
  STATUS_LIST_REASONS,
  type StatusList,
  type StatusListRead,
  type StatusListReason,
} from '../../protocol/status-list.ts'
export {
  decodeZk1,
  encodeZk1,
  type ProofWithSignals,
  proofDigest,
  type SnarkProof,
} from '../../protocol/zk1.ts'
export {
  type Binding,
  bindingOf,
  contextElement,
  defaultPurpose,
  encodeValue,
  organisationElement,
  type ProofContext,
  type ProofScope,
  scopeElement,
} from '../../rules/encode.ts'
export { type Expectation, type ExpectationReason, type Facts, unexpected } from '../../rules/expectation.ts'
export { type Answer, type AskedContext, answerOf } from '../answer.ts'
export {
  type CircuitFiles,
  CircuitFilesError,
  type FetchOptions,
  fetchCircuitFiles,
} from '../artifacts/artifact-files.ts'
export { CIRCUITS, findCircuit } from '../catalogue.ts'
export { type Credential, type CredentialCircuit, credentialValues, type HeldValues } from '../credential.ts'
export { poseidon } from '../field.ts'
export {
  createHolder,
  exportHolder,
  type Holder,
  type HolderBackup,
  HolderImportError,
  importHolder,
} from '../holder.ts'
export { holderCommitment } from '../holder-commitment.ts'
export { type ConsentVerificationValues, consentVerification } from '../mappers/consent_verification.ts'
export { type KycValues, kyc } from '../mappers/kyc.ts'
export { type OfflineValidationValues, offlineValidation } from '../mappers/offline_validation.ts'
export type { OfflinePaymentStatement, ProvablePayment } from '../mappers/offline-payment.ts'
export {
  cardNullifierElement,
  terminalCommitment,
  terminalSecretElement,
} from '../mappers/terminal-secret.ts'
export { type TokenValidationValues, tokenValidation } from '../mappers/token_validation.ts'
export {
  type PresentedProof,
  type PublishedIssuerKey,
  type VerifiedPresentation,
  type VerifyOptions,
  type VerifyReason,
  verifyProof,
} from '../offline-verification.ts'
export { type ProofToCompare, proofFacts } from '../proof-facts.ts'
export {
  type ProofRefusal,
  type ProofVerdict,
  readVerificationKey,
  type VerificationKey,
  verifyPairing,
} from '../verifier.ts'
export { WitnessError } from './witness.ts'
export type { Circuit, Proved, ProvingArtifacts }
export { offlinePaymentValues }

/** Makes proofs of one circuit. */
export interface Proving<Values> {
  /**
   * @throws RangeError for values that no witness exists for
   * @throws WitnessError where the circuit refuses them
   * @throws CircuitFilesError where the files come to other public signals than the values have
   */
  prove(values: Values): Promise<Proved>
}

/**
 * Makes a proof that shows what it should and nothing else: other files could make a secret one of its public signals.
 * @throws CircuitFilesError where it would show anything else
 */
const proveOnly = async (
  make: (witness: Provable['witness']) => Promise<Proved>,
  { witness, publicSignals }: Provable,
): Promise<Proved> => {
  const made = await make(witness)
  if (made.publicSignals.join() !== publicSignals.join())
    throw new CircuitFilesError('The files are not those of the circuit: they come to other public signals')
  return made
}

/**
 * Prepares for proofs of a circuit: do it once, it takes some hundred milliseconds.
 * @param circuit its mapper, such as `offlineValidation`
 * @throws RangeError for what is no proving key
 */
export const createProving = async <Values>(
  circuit: Pick<Circuit<string, Values>, 'witnessInput' | 'publicSignals'>,
  artifacts: ProvingArtifacts,
): Promise<Proving<Values>> => {
  const make = await createProofMaker(artifacts)
  return {
    prove: async (values) =>
      proveOnly(make, {
        witness: circuit.witnessInput(values),
        publicSignals: circuit.publicSignals(values),
      }),
  }
}

/** Prepares for proofs that a terminal makes of its payments. @throws as {@link createProving} */
export const createOfflinePaymentProving = async (
  artifacts: ProvingArtifacts,
): Promise<Proving<OfflinePaymentStatement>> => {
  const proving = await createProving(offlineValidation, artifacts)
  return { prove: async (statement) => proving.prove(offlinePaymentValues(statement)) }
}

/**
 * Proves an answer to a challenge.
 * @param artifacts of its circuit
 * @throws WitnessError; RangeError for what is no proving key; CircuitFilesError for files that would show anything else
 */
export const proveAnswer = async (answer: Answer, artifacts: ProvingArtifacts): Promise<Proved> =>
  proveOnly(await createProofMaker(artifacts), answer)
