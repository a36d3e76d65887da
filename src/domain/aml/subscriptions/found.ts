/**
 * Findings, from a screening to the ledger: each is made once for one state of a person and one state of an entry, and stays
 * what it is until one of them changes.
 * @module
 */

import { iso } from '../../../clock.ts'
import { newId } from '../../../ids.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import { hasMoved, type Tx } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import { named } from '../../../ledger/logs.ts'
import type { Row } from '../../../store/table.ts'
import type { PersonAccess } from '../../kyc/person-access.ts'
import type { SecurityService } from '../../security/service.ts'
import { CHECK_TYPES, type CheckType, entryDigest, type ListEntry } from '../entry.ts'
import type { Snapshot } from '../lists/snapshots.ts'
import type { Finding } from '../schemas-subscriptions.ts'
import { MAX_MATCHES, type Match, type Screened } from '../screening.ts'
import {
  type DecisionRecord,
  decisionRecords,
  digestOf,
  type FindingRecord,
  findingKey,
  findingRecords,
  type SubjectRecord,
} from './records.ts'
import { findings, type KnownFinding, type Person, revisionCounter, type VoidReason } from './store.ts'

/** What kyc calls whom an entry is about. */
export type EntrySubject = PersonAccess['entrySubject']

/** A finding that is about to be made, unless there is one. */
export interface PreparedFinding {
  readonly id: string
  readonly key: string
  readonly record: FindingRecord
  readonly sealed: Uint8Array
  readonly alert: Row
}

/** A finding that there is. */
export interface OpenedFinding {
  readonly row: KnownFinding
  readonly key: string
  readonly record: FindingRecord
  readonly decision: DecisionRecord | undefined
}

/** @throws SealingError when it was altered */
export const openFinding = (sealing: Sealing, row: KnownFinding): OpenedFinding => {
  const record = findingRecords.open(sealing, row.id, row.sealed)
  const { subject, listId, entryId, entryDigest: digest } = record
  return {
    row,
    record,
    key: findingKey(sealing, { about: subject.about, listId, entryId, digest }),
    decision: row.decision === null ? undefined : decisionRecords.open(sealing, row.id, row.decision),
  }
}

/** Entries that were found, each once. */
const matchesOf = (resultOf: (type: CheckType) => Screened, types: readonly CheckType[]): Match[] => {
  const found = new Map<string, Match>()
  for (const type of types)
    for (const match of resultOf(type).matches)
      found.set(JSON.stringify([match.listId, match.entryId]), match)
  return [...found.values()]
}

interface Found {
  readonly person: Person
  readonly sealing: Sealing
  readonly subject: SubjectRecord
  readonly snapshot: Snapshot
  readonly resultOf: (type: CheckType) => Screened
  /** Unix ms. */
  readonly now: number
}

/** Findings that a screening makes, at most ten for each type of check. */
export const prepareFindings = (
  { alertRow }: Pick<SecurityService, 'alertRow'>,
  { person, sealing, subject, snapshot, resultOf, now }: Found,
): PreparedFinding[] =>
  matchesOf(resultOf, subject.checkTypes).map((match) => {
    const { listId, entryId, entryDigest: digest } = match
    const { types } = snapshot.screening.entry(listId, entryId) as ListEntry
    const id = newId('fnd', now)
    const listVersion = snapshot.version
    const record: FindingRecord = { ...match, subject, checkTypes: types, allTypes: true, listVersion }
    return {
      id,
      key: findingKey(sealing, { about: subject.about, listId, entryId, digest }),
      record,
      sealed: findingRecords.seal(sealing, id, record),
      alert: alertRow({ organisation: person.organisation, type: 'aml_finding', subject: listId, at: now }),
    }
  })

/** How often something was recorded of somebody: to be read before all else that is known of them. */
export const findRevision = (ledger: Pick<Ledger, 'findCounter'>, person: Person): Promise<number> =>
  ledger.findCounter(person.organisation, revisionCounter(person))

/**
 * Part of a decision. @param revision as it stood before anything of the person was read
 * @returns whether somebody else has recorded something of them since, so that what was read may be over
 */
export const isOvertaken = (tx: Tx, person: Person, revision: number): boolean =>
  hasMoved(revisionCounter(person), revision)(tx)

/** Part of each decision that records something of somebody: all others that have read before are overtaken. */
export const overtake = (tx: Tx, person: Person): number => tx.add(revisionCounter(person), 1)

/** Counts how often findings of a key became void, so that the same may be found again. */
const voidCounter = (key: string): string => `aml.finding/${key}`

/** Makes the findings that there are not yet. @returns these, with their entries */
export const addFindings = (
  tx: Tx,
  person: Person,
  entrySubject: EntrySubject,
  prepared: readonly PreparedFinding[],
): { readonly finding: PreparedFinding; readonly index: number }[] => {
  const fresh = prepared.flatMap((finding): [PreparedFinding, Claim][] => {
    const claim: Claim = [CLAIM_KINDS.amlFinding, `${finding.key}/${tx.counter(voidCounter(finding.key))}`]
    return tx.holder(...claim) === undefined ? [[finding, claim]] : []
  })
  return fresh.map(([finding, claim]) => {
    const { id, sealed, record, alert } = finding
    tx.claim(...claim, id)
    const { index: entry_index } = tx.append({
      type: 'attest',
      subject: entrySubject(person),
      digest: digestOf(sealed),
      data: { event: 'aml.finding', list_version: record.listVersion },
    })
    const { organisation, subject, generation } = person
    tx.write(
      findings.row({
        id,
        organisation,
        subject,
        generation,
        entry_index,
        sealed,
        found_at: tx.at,
        decision_entry: null,
        void_at: null,
        void_reason: null,
      }),
    )
    tx.write(alert)
    return { finding, index: entry_index }
  })
}

/** The columns that a finding had when it was made, for a row that says what became of it. */
export const asMade = ({ row }: OpenedFinding) => ({
  id: row.id,
  organisation: row.organisation,
  subject: row.subject,
  generation: row.generation,
  entry_index: row.entry_index,
  sealed: row.sealed,
  found_at: row.found_at,
})

/** A finding that doesn't count any more, and why. */
export interface Stale {
  readonly finding: OpenedFinding
  readonly reason: VoidReason
}

/** Findings whose entries have changed. What was decided stays so while its entry is gone, and counts again when it comes back as it was. */
export const staleOf = ({ screening }: Snapshot, known: readonly OpenedFinding[]): Stale[] =>
  known.flatMap((finding): Stale[] => {
    const { listId, entryId, entryDigest: digest } = finding.record
    const entry = screening.entry(listId, entryId)
    if (entry === undefined)
      return finding.decision === undefined ? [{ finding, reason: 'entry_removed' }] : []
    return entryDigest(entry) === digest ? [] : [{ finding, reason: 'entry_changed' }]
  })

/** Whether there are as many findings of a type as are made at a time, so that entries may match that were never told. */
export const mayHaveMore = (known: readonly OpenedFinding[]): boolean =>
  CHECK_TYPES.some(
    (type) => known.filter(({ record }) => record.checkTypes.includes(type)).length >= MAX_MATCHES,
  )

/** Ends a finding and what was decided of it; again: nothing. */
export const voidFinding = (tx: Tx, entrySubject: EntrySubject, { finding, reason }: Stale): void => {
  const { row, key } = finding
  if (tx.holder(CLAIM_KINDS.amlFindingVoid, row.id)) return
  tx.claim(CLAIM_KINDS.amlFindingVoid, row.id)
  tx.add(voidCounter(key), 1)
  tx.append({
    type: 'revoke',
    subject: entrySubject(row),
    digest: digestOf(row.sealed),
    data: { event: 'aml.finding_void', reason },
  })
  tx.write(findings.row({ ...asMade(finding), decision_entry: null, void_at: tx.at, void_reason: reason }))
}

/** A finding as it is told. @param log of its organisation */
export const findingShown = ({ row, record, decision }: OpenedFinding, log: number): Finding => {
  const { subject, checkTypes, allTypes: _, explanations, ...found } = record
  const { userId, name, dateOfBirth, country } = subject
  return {
    findingId: row.id,
    status: row.void_at !== null ? 'void' : decision === undefined ? 'open' : 'decided',
    userId,
    person: { name, dateOfBirth, country },
    checkTypes: [...checkTypes],
    explanations: [...explanations],
    ...found,
    foundAt: iso(row.found_at),
    ...named(log),
    leafIndex: row.entry_index,
    version: row.decision_entry ?? row.entry_index,
    decision:
      decision === undefined
        ? null
        : { ...decision, decidedAt: iso(decision.decidedAt), decidedBy: decision.decidedBy },
    void:
      row.void_at === null || row.void_reason === null
        ? null
        : { at: iso(row.void_at), reason: row.void_reason },
  }
}
