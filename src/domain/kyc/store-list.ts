/** People as an operator looks through them. @module */
import type { Database } from '../../store/database.ts'
import type { CheckRow, SubjectRow } from './store.ts'

/** A person with the check that counts, and the newest where that waits for review. */
export type KnownPerson = SubjectRow & {
  /** What the list is ordered by: the entry of the check that it shows. */
  readonly at: number
  readonly counts: Pick<CheckRow, 'id' | 'sealed'>
  readonly latest: Pick<CheckRow, 'id' | 'sealed'>
}

export interface PeopleFilter {
  readonly organisation: string
  /** Pseudonym: only that person. */
  readonly subject?: string
  /** Only those whose newest check waits for review. */
  readonly inReview: boolean
  /** `at` of the last person of the page before. */
  readonly before?: number
  readonly limit: number
}

type Row = SubjectRow & {
  at: number
  counts_id: string
  counts_sealed: Uint8Array
  latest_id: string
  latest_sealed: Uint8Array
}

const checkAt = (name: string, entry: string): string =>
  `CROSS JOIN LATERAL (SELECT id AS ${name}_id, sealed AS ${name}_sealed FROM kyc_checks AS check_of
    WHERE check_of.organisation = s.organisation AND check_of.subject = s.subject AND check_of.generation = s.generation
      AND check_of.entry_index = ${entry} LIMIT 1) AS ${name}`

/** People of an organisation, by their newest checks, the newest first. */
export const findPeople = async (
  { knex }: Database,
  { organisation, subject, inReview, before, limit }: PeopleFilter,
): Promise<KnownPerson[]> => {
  const place = inReview ? 's.review_entry' : 's.latest_entry'
  const query = knex('kyc_subjects AS s')
    .joinRaw(checkAt('counts', 'coalesce(s.conclusive_entry, s.latest_entry)'))
    .joinRaw(checkAt('latest', 's.latest_entry'))
    .select('s.*', `${place} AS at`, 'counts_id', 'counts_sealed', 'latest_id', 'latest_sealed')
    .where({ 's.organisation': organisation })
    .whereNull('s.erased_at')
    .whereNotNull(place)
    .orderBy(place, 'desc')
    .limit(limit)
  if (subject !== undefined) query.where({ 's.subject': subject })
  if (before !== undefined) query.where(place, '<', before)
  const rows: Row[] = await query
  return rows.map(({ counts_id, counts_sealed, latest_id, latest_sealed, ...row }) => ({
    ...row,
    counts: { id: counts_id, sealed: counts_sealed },
    latest: { id: latest_id, sealed: latest_sealed },
  }))
}

/** The entry of a check of the organisation. */
export const findCheckEntry = async (
  { knex }: Database,
  organisation: string,
  id: string,
): Promise<number | undefined> =>
  (await knex<CheckRow>('kyc_checks').where({ organisation, id }).first('entry_index'))?.entry_index
