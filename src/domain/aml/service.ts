/** Screening of people and companies, and what was found of them last. @module */

import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, type ErrorDetail } from '../../errors.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import { hasMoved, isAnyOvertaken, type KnownFacts } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import type { Database } from '../../store/database.ts'
import type { PersonAccess } from '../kyc/person-access.ts'
import { CHECK_TYPES, type CheckType, comparableIdentifier, MIN_IDENTIFIER_CHARACTERS } from './entry.ts'
import { sha256Hex } from './lists/files/list-file.ts'
import type { ListsService } from './lists/lists.ts'
import {
  ageSeconds,
  checkableTypes,
  isSameVersion,
  type KnownList,
  neverLoaded,
  type Snapshot,
} from './lists/snapshots.ts'
import type { AmlCheck, AmlResult, ReviewReason } from './schemas.ts'
import {
  COMPARISON_VERSION,
  HIT_SCORE,
  isTooLong,
  REVIEW_SCORE,
  type Screened,
  type ScreeningResult,
  type Subject,
  worse,
} from './screening.ts'
import { type AmlResultRow, amlResults, findResults } from './store.ts'
import { findStandings, type Standing } from './subscriptions/standing.ts'

/** Keeps what is known here of an id apart from what other records know of it. */
export const SUBJECT_KIND = 'aml'
/** Counts checks of somebody. @param subject pseudonym */
const checksCounter = (subject: string): string => `aml.checks/${subject}`
/** Of a review that is due because nobody could be looked for. */
const UNKNOWN_RISK_SCORE = 50

/** What is known of somebody whose name was not sent. */
export interface KnownPerson {
  readonly name: string
  readonly dateOfBirth?: string
  readonly country?: string
}

export interface AmlDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'findCounter'>
  readonly clock: Clock
  readonly subjects: SubjectPseudonyms
  readonly lists: Pick<ListsService, 'current'>
  readonly persons: Pick<PersonAccess, 'open' | 'isErased'>
  /** Who has given a name before. */
  readonly people: { nameOf(caller: Caller, userId: string): Promise<KnownPerson | undefined> }
}

export type AmlService = ReturnType<typeof createAml>

/** @throws AppError validation_failed */
export const checkIdentifiers = ({ identifiers = [] }: Pick<AmlCheck, 'identifiers'>): void => {
  const details = identifiers.flatMap(({ value }, i): ErrorDetail[] =>
    comparableIdentifier(value).length >= MIN_IDENTIFIER_CHARACTERS
      ? []
      : [
          {
            path: `/identifiers/${i}/value`,
            code: 'pattern',
            message: `value must have at least ${MIN_IDENTIFIER_CHARACTERS} Latin letters or digits`,
          },
        ],
  )
  if (details.length > 0) throw new AppError('validation_failed', { details })
}

/** @throws AppError lists_unavailable */
export const checkCoverage = (snapshot: Snapshot, types: readonly CheckType[]): void => {
  const checkable = checkableTypes(snapshot)
  const missing = types.filter((type) => !checkable.includes(type))
  if (missing.length === 0) return
  const blamed = neverLoaded(snapshot).filter(({ checkTypes }) =>
    checkTypes.some((type) => missing.includes(type)),
  )
  const names = blamed.map(({ listId }) => listId).join(', ')
  const message =
    names === ''
      ? `No list is loaded for ${missing.join(', ')}.`
      : `Configured lists for ${missing.join(', ')} were never loaded: ${names}.`
  throw new AppError('lists_unavailable', { message })
}

/** @param now Unix ms */
const listUsed = (list: KnownList, { problems }: Snapshot, now: number): AmlResult['lists'][number] => {
  const { listId, entries, sha256, publishedAt, loadedAt } = list
  return {
    listId,
    entries,
    sha256,
    publishedAt: publishedAt === null ? null : iso(publishedAt),
    loadedAt: iso(loadedAt),
    ageSeconds: ageSeconds(list, now),
    outdated: problems.some((problem) => problem.listId === listId),
  }
}

const unknownSubject = (found: Screened): Screened => {
  const result = worse(found.result, 'review')
  return { ...found, result, riskScore: Math.max(found.riskScore, UNKNOWN_RISK_SCORE) }
}

/** What each type of check says. Without a name that is compared as a whole it is a review at least, whatever else was found. */
const judge = async (
  { screening }: Snapshot,
  subject: Subject,
): Promise<{ readonly of: (type: CheckType) => Screened; readonly reason: ReviewReason | null }> => {
  const screened = await screening.screen(subject)
  const { name, ...rest } = subject
  if (screened !== undefined && name !== undefined && !isTooLong(name)) return { of: screened, reason: null }
  const others = screened ?? (await screening.screen(rest))
  const nobody: Screened = { result: 'review', riskScore: UNKNOWN_RISK_SCORE, matches: [] }
  const of = (type: CheckType): Screened => (others ? unknownSubject(others(type)) : nobody)
  return { of, reason: name === undefined ? 'no_subject_data' : 'name_not_comparable' }
}

const standingOf = (row: AmlResultRow, { version }: Snapshot): Standing => ({
  checkType: row.check_type,
  result: row.result,
  reason: row.reason,
  riskScore: row.risk_score,
  checkedAt: row.checked_at,
  isOutdated: !isSameVersion(row.list_version, version),
})

/** What was said of each type, as one: the worst of it, with the age of the last. */
const together = (standings: readonly Standing[]): Standing[] =>
  CHECK_TYPES.flatMap((type) => {
    const ofType = standings
      .filter(({ checkType }) => checkType === type)
      .toSorted((a, b) => b.checkedAt - a.checkedAt)
    const [last] = ofType
    if (last === undefined) return []
    const worst = ofType.reduce((one, other) =>
      worse(one.result, other.result) === one.result ? one : other,
    )
    return [{ ...worst, checkedAt: last.checkedAt, isOutdated: last.isOutdated }]
  })

/** Of a type of which a list is missing nobody is clear, whatever was found before. */
const doubted = (one: Standing, checkable: readonly CheckType[]): Standing => {
  if (one.result === 'hit' || checkable.includes(one.checkType)) return one
  return {
    ...one,
    result: 'review',
    reason: one.reason ?? 'lists_unavailable',
    riskScore: Math.max(one.riskScore, UNKNOWN_RISK_SCORE),
  }
}

const factsFrom = (standings: readonly Standing[]): Record<string, unknown> => {
  if (standings.length === 0) return { result: 'review', reason: 'no_subject_data' }
  const byType = Object.fromEntries(standings.map(({ checkType, result }) => [checkType, result]))
  const isComplete = byType.sanctions !== undefined
  const worst = standings.reduce<ScreeningResult>(
    (result, one) => worse(result, one.result),
    isComplete ? 'clear' : 'review',
  )
  const reason = standings.find((one) => one.reason !== null)?.reason
  return {
    result: worst,
    ...(!isComplete ? { reason: 'sanctions_not_checked' } : reason ? { reason } : {}),
    risk_score: Math.max(...standings.map(({ riskScore }) => riskScore)),
    checked_at: iso(Math.min(...standings.map(({ checkedAt }) => checkedAt))),
    lists_changed: standings.some(({ isOutdated }) => isOutdated),
    ...byType,
  }
}

export const createAml = ({ database, ledger, clock, subjects, lists, persons, people }: AmlDeps) => {
  /** What was sent; where that holds no name, what is known. */
  const subjectOf = async (caller: Caller, input: AmlCheck): Promise<Subject> => {
    const known = input.name === undefined ? await people.nameOf(caller, input.userId) : undefined
    return {
      name: input.name ?? known?.name,
      dateOfBirth: input.dateOfBirth ?? known?.dateOfBirth,
      country: (input.country ?? known?.country)?.toUpperCase(),
      identifiers: (input.identifiers ?? []).map(({ value }) => value),
    }
  }

  return {
    /**
     * Screens somebody against the lists of each type.
     * @throws AppError validation_failed, lists_unavailable where a type has no list
     */
    async check(caller: Caller, input: AmlCheck): Promise<AmlResult[]> {
      const types = input.checkTypes ?? CHECK_TYPES
      checkIdentifiers(input)
      const snapshot = lists.current()
      checkCoverage(snapshot, types)
      const { of, reason } = await judge(snapshot, await subjectOf(caller, input))
      const now = clock.now()
      const results = types.map((checkType): AmlResult => {
        const { result, riskScore, matches } = of(checkType)
        return {
          checkType,
          result,
          riskScore,
          reason,
          listVersion: snapshot.version,
          lists: snapshot.lists
            .filter((list) => list.checkTypes.includes(checkType))
            .map((list) => listUsed(list, snapshot, now)),
          comparison: COMPARISON_VERSION,
          thresholds: { review: REVIEW_SCORE, hit: HIT_SCORE },
          checkedAt: iso(now),
          matches: matches.map((match) => ({ ...match, explanations: [...match.explanations] })),
        }
      })
      const { organisation } = caller
      const subject = await subjects.of(organisation, SUBJECT_KIND, input.userId)
      return ledger.append(caller, (tx) => {
        tx.add(checksCounter(subject), 1)
        const { index } = tx.append({
          type: 'attest',
          subject: ['aml-subject', subject],
          digest: sha256Hex(canonicalJson(results)),
          data: { event: 'aml.checked', check_types: [...types], list_version: snapshot.version },
        })
        for (const { checkType, result, riskScore } of results)
          tx.write(
            amlResults.row({
              organisation,
              subject,
              check_type: checkType,
              result,
              reason,
              risk_score: riskScore,
              list_version: snapshot.version,
              checked_at: now,
              entry_index: index,
            }),
          )
        return results
      })
    },

    /**
     * What is known of somebody, for rules: the worst `result` of all types and each type's own. Of types for which somebody is
     * screened again that is what findings and decisions say; of others what the last check said, and no better than findings that
     * still count. Who was never screened for sanctions is for review, whatever else was found.
     */
    async factsOf(caller: Caller, userId: string): Promise<KnownFacts> {
      const { organisation } = caller
      const subject = await subjects.of(organisation, SUBJECT_KIND, userId)
      const counter = checksCounter(subject)
      const stood = await ledger.findCounter(organisation, counter)
      const snapshot = lists.current()
      const checked = (await findResults(database, organisation, subject)).map((row) =>
        standingOf(row, snapshot),
      )
      const { watched, found, isOvertaken } = await findStandings({ database, ledger, persons }, caller, {
        userId,
        snapshot,
      })
      const isWatched = ({ checkType }: Standing): boolean =>
        watched.some((one) => one.checkType === checkType)
      const last = together([...checked.filter((one) => !isWatched(one)), ...found])
      const checkable = checkableTypes(snapshot)
      return {
        facts: factsFrom([...watched, ...last].map((one) => doubted(one, checkable))),
        isOvertaken: isAnyOvertaken([hasMoved(counter, stood), isOvertaken]),
      }
    },
  }
}
