/**
 * What rules read of people who are, or were, screened again. It is made of the findings that count whenever it is asked for and
 * kept nowhere, so that nothing can be older than the findings, and no check by itself changes it.
 * @module
 */
import type { Caller } from '../../../caller.ts'
import type { IsOvertaken } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { PersonAccess } from '../../kyc/person-access.ts'
import { CHECK_TYPES, type CheckType, entryDigest } from '../entry.ts'
import { inTypeOrder } from '../lists/list-source.ts'
import { isSameVersion, type Snapshot } from '../lists/snapshots.ts'
import {
  HIT_SCORE,
  isComparable,
  isTooLong,
  MAX_MATCHES,
  REVIEW_SCORE,
  riskOf,
  type ScreeningResult,
  worse,
} from '../screening.ts'
import { findRevision, isOvertaken, type OpenedFinding, openFinding } from './found.ts'
import { COMPARISON_NUMBER, type SubjectRecord, subjectRecords } from './records.ts'
import { findFindingsOf, findSubscription, type SubscriptionRow } from './store.ts'

/** What is known of somebody for one type of check. */
export interface Standing {
  readonly checkType: CheckType
  readonly result: ScreeningResult
  /** Why it is a review though no match says so. */
  readonly reason: string | null
  readonly riskScore: number
  /** Unix ms. */
  readonly checkedAt: number
  /** Whether lists have changed since. */
  readonly isOutdated: boolean
}

interface Standings {
  /** Of the types that somebody is screened again for: nothing else says anything of these. */
  readonly watched: readonly Standing[]
  /** What findings say of other types, where it is bad: nobody stands better than that until it is decided. */
  readonly found: readonly Standing[]
  readonly isOvertaken: IsOvertaken
}

/** A finding that counts, and what is made of it. */
interface Judged {
  readonly finding: OpenedFinding
  readonly types: readonly CheckType[]
  readonly result: ScreeningResult
}

/** That somebody else is meant was said of the entry as it was; who has changed by now is looked at again. */
const isStillSaid = ({ screening }: Snapshot, { record }: OpenedFinding): boolean => {
  const entry = screening.entry(record.listId, record.entryId)
  return entry === undefined || entryDigest(entry) === record.entryDigest
}

/**
 * What a finding and its decision count for: all that the entry is listed for, also where the person was screened for something
 * else when it was found. Where nobody knows any more what that was, it may have been anything.
 */
const typesOf = ({ screening }: Snapshot, { record }: OpenedFinding): CheckType[] => {
  const { listId, entryId, checkTypes, allTypes } = record
  const listed = screening.entry(listId, entryId)?.types ?? (allTypes ? [] : CHECK_TYPES)
  return inTypeOrder([...checkTypes, ...listed])
}

const resultOf = (snapshot: Snapshot, finding: OpenedFinding): ScreeningResult => {
  const { record, decision } = finding
  if (decision?.verdict === 'confirmed') return 'hit'
  const isCleared = decision?.verdict === 'not_this_person' && isStillSaid(snapshot, finding)
  return isCleared ? 'clear' : record.result
}

const judge = (snapshot: Snapshot, finding: OpenedFinding): Judged => ({
  finding,
  types: typesOf(snapshot, finding),
  result: resultOf(snapshot, finding),
})

const LEAST_SCORES = { hit: HIT_SCORE, review: REVIEW_SCORE } as const

/** Nobody is cleared of a type of which more may match than are found at a time. */
const ofType = (
  type: CheckType,
  judged: readonly Judged[],
): Pick<Standing, 'checkType' | 'result' | 'reason' | 'riskScore'> => {
  const concerned = judged.filter(({ types }) => types.includes(type))
  const doubt = concerned.length >= MAX_MATCHES ? 'more_matches' : null
  const result = concerned.reduce<ScreeningResult>(
    (worst, one) => worse(worst, one.result),
    doubt === null ? 'clear' : 'review',
  )
  const scores = concerned.flatMap((one) => (one.result === result ? [one.finding.record.score] : []))
  return {
    checkType: type,
    result,
    reason: result === 'hit' ? null : doubt,
    riskScore: result === 'clear' ? 0 : riskOf(result, Math.max(LEAST_SCORES[result], ...scores)),
  }
}

/** Nobody is clear by a name of which only a part is compared, or nothing: earlier versions have taken such. */
const notComparable = (type: CheckType): ReturnType<typeof ofType> => ({
  checkType: type,
  result: 'review',
  reason: 'name_not_comparable',
  riskScore: riskOf('review', REVIEW_SCORE),
})

const watchedStandings = (
  { checkTypes, name }: SubjectRecord,
  row: SubscriptionRow,
  { judged, snapshot }: { readonly judged: readonly Judged[]; readonly snapshot: Snapshot },
): Standing[] => {
  const checkedAt = row.screened_at
  const isOutdated = row.lists_version < snapshot.number || row.comparison < COMPARISON_NUMBER
  const isDoubtful = isTooLong(name) || !isComparable(name)
  return checkTypes.map((type) => {
    const said = ofType(type, judged)
    return { ...(isDoubtful && said.result === 'clear' ? notComparable(type) : said), checkedAt, isOutdated }
  })
}

const foundStandings = (judged: readonly Judged[], snapshot: Snapshot): Standing[] =>
  judged
    .filter(({ result }) => result !== 'clear')
    .flatMap((one) =>
      one.types.map((type) => ({
        ...ofType(type, [one]),
        checkedAt: one.finding.row.found_at,
        isOutdated: !isSameVersion(one.finding.record.listVersion, snapshot.version),
      })),
    )

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'findCounter'>
  readonly persons: Pick<PersonAccess, 'open' | 'isErased'>
}

/** @returns what findings say of somebody; nothing of whom nothing is kept, or who was forgotten */
export const findStandings = async (
  { database, ledger, persons }: Deps,
  caller: Caller,
  { userId, snapshot }: { readonly userId: string; readonly snapshot: Snapshot },
): Promise<Standings> => {
  const { person, sealing, isNew } = await persons.open(caller, userId)
  // Of whom nothing is kept, everything that is recorded comes later.
  const revision = isNew ? 0 : await findRevision(ledger, person)
  const isOver: IsOvertaken = (tx) => isOvertaken(tx, person, revision) || persons.isErased(tx, person)
  // Before the findings: whoever was screened up to here has what was found until then.
  const row = isNew ? undefined : await findSubscription(database, person)
  if (row === undefined) return { watched: [], found: [], isOvertaken: isOver }
  const judged = (await findFindingsOf(database, [person])).map((one) =>
    judge(snapshot, openFinding(sealing, one)),
  )
  const record = row.ended_at === null ? subjectRecords.open(sealing, person.subject, row.sealed) : undefined
  const watched = record === undefined ? [] : watchedStandings(record, row, { judged, snapshot })
  const found = foundStandings(judged, snapshot).filter(
    ({ checkType }) => !watched.some((one) => one.checkType === checkType),
  )
  return { watched, found, isOvertaken: isOver }
}
