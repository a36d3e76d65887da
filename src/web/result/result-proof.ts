/**
 * Checks the zero-knowledge proof of a result. A chunk of its own: only results whose proof is public load it.
 * @module
 */
import { composite } from '../../circuits/mappers/composite.ts'
import { eligibility } from '../../circuits/mappers/eligibility.ts'
import { simpleYesno } from '../../circuits/mappers/simple_yesno.ts'
import { yesno } from '../../circuits/mappers/yesno.ts'
import { readVerificationKey, verifyPairing } from '../../circuits/verifier.ts'
import { decodeZk1, proofDigest } from '../../protocol/zk1.ts'
import { type Finding, failed, lacking, passed, skipped } from './finding.ts'

/** Circuits that results are proved with; each has a public signal `decision`. */
const CIRCUITS = [simpleYesno, yesno, eligibility, composite]

export interface ProofEvidence {
  /** `zk1.…` */
  readonly proof: string
  /** What the service publishes as the circuit's verification key. */
  readonly key: unknown
  readonly circuitId: string
  /** As signed: lower-case hex. */
  readonly digest: string
  /** As signed; a result without a question has none, and its circuit proves a plain yes. */
  readonly decision: 'YES' | 'NO' | null
}

export const checkProof = async ({
  proof,
  key: published,
  circuitId,
  digest,
  decision,
}: ProofEvidence): Promise<Finding> => {
  const circuit = CIRCUITS.find(({ id }) => id === circuitId)
  if (circuit === undefined) return skipped(`This page does not know the circuit ${circuitId}.`)
  const key = readVerificationKey(published)
  if (key === undefined)
    return lacking('What the service publishes as the circuit’s key is no verification key.')
  const read = decodeZk1(proof)
  if (read === undefined) return failed('What the service gave is no proof.')
  if (proofDigest(circuitId, read.publicSignals) !== digest)
    return failed('The proof proves another statement than the one whose digest was signed.')
  const verdict = await verifyPairing(key, read.proof, read.publicSignals)
  if (!verdict.valid) return failed(`The Groth16 proof does not hold: ${verdict.reason}.`)
  const proven = circuit.read(read.publicSignals).decision
  if (proven !== (decision === 'NO' ? 0n : 1n))
    return failed('The proof proves another decision than the signed one.')
  return passed(
    `The Groth16 proof holds under the key of circuit ${circuitId}, for the statement whose digest was signed.`,
  )
}
