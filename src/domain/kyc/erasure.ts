/** The ledger item that forgets a person. @module */
import { kycNullifier } from '../../circuits/mappers/kyc.ts'
import { iso } from '../../clock.ts'
import type { Claim, Item } from '../../ledger/item.ts'
import { scopeElement } from '../../rules/encode.ts'
import type { PersonErased } from './schemas.ts'
import type { KycDeps } from './service.ts'
import { type SubjectRow, subjects } from './store.ts'

/** Kinds of claims in the ledger. */
const ERASED = 'kyc.erased'
/** What the nullifiers of most proofs are scoped to; all others are found by what their statement names. */
const COMMON_PURPOSES = ['proof', 'verify'] as const

type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

/** Held from the moment on at which a person is erased. */
export const erasedClaim = ({ subject, generation }: Person): Claim => ({
  kind: ERASED,
  key: `${subject}/${generation}`,
  code: 'conflict',
})

/** @returns whom an entry is about */
export const entrySubject = ({ subject }: Person): [kind: string, id: string] => ['kyc-subject', subject]

interface Erasure extends Pick<KycDeps, 'nullifiers' | 'baseUrl'> {
  readonly row: SubjectRow
  /** `subject` inside the circuit. */
  readonly element: bigint
}

export const erasureItem = ({ row, element, nullifiers, baseUrl }: Erasure): Item<PersonErased> => {
  const { organisation, subject, generation } = row
  const revoked = COMMON_PURPOSES.map((purpose) => ({
    circuitId: 'kyc',
    nullifier: kycNullifier(element, scopeElement({ aud: baseUrl, purpose })),
  }))
  const answer = (at: number): PersonErased => ({ success: true, status: 'erased', erasedAt: iso(at) })
  return {
    claims: [erasedClaim(row), ...revoked.map(nullifiers.revokedNullifierClaim)],
    entry: {
      type: 'revoke',
      subject: entrySubject(row),
      data: { event: ERASED },
    },
    rows: ({ at }) => [
      subjects.row({
        organisation,
        subject,
        generation,
        sealed_key: '',
        latest_entry: null,
        conclusive_entry: null,
        erased_at: at,
      }),
      ...revoked.map((one) => nullifiers.revokedNullifierRow({ ...one, organisation, at })),
    ],
    result: ({ at }) => answer(at),
    lost: ({ at }) => ({ settled: answer(at) }),
  }
}
