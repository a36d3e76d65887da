/** A proof that was made, as `/v1` answers it, and what of that may come back with the proof. @module */
import { iso } from '../../clock.ts'
import { named } from '../../ledger/logs.ts'
import type { GeneratedProof } from './proof.ts'
import type { ProofGenerated } from './schemas.ts'

export const generatedV1 = (made: GeneratedProof): ProofGenerated => ({
  proof_id: made.proofId,
  circuit_id: made.circuitId,
  digest: made.digest,
  proof: made.proof as ProofGenerated['proof'],
  public_signals: [...made.publicSignals],
  decision: made.decision,
  ...(made.reason && { reason: made.reason }),
  context: made.context as ProofGenerated['context'],
  created_at: iso(made.createdAt),
  expires_at: made.expiresAt === null ? null : iso(made.expiresAt),
  ...named(made.receipt.log),
  merkle_root: made.receipt.root,
  merkle_leaf_hash: made.receipt.leafHash,
  merkle_index: made.receipt.index,
})
