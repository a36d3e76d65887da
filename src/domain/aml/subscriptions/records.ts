/** What is kept of people who are screened again, sealed under each one's own key. @module */
import { hash } from 'node:crypto'
import type { Sealing } from '../../../keys/sealing.ts'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import type { CheckType } from '../entry.ts'
import { COMPARISON_VERSION, type Match } from '../screening.ts'

/** Whom to look for. */
export interface SubjectRecord {
  /** As the caller calls the person. */
  readonly userId: string
  readonly checkTypes: readonly CheckType[]
  readonly name: string
  readonly dateOfBirth: string | null
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string | null
  readonly identifiers: readonly { readonly type: string | null; readonly value: string }[]
  /** Random, and another one whenever what is compared changes: what was decided of the person as they were doesn't count then. */
  readonly about: string
}

/** What was found of somebody, in one state of one entry. */
export interface FindingRecord extends Match {
  readonly subject: SubjectRecord
  /** What the entry is listed for, whatever the person was screened for. */
  readonly checkTypes: readonly CheckType[]
  /** Absent in findings of earlier versions, which name only those of the types for which the person was screened. */
  readonly allTypes?: true
  /** As answers name the lists. */
  readonly listVersion: string
}

export const VERDICTS = ['confirmed', 'not_this_person'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface DecisionRecord {
  readonly verdict: Verdict
  readonly reason: string
  /** Unix ms. */
  readonly decidedAt: number
  /** Kind and id of the credential; of a session the account, too, unless it was decided before that was kept. */
  readonly decidedBy: { readonly kind: string; readonly id: string; readonly accountId?: string }
  /** The account that proposed it, where a second reviewer confirmed it. */
  readonly proposedBy?: string
  readonly jws: string
}

const recordsOf = <Record_>(purpose: string, tableName: string) => {
  const place = (row: string) => ({ table: tableName, column: 'sealed', row })
  return {
    seal: (sealing: Sealing, row: string, record: Record_): Uint8Array =>
      sealing.seal(purpose, place(row), Buffer.from(JSON.stringify(record))),
    /** @throws SealingError when it was altered, moved, or is another person's */
    open: (sealing: Sealing, row: string, sealed: Uint8Array): Record_ =>
      JSON.parse(Buffer.from(sealing.open(purpose, place(row), sealed)).toString()) as Record_,
  }
}

/** By pseudonym. */
export const subjectRecords = recordsOf<SubjectRecord>('aml-subject', 'aml_subscriptions')
/** By id of the finding. */
export const findingRecords = recordsOf<FindingRecord>('aml-finding', 'aml_findings')
/** By id of the finding, too. */
export const decisionRecords = recordsOf<DecisionRecord>('aml-decision', 'aml_decisions')

/** Earlier versions told of no other entry where one of ten findings had ended: whom they screened is screened again. */
const FINDINGS_NUMBER = 1
/** Grows with the comparison: who was screened by an earlier one is screened again against everything. */
export const COMPARISON_NUMBER = Number(COMPARISON_VERSION.split('-').at(-1)) + FINDINGS_NUMBER

/** What is compared of somebody: where it stays the same, so do decisions. */
export const comparedOf = ({ name, dateOfBirth, country, identifiers }: SubjectRecord): string =>
  canonicalJson({ name, dateOfBirth, country, identifiers: identifiers.map(({ value }) => value).toSorted() })

/** Names a finding to the ledger, and to nobody without the person's key. 64 lower-case hex digits. */
export const findingKey = (
  sealing: Sealing,
  { about, listId, entryId, digest }: { about: string; listId: string; entryId: string; digest: string },
): string =>
  Buffer.from(
    sealing.mac('aml-finding', Buffer.from(JSON.stringify([about, listId, entryId, digest]))),
  ).toString('hex')

/** What the ledger's digest commits to: the sealed record, which nobody can guess. Lower-case hex. */
export const digestOf = (sealed: Uint8Array): string => hash('sha256', sealed)
