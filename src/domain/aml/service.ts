/** Screening of people and companies, and what was found of them last. @module */

import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, type ErrorDetail } from '../../errors.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import type { Database } from '../../store/database.ts'
import { CHECK_TYPES, type CheckType, comparableIdentifier, MIN_IDENTIFIER_CHARACTERS } from './entry.ts'
import type { ListsService } from './lists/lists.ts'
import { sha256Hex } from './lists/loaders/list-file.ts'
import { coveredTypes, type Snapshot } from './lists/snapshots.ts'
import type { AmlCheck, AmlResult, ReviewReason } from './schemas.ts'
import { type Screened, type Subject, worse } from './screening.ts'
import { amlResults, findResults } from './store.ts'

/** Keeps what is known here of an id apart from what other records know of it. */
const SUBJECT_KIND = 'aml'
/** Of a review that is due because nobody could be looked for. */
const UNKNOWN_RISK_SCORE = 50

/** What is known of somebody whose name was not sent. */
interface KnownPerson {
  readonly name: string
  readonly dateOfBirth?: string
  readonly country?: string
}

export interface AmlDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly clock: Clock
  readonly subjects: SubjectPseudonyms
  readonly lists: Pick<ListsService, 'current'>
  /** Who has given a name before. */
  readonly people: { nameOf(caller: Caller, userId: string): Promise<KnownPerson | undefined> }
}

export type AmlService = ReturnType<typeof createAml>

/** @throws AppError validation_failed */
const checkIdentifiers = ({ identifiers = [] }: AmlCheck): void => {
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
const checkCoverage = ({ lists }: Snapshot, types: readonly CheckType[]): void => {
  const covered = coveredTypes(lists)
  const missing = types.filter((type) => !covered.includes(type))
  if (missing.length > 0)
    throw new AppError('lists_unavailable', { message: `No list is loaded for ${missing.join(', ')}.` })
}

const unknownSubject = (found: Screened): Screened => {
  const result = worse(found.result, 'review')
  return { ...found, result, riskScore: Math.max(found.riskScore, UNKNOWN_RISK_SCORE) }
}

/** What each type of check says. Without a name it is a review at least, whatever else was found. */
const judge = (
  { screening }: Snapshot,
  subject: Subject,
): { readonly of: (type: CheckType) => Screened; readonly reason: ReviewReason | null } => {
  const screened = screening.screen(subject)
  if (screened !== undefined && subject.name !== undefined) return { of: screened, reason: null }
  const { name, ...rest } = subject
  const others = screened ?? screening.screen(rest)
  const nobody: Screened = { result: 'review', riskScore: UNKNOWN_RISK_SCORE, matches: [] }
  const of = (type: CheckType): Screened => (others ? unknownSubject(others(type)) : nobody)
  return { of, reason: name === undefined ? 'no_subject_data' : 'name_not_comparable' }
}

export const createAml = ({ database, ledger, clock, subjects, lists, people }: AmlDeps) => {
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
      const { of, reason } = judge(snapshot, await subjectOf(caller, input))
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
            .map(({ listId, entries, sha256 }) => ({ listId, entries, sha256 })),
          checkedAt: iso(now),
          matches: matches.map((match) => ({ ...match, explanations: [...match.explanations] })),
        }
      })
      const { organisation } = caller
      const subject = await subjects.of(organisation, SUBJECT_KIND, input.userId)
      return ledger.append(caller, (tx) => {
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
     * What was found of somebody last, for rules: the worst `result` of all types and each type's own. Who was never checked
     * against sanctions is for review, whatever else was found.
     */
    async factsOf({ organisation }: Caller, userId: string): Promise<Record<string, unknown>> {
      const subject = await subjects.of(organisation, SUBJECT_KIND, userId)
      const results = await findResults(database, organisation, subject)
      const [first] = results
      if (first === undefined) return { result: 'review', reason: 'no_subject_data' }
      const byType = Object.fromEntries(results.map(({ check_type, result }) => [check_type, result]))
      const isComplete = byType.sanctions !== undefined
      const worst = results.reduce((result, one) => worse(result, one.result), first.result)
      const reason = results.find((one) => one.reason !== null)?.reason
      const { version } = lists.current()
      return {
        result: isComplete ? worst : worse(worst, 'review'),
        ...(!isComplete ? { reason: 'sanctions_not_checked' } : reason ? { reason } : {}),
        risk_score: Math.max(...results.map(({ risk_score }) => risk_score)),
        checked_at: iso(Math.min(...results.map(({ checked_at }) => checked_at))),
        lists_changed: results.some(({ list_version }) => list_version !== version),
        ...byType,
      }
    },
  }
}
