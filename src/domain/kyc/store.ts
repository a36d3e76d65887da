/** People and checks of them. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'

/**
 * A person, from one erasure to the next. The empty text is the least: a key that was destroyed stays so, whatever else
 * is written in the same commit.
 */
export const subjects = table('kyc_subjects', {
  organisation: text().key(),
  /** Pseudonym, 64 hexadecimal digits. */
  subject: text().key(),
  /** Counts erasures, from 1. */
  generation: integer().key(),
  /** The sealed data key in base64url; empty once it is destroyed. */
  sealed_key: text().merge('min'),
  /** Entries of the newest check, and of the newest that verified or rejected. */
  latest_entry: integer().null().merge('max'),
  conclusive_entry: integer().null().merge('max'),
  erased_at: integer().null().merge('min'),
  /** Entry of the newest check, where it waits for review; null also for those of before it was kept. */
  review_entry: integer().null().merge('last'),
})

export type SubjectRow = RowOf<typeof subjects>

export const checks = table('kyc_checks', {
  id: text().key(),
  organisation: text(),
  subject: text(),
  generation: integer(),
  entry_index: integer(),
  /** Under the person's data key; see person-records.ts. */
  sealed: bytes(),
  checked_at: integer(),
})

export type CheckRow = RowOf<typeof checks>

/** The person as last known, erased or not; undefined for one that was never checked. */
export const findSubject = async (
  { knex }: Database,
  organisation: string,
  subject: string,
): Promise<SubjectRow | undefined> =>
  knex<SubjectRow>('kyc_subjects').where({ organisation, subject }).orderBy('generation', 'desc').first()

type Person = Pick<SubjectRow, 'organisation' | 'subject' | 'generation'>

/** The check that an entry is of. */
export const findCheck = async (
  { knex }: Database,
  { organisation, subject, generation }: Person,
  entry_index: number,
): Promise<CheckRow | undefined> =>
  knex<CheckRow>('kyc_checks').where({ organisation, subject, generation, entry_index }).first()

/** Checks of a person, the newest first. */
export const findChecks = (
  { knex }: Database,
  { organisation, subject, generation }: Person,
  limit: number,
): Promise<CheckRow[]> =>
  knex<CheckRow>('kyc_checks')
    .where({ organisation, subject, generation })
    .orderBy('entry_index', 'desc')
    .limit(limit)

/** Seals a check anew, unless somebody was faster. */
export const replaceSealed = async (
  { knex }: Database,
  { id, sealed }: Pick<CheckRow, 'id' | 'sealed'>,
  anew: Uint8Array,
): Promise<void> => {
  await knex<CheckRow>('kyc_checks')
    .where({ id, sealed: Buffer.from(sealed) })
    .update({ sealed: Buffer.from(anew) })
}
