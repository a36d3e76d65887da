/** Records proofs that the service did not make. @module */
import type { Caller } from '../../caller.ts'
import type { Item } from '../../ledger/item.ts'
import type { UsageService } from '../usage/service.ts'
import type { AdoptedProof, CheckedProof, ForeignProof } from './proof.ts'
import { entryNames, proofRow } from './recording.ts'
import { commitmentOf, packedBytes, verdictOf } from './signals.ts'
import type { VerifiedProof } from './spending.ts'

/** Kept with the claim on a digest that was adopted. */
type Adopted = { readonly proofId: string }

interface Adoption {
  readonly caller: Caller
  readonly foreign: ForeignProof
  readonly examined: VerifiedProof
  readonly checked: CheckedProof
  /** Unix ms. */
  readonly at: number
  readonly usage: Pick<UsageService, 'meterRow'>
}

/** The item that makes a foreign proof a known one. @param present the caller's answer */
export const adoptItem = <R>(
  { caller, foreign, examined, checked, at, usage }: Adoption,
  present: (adopted: AdoptedProof) => R,
): Item<R> => {
  const { organisation } = caller
  const { digest, proofId, publicSignals, statement } = examined
  const { context, category, subject } = foreign
  const holder: Adopted = { proofId }
  return {
    claims: [{ kind: 'proof.adopted', key: digest, holder, code: 'conflict' }],
    entry: {
      type: 'verify',
      ...entryNames(caller, examined),
      commitment: commitmentOf(statement, publicSignals),
      ...(subject && { subject }),
      data: { decision: verdictOf(examined.decision) },
    },
    rows: ({ index }) => [
      proofRow(caller, { ...examined, context, createdAt: at, expiresAt: null }, index),
      ...(category === undefined
        ? []
        : [
            usage.meterRow({ organisation, at, category, proofs: 1, proofBytes: packedBytes(publicSignals) }),
          ]),
    ],
    result: (receipt) => present({ ...checked, receipt, createdAt: at }),
    // The holder is what the claim above carries.
    lost: (held) => ({
      settled: present({ ...checked, proofId: (held.holder as Adopted).proofId, createdAt: held.at }),
    }),
  }
}
