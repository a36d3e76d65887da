/** Forgets a person. @module */
import { kycNullifier } from '../../circuits/mappers/kyc.ts'
import { iso } from '../../clock.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import { scopeElement } from '../../rules/encode.ts'
import type { PersonErased } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { type SubjectRow, subjects } from './store.ts'

const ERASED = CLAIM_KINDS.kycErased
/** What the nullifiers of most proofs are scoped to; all others are found by what their statement names. */
const COMMON_PURPOSES = ['proof', 'verify'] as const

type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

/** Held from the moment on at which a person is erased. */
export const erasedClaim = ({ subject, generation }: Person): Claim => [ERASED, `${subject}/${generation}`]

/** @returns whom an entry is about */
export const entrySubject = ({ subject }: Person): [kind: string, id: string] => ['kyc-subject', subject]

interface Erasure extends Pick<KycDeps, 'nullifiers' | 'baseUrl'> {
  readonly row: SubjectRow
  /** `subject` inside the circuit. */
  readonly element: bigint
}

export const erasure = ({ row, element, nullifiers, baseUrl }: Erasure): Decide<PersonErased> => {
  const { organisation, subject, generation } = row
  const revoked = COMMON_PURPOSES.map((purpose) => ({
    circuitId: 'kyc',
    nullifier: kycNullifier(element, scopeElement({ aud: baseUrl, purpose })),
  }))
  const answer = (at: number): PersonErased => ({ success: true, status: 'erased', erasedAt: iso(at) })
  const claims = [erasedClaim(row), ...revoked.map(nullifiers.revokedNullifierClaim)]
  return (tx) => {
    const first = claims.map((claim) => tx.holder(...claim)).find((held) => held !== undefined)
    if (first) return answer(first.at)
    for (const claim of claims) tx.claim(...claim)
    const { at } = tx
    tx.append({ type: 'revoke', subject: entrySubject(row), data: { event: ERASED } })
    tx.write(
      subjects.row({
        organisation,
        subject,
        generation,
        sealed_key: '',
        latest_entry: null,
        conclusive_entry: null,
        erased_at: at,
      }),
    )
    for (const one of revoked) tx.write(nullifiers.revokedNullifierRow({ ...one, organisation, at }))
    return answer(at)
  }
}
