/** Where a policy decided beside the circuit, and said NO to what the circuit alone shows. @module */
import type { Database } from '../../../store/database.ts'
import type { ProofRecord, Stated, Statement } from '../statement.ts'
import { findVerdict } from '../store.ts'

/**
 * Whether a policy said NO to a proof that shows a YES. Proofs that were made before statements told the verdict are told by the
 * result that they were made for; without that, nobody knows of a YES.
 */
export const isPolicyRefusal = async (
  database: Database,
  { provesRules }: Pick<Statement, 'provesRules'>,
  { organisation, proofId }: Pick<ProofRecord, 'organisation' | 'proofId'>,
  stated: Stated,
): Promise<boolean> => {
  if (stated.policy_verdict !== undefined) return stated.policy_verdict !== 'YES'
  // Only results are about data; rules that the circuit evaluates itself have no other verdict.
  if (stated.data_commitment === undefined || provesRules) return false
  return (await findVerdict(database, organisation, proofId)) !== 'YES'
}
