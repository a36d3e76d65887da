/** The review queue: what was found, and what somebody decided of it. @module */
import type { Caller } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import type { CurrentSigner, Signers } from '../../../keys/signers.ts'
import { CLAIM_KINDS } from '../../../ledger/claim-kinds.ts'
import type { Decide as Decision, Tx } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Logs } from '../../../ledger/logs.ts'
import { writeJws } from '../../../protocol/jws.ts'
import type { Database } from '../../../store/database.ts'
import type { PersonAccess } from '../../kyc/person-access.ts'
import type { ReviewsService } from '../../reviews/service.ts'
import { entryDigest } from '../entry.ts'
import type { ListsService } from '../lists/lists.ts'
import {
  DEFAULT_PAGE_FINDINGS,
  type Decide,
  type Finding,
  type FindingPage,
  type FindingsQuery,
  type ScreeningProgress,
} from '../schemas-subscriptions.ts'
import { asMade, findingShown, type OpenedFinding, openFinding, overtake } from './found.ts'
import {
  COMPARISON_NUMBER,
  type DecisionRecord,
  decisionRecords,
  digestOf,
  type FindingRecord,
} from './records.ts'
import * as store from './store.ts'

/** Explicit typing (RFC 8725 §3.11). */
const DECISION_TYP = 'aml-decision+jws'
const MS_PER_SECOND = 1000

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer'>
  readonly clock: Clock
  readonly signers: Pick<Signers, 'current'>
  readonly persons: PersonAccess
  readonly lists: Pick<ListsService, 'current'>
  readonly reviews: Pick<ReviewsService, 'start' | 'find' | 'shown'>
  readonly baseUrl: string
}

export type ReviewService = ReturnType<typeof createReview>

export const createReview = (deps: Deps) => {
  const { database, logs, ledger, clock, signers, persons, lists, reviews, baseUrl } = deps

  const open = (row: store.KnownFinding): OpenedFinding => openFinding(persons.sealingOf(row), row)

  /** Names a finding as it is decided: what was proposed before a decision says nothing of the next. */
  const itemOf = ({ id, decision_entry }: store.KnownFinding): string =>
    `aml/${id}/${decision_entry ?? 'first'}`

  /** Findings with what waits about them. */
  const shownAll = async (organisation: string, rows: readonly store.KnownFinding[]): Promise<Finding[]> => {
    const proposed = await reviews.find(organisation, rows.map(itemOf))
    const log = await logs.of(organisation)
    return rows.map((row) => {
      const proposal = row.void_at === null ? proposed.get(itemOf(row)) : undefined
      const shown = findingShown(open(row), log)
      return proposal
        ? {
            ...shown,
            version: proposal.entry_index,
            proposal: reviews.shown(proposal, persons.sealingOf(row)),
          }
        : shown
    })
  }

  const sign = (
    { kid, sign: signBytes }: CurrentSigner,
    { row, record }: OpenedFinding,
    decided: Omit<DecisionRecord, 'jws'>,
  ): string =>
    writeJws(
      { alg: 'EdDSA', kid, typ: DECISION_TYP },
      {
        iss: baseUrl,
        org: row.organisation,
        iat: Math.floor(decided.decidedAt / MS_PER_SECOND),
        finding: row.id,
        subject: row.subject,
        list: record.listId,
        entry: record.entryId,
        entry_digest: record.entryDigest,
        list_version: record.listVersion,
        verdict: decided.verdict,
        reason: decided.reason,
        decided_by: decided.decidedBy,
        ...(decided.proposedBy !== undefined && { proposed_by: decided.proposedBy }),
      },
      signBytes,
    )

  /** The entry as it was shown is what is decided about. @throws AppError conflict where it is known to be another one now */
  const requireUnchanged = ({ listId, entryId, entryDigest: shown }: FindingRecord): void => {
    const entry = lists.current().screening.entry(listId, entryId)
    if (entry !== undefined && entryDigest(entry) !== shown)
      fail('conflict', { message: 'The entry has changed since it was found; look at it again.' })
  }

  /** @returns what records a decision */
  const deciding = async (
    caller: Caller,
    finding: OpenedFinding,
    { verdict, reason }: Decide,
    { guard, proposedBy }: { guard(tx: Tx): void; readonly proposedBy: string | undefined },
  ): Promise<Decision<null>> => {
    const { row } = finding
    const sealing = persons.sealingOf(row)
    const { credential } = caller
    const { kind, id } = credential
    const decided = {
      verdict,
      reason,
      decidedAt: clock.now(),
      // A session tells nobody who it was once it has ended.
      decidedBy: { kind, id, ...(credential.kind === 'session' && { accountId: credential.accountId }) },
      ...(proposedBy !== undefined && { proposedBy }),
    }
    const jws = sign(await signers.current('results', 'Ed25519'), finding, decided)
    const sealed = decisionRecords.seal(sealing, row.id, { ...decided, jws })
    return (tx) => {
      const succeeded = [CLAIM_KINDS.amlDecided, `${row.id}/${row.decision_entry ?? 'first'}`] as const
      if (tx.holder(...succeeded)) fail('conflict', { message: 'Somebody else decided meanwhile.' })
      if (tx.holder(CLAIM_KINDS.amlFindingVoid, row.id)) fail('conflict', { message: 'The finding is void.' })
      if (persons.isErased(tx, row)) fail('not_found')
      guard(tx)
      tx.claim(...succeeded)
      overtake(tx, row)
      const { index: entry_index } = tx.append({
        type: 'attest',
        subject: persons.entrySubject(row),
        digest: digestOf(Buffer.from(jws)),
        data: { event: 'aml.decided' },
      })
      tx.write(store.decisions.row({ entry_index, finding: row.id, sealed, decided_at: decided.decidedAt }))
      tx.write(
        store.findings.row({
          ...asMade(finding),
          decision_entry: entry_index,
          void_at: null,
          void_reason: null,
        }),
      )
      return null
    }
  }

  /** @throws AppError not_found, also where the person was erased */
  const find = async ({ organisation }: Caller, findingId: string): Promise<store.KnownFinding> =>
    (await store.findFinding(database, organisation, findingId)) ?? fail('not_found')

  const shown = async (caller: Caller, findingId: string): Promise<Finding> => {
    const [finding] = await shownAll(caller.organisation, [await find(caller, findingId)])
    return finding ?? fail('not_found')
  }

  /**
   * Call once the review has started: what somebody records after that, the commit finds.
   * @param version of the finding that was looked at @throws AppError conflict where something was recorded since
   */
  const requireVersion = async (row: store.KnownFinding, version: number): Promise<void> => {
    const proposal = (await reviews.find(row.organisation, [itemOf(row)])).get(itemOf(row))
    if (version !== (proposal?.entry_index ?? row.decision_entry ?? row.entry_index))
      fail('conflict', { message: 'Somebody decided or proposed since you looked; look at it again.' })
  }

  return {
    /** An organisation's findings, the newest first. */
    async list({ organisation }: Caller, { status, cursor, limit = DEFAULT_PAGE_FINDINGS }: FindingsQuery) {
      const filter = { organisation, state: status, before: cursor, limit }
      const { rows, next = null } = await store.findFindings(database, filter)
      const answer: FindingPage = { findings: await shownAll(organisation, rows), nextCursor: next }
      return answer
    },

    /**
     * Decides, or proposes to where a second reviewer is wanted.
     * @throws AppError not_found; conflict for what is void, has changed or was decided meanwhile; insufficient_scope
     */
    async decide(caller: Caller, findingId: string, { version, ...input }: Decide): Promise<Finding> {
      const { idempotency } = caller
      // Whoever repeats a request is not told that somebody decided: they did.
      if (idempotency && (await ledger.findAnswer(idempotency))) {
        idempotency.replayed = true
        return shown(caller, findingId)
      }
      const row = await find(caller, findingId)
      const finding = open(row)
      requireUnchanged(finding.record)
      const review = await reviews.start(caller, {
        item: itemOf(row),
        scope: 'aml',
        ...input,
        subject: persons.entrySubject(row),
        sealing: persons.sealingOf(row),
      })
      if (version !== undefined) await requireVersion(row, version)
      const decision: Decision<null> = review.decides
        ? await deciding(caller, finding, input, review)
        : (tx) => {
            if (tx.holder(CLAIM_KINDS.amlFindingVoid, row.id))
              fail('conflict', { message: 'The finding is void.' })
            if (persons.isErased(tx, row)) fail('not_found')
            review.propose(tx)
            return null
          }
      // What a commit answers is kept without the key of the person: nothing of them may be in it.
      await ledger.append(caller, decision)
      return shown(caller, findingId)
    },

    /** How far an organisation's people were screened against the lists of this server. */
    async progress({ organisation }: Caller): Promise<ScreeningProgress> {
      const { version, number, sha256 } = lists.current()
      const mark = { lists: number, comparison: COMPARISON_NUMBER }
      const [counts, openFindings] = await Promise.all([
        store.countSubscriptions(database, mark, organisation),
        store.countOpenFindings(database, organisation),
      ])
      return { listVersion: version, sha256, ...counts, openFindings }
    },
  }
}
