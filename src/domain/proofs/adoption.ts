/** Records proofs that the service did not make. @module */
import type { Caller } from '../../caller.ts'
import type { Item } from '../../ledger/item.ts'
import { zk1Bytes } from '../../protocol/zk1.ts'
import type { UsageService } from '../usage/service.ts'
import type { AdoptedProof, CheckedProof, ForeignProof } from './proof.ts'
import { alreadyRecorded, entryNames, proofRow, recordClaim } from './recording.ts'
import { commitmentOf, verdictOf } from './signals.ts'
import type { VerifiedProof } from './spending/spending.ts'

/** Kind of the claims that adopted proofs left on their digests, before each had its one record. */
const ADOPTED_DIGEST = 'proof.adopted'

interface Adoption {
  readonly caller: Caller
  readonly foreign: ForeignProof
  readonly examined: VerifiedProof
  readonly checked: CheckedProof
  /** Unix ms. */
  readonly at: number
  readonly usage: Pick<UsageService, 'meterRow'>
  /** What has one record only. */
  readonly once: string
}

/** The item that makes a foreign proof a known one. @param present the caller's answer */
export const adoptItem = <R>(
  { caller, foreign, examined, checked, at, usage, once }: Adoption,
  present: (adopted: AdoptedProof) => R,
): Item<R> => {
  const { organisation } = caller
  const { digest, publicSignals, statement } = examined
  const { context, category, subject } = foreign
  return {
    claims: [
      recordClaim(examined, once),
      { kind: ADOPTED_DIGEST, key: digest, code: 'conflict', look: true },
    ],
    entry: {
      type: 'verify',
      ...entryNames(examined),
      commitment: commitmentOf(statement, publicSignals),
      ...(subject && { subject }),
      data: { decision: verdictOf(examined.decision) },
    },
    rows: ({ index }) => [
      proofRow(caller, { ...examined, context, createdAt: at, expiresAt: null }, index),
      ...(category === undefined
        ? []
        : [usage.meterRow({ organisation, at, category, proofs: 1, proofBytes: zk1Bytes(publicSignals) })]),
    ],
    result: (receipt) => present({ ...checked, receipt, recorded: examined }),
    // The holders are what the claims carry.
    lost({ claim, holder }) {
      const first = claim.kind === ADOPTED_DIGEST ? (holder as { proofId: string }).proofId : holder
      throw alreadyRecorded(String(first))
    },
  }
}
