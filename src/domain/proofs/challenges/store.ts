/** Challenges, which end by themselves. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { integer, json, type RowOf, table, text } from '../../../store/table.ts'
import type { Stated } from '../statement.ts'
import { MAX_TRIES } from './challenge.ts'

export const proofChallenges = table('proof_challenges', {
  /** `chl_…` */
  id: text().key(),
  organisation: text(),
  /** Of the key that asked. */
  key_id: text().null(),
  /** The id that its answer gets: once there is a proof of this id, it is answered. */
  proof_id: text(),
  circuit_id: text(),
  nonce: text(),
  /** BASE_URL when it was asked. */
  audience: text(),
  statement: json<Stated>(),
  issuers: json<readonly string[]>(),
  /** Answers that came to it without a credential. */
  tries: integer(),
  /** Why the last of them was not verified. */
  reason_codes: json<readonly string[]>(),
  created_at: integer(),
  expires_at: integer(),
})

export type ChallengeRow = RowOf<typeof proofChallenges>
/** With whether it has its answer. */
export type FoundChallenge = ChallengeRow & { readonly is_answered: boolean }

const ANSWERED = 'EXISTS (SELECT 1 FROM proofs WHERE proofs.id = proof_challenges.proof_id)'

const found = ({ knex }: Database) =>
  knex<ChallengeRow>('proof_challenges').select('proof_challenges.*', knex.raw(`${ANSWERED} AS is_answered`))

export const findChallenge = async (database: Database, id: string): Promise<FoundChallenge | undefined> =>
  (await found(database).where({ id }).first()) as FoundChallenge | undefined

export const findByNonce = async (
  database: Database,
  organisation: string,
  nonce: string,
): Promise<FoundChallenge | undefined> =>
  (await found(database).where({ organisation, nonce }).first()) as FoundChallenge | undefined

/** How many an organisation has made, ever, and how many of them wait for an answer: both of one moment. @param now Unix ms */
export const countChallenges = async (
  { knex }: Database,
  { organisation, counter, now }: { organisation: string; counter: string; now: number },
): Promise<{ readonly made: number; readonly open: number }> => {
  const { rows } = await knex.raw(
    `SELECT COALESCE((SELECT value FROM ledger_counters WHERE organisation = :organisation AND counter = :counter), 0)::bigint AS made,
       (SELECT count(*) FROM proof_challenges WHERE organisation = :organisation AND expires_at > :now
         AND tries < :tries AND NOT ${ANSWERED})::bigint AS open`,
    { organisation, counter, now, tries: MAX_TRIES },
  )
  return { made: Number(rows[0].made), open: Number(rows[0].open) }
}

/**
 * Takes one of a challenge's tries, before anything is looked at: of many at the same time no more get one than there are.
 * @param now Unix ms @returns undefined where it is not open
 */
export const takeTry = async (
  { knex }: Database,
  id: string,
  now: number,
): Promise<ChallengeRow | undefined> => {
  const [row] = await knex<ChallengeRow>('proof_challenges')
    .where({ id })
    .where('tries', '<', MAX_TRIES)
    .where('expires_at', '>', now)
    .whereRaw(`NOT ${ANSWERED}`)
    .update({ tries: knex.raw('tries + 1') })
    .returning('*')
  return row
}

/** For an answer that nobody judged. */
export const giveTryBack = async ({ knex }: Database, id: string): Promise<void> => {
  await knex('proof_challenges').where({ id }).decrement('tries', 1)
}

/** Keeps why a try was none. */
export const noteRefusal = async (
  { knex }: Database,
  id: string,
  reasonCodes: readonly string[],
): Promise<void> => {
  await knex('proof_challenges')
    .where({ id })
    .update({ reason_codes: JSON.stringify(reasonCodes) })
}

/** Deletes some that ended before a time. @param before Unix ms @returns how many */
export const deleteEnded = async ({ knex }: Database, before: number, maxRows: number): Promise<number> =>
  knex<ChallengeRow>('proof_challenges')
    .whereIn(
      'id',
      knex<ChallengeRow>('proof_challenges')
        .select('id')
        .where('expires_at', '<=', before)
        .orderBy('expires_at')
        .limit(maxRows)
        // Another server may be at it too.
        .forUpdate()
        .skipLocked(),
    )
    .delete()
