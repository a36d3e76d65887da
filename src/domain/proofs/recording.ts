/** The row and the parts of an entry that every recorded proof has. @module */
import type { Caller } from '../../caller.ts'
import { AppError } from '../../errors.ts'
import { type Claim, proofRecordedKind } from '../../ledger/claim-kinds.ts'
import type { Entry, Place, Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
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
export const proofRow = (
  { organisation }: Pick<Caller, 'organisation'>,
  proof: Recorded,
  index: number,
): Row =>
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
export const entryNames = ({
  digest,
  circuitId,
  proofId,
}: Pick<Recorded, 'digest' | 'circuitId' | 'proofId'>): Pick<Entry, 'digest' | 'circuitId' | 'proofId'> => ({
  digest,
  circuitId,
  proofId,
})

const PROOF_RECORDED = 'PROOF_RECORDED'

/** The claim of a proof on what has one record only; its holder is the proof's id. @param once what that is, see `recordedOnce` */
export const recordClaim = (circuitId: string, once: string): Claim => [proofRecordedKind(circuitId), once]

/** What commits a proof. */
export interface ProofRecording {
  /** Of type `prove`. */
  readonly entry: Entry
  /** Records it. @param as the entry that does so; default: `entry` @throws as `reserve` */
  record(tx: Tx, as?: Entry): Place
  /**
   * The parts of `record`: takes what the proof costs, and the one record of what has one only. To be done first.
   * @throws AppError conflict, of which `recordedId` knows the record; free_allocation_used, subscription_inactive
   */
  reserve(tx: Tx): void
  /** And writes the stored proof, and that it was used. @param index of the entry */
  write(tx: Tx, index: number): void
}

/** The id of the one record, or undefined. */
export const findRecorded = async (
  ledger: Pick<Ledger, 'findClaim'>,
  { organisation }: Caller,
  circuitId: string,
  once: string,
): Promise<string | undefined> => {
  const held = await ledger.findClaim(organisation, ...recordClaim(circuitId, once))
  // The holder is what the claim carries.
  return held && String(held.holder)
}

/** What is to be recorded has its record. @param proofId of that */
export const alreadyRecorded = (proofId: string): AppError =>
  new AppError('conflict', {
    message: 'A proof of this is already recorded.',
    reason: PROOF_RECORDED,
    extras: { proof_id: proofId },
  })

/** The id of the first record, where that is why nothing was recorded. @throws the error, where it is another */
export const recordedId = (error: unknown): string => {
  if (error instanceof AppError && error.reason === PROOF_RECORDED) return String(error.extras?.proof_id)
  throw error
}
