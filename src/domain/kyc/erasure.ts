/** Forgets a person. @module */
import { iso } from '../../clock.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import type { PersonErased } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { type SubjectRow, subjects } from './store.ts'

const ERASED = CLAIM_KINDS.kycErased
type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

/** Held from the moment on at which a person is erased. */
export const erasedClaim = ({ subject, generation }: Person): Claim => [ERASED, `${subject}/${generation}`]

/**
 * Held from the moment on at which another check settles how a person stands. Whoever is about to revoke a credential has read
 * which one it is: held, there is another.
 * @param settledBy entry of the check that did so before
 */
export const succession = ({ subject, generation }: Person, settledBy: number | null): Claim => [
  CLAIM_KINDS.kycSucceeded,
  `${subject}/${generation}/${settledBy ?? ''}`,
]

/** @returns whom an entry is about */
export const entrySubject = ({ subject }: Person): [kind: string, id: string] => ['kyc-subject', subject]

interface Erasure extends Pick<KycDeps, 'statuses'> {
  readonly row: SubjectRow
  /** Of the person's credential, where there is one. */
  readonly status: bigint | undefined
}

/** @returns what erases the person; it answers undefined where another credential was issued meanwhile */
export const erasure = ({ row, status, statuses }: Erasure): Decide<PersonErased | undefined> => {
  const { organisation, subject, generation } = row
  const answer = (at: number): PersonErased => ({ success: true, status: 'erased', erasedAt: iso(at) })
  const erased = erasedClaim(row)
  const succeeded = succession(row, row.conclusive_entry)
  return (tx) => {
    const first = tx.holder(...erased)
    if (first) return answer(first.at)
    if (tx.holder(...succeeded)) return undefined
    tx.claim(...erased)
    if (status !== undefined) statuses.set(tx, Number(status))
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
        review_entry: null,
      }),
    )
    return answer(at)
  }
}
