/** Records proofs that the service did not make. @module */
import type { Caller } from '../../caller.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Place, Tx } from '../../ledger/decision.ts'
import { zk1Bytes } from '../../protocol/zk1.ts'
import type { UsageService } from '../usage/service.ts'
import type { ForeignProof } from './proof.ts'
import { alreadyRecorded, entryNames, proofRow, recordClaim } from './recording.ts'
import { commitmentOf, verdictOf } from './signals.ts'
import type { VerifiedProof } from './spending/spending.ts'

interface Adoption {
  readonly caller: Caller
  readonly foreign: ForeignProof
  readonly examined: VerifiedProof
  /** Unix ms. */
  readonly at: number
  readonly usage: Pick<UsageService, 'meterRow'>
  /** What has one record only. */
  readonly once: string
}

/** Makes a foreign proof a known one. @throws AppError conflict, of which `recordedId` knows the record */
export const adopt = (tx: Tx, { caller, foreign, examined, at, usage, once }: Adoption): Place => {
  const { organisation } = caller
  const { digest, publicSignals, statement, circuitId, proofId } = examined
  const { context, category, subject } = foreign
  const record = recordClaim(circuitId, once)
  const first = tx.holder(...record)
  // The holders are what was claimed with them.
  if (first) throw alreadyRecorded(String(first.holder))
  // Adopted proofs left claims on their digests before each had its one record.
  const former = tx.holder(CLAIM_KINDS.proofAdopted, digest)
  if (former) throw alreadyRecorded((former.holder as { proofId: string }).proofId)
  tx.claim(...record, proofId)
  const place = tx.append({
    type: 'verify',
    ...entryNames(examined),
    commitment: commitmentOf(statement, publicSignals),
    ...(subject && { subject }),
    data: { decision: verdictOf(examined.decision) },
  })
  const stored = { ...examined, context, createdAt: at, expiresAt: null }
  tx.write(proofRow(caller, stored, place.index))
  if (category !== undefined)
    tx.write(usage.meterRow({ organisation, at, category, proofs: 1, proofBytes: zk1Bytes(publicSignals) }))
  return place
}
