/** The row and the parts of an entry that every recorded proof has. @module */
import type { Caller } from '../../caller.ts'
import type { Entry } from '../../ledger/item.ts'
import { encodeZk1, type SnarkProof } from '../../protocol/zk1.ts'
import type { Row } from '../../store/table.ts'
import type { StoredContext } from './statement.ts'
import { proofs } from './store.ts'

/** A proof to be stored. */
export interface Recorded {
  readonly proofId: string
  readonly circuitId: string
  readonly digest: string
  readonly proof: SnarkProof
  readonly publicSignals: readonly string[]
  readonly context: StoredContext | null
  /** Unix ms. */
  readonly createdAt: number
  /** Unix ms. */
  readonly expiresAt: number | null
}

/** The row of a proof. @param index place of its entry in the log */
export const proofRow = ({ organisation }: Caller, proof: Recorded, index: number): Row =>
  proofs.row({
    id: proof.proofId,
    organisation,
    entry_index: index,
    circuit_id: proof.circuitId,
    digest: proof.digest,
    proof: encodeZk1(proof.proof, proof.publicSignals),
    public_signals: proof.publicSignals,
    context: proof.context,
    created_at: proof.createdAt,
    expires_at: proof.expiresAt,
  })

/** What names a proof in an entry, for readers of the log and its followers. */
export const entryNames = (
  { credential }: Caller,
  { digest, circuitId, proofId }: Pick<Recorded, 'digest' | 'circuitId' | 'proofId'>,
): Pick<Entry, 'digest' | 'circuitId' | 'proofId' | 'keyId'> => ({
  digest,
  circuitId,
  proofId,
  ...('keyId' in credential && { keyId: credential.keyId }),
})
