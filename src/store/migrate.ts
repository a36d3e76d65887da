/** Brings the schema up to date. @module */
import type { Database } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'

/** Any fixed number: servers that start at once wait for each other on it. ("assaydb" in ASCII, 7 bytes.) */
const ADVISORY_LOCK_KEY = '27431040873620578'

const tooOld = (missing: readonly string[]): Error =>
  new Error(
    `The database was written by a version that is too old for this one: it lacks ${missing.join(', ')}. Open it once with the last version that has these migrations, then with this one. Nothing was changed.`,
  )

/**
 * Applies what is missing, in order, in one transaction: a failed migration leaves nothing half done.
 * @throws Error when the database was written by a later version, or by one that is too old to go on from
 */
export const migrate = async ({ knex, kind }: Pick<Database, 'knex' | 'kind'>): Promise<void> => {
  await knex.transaction(async (trx) => {
    if (kind === 'postgres') {
      // What changes a great table takes as long as it takes, and so does waiting for whoever does it.
      await trx.raw('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0')
      await trx.raw(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK_KEY})`)
    }
    await trx.raw(`CREATE TABLE IF NOT EXISTS migrations (
      name text COLLATE "C" PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`)
    const applied = new Set(await trx<{ name: string }>('migrations').pluck('name'))
    for (const { name, replaces = [], up } of MIGRATIONS) {
      const missing = replaces.filter((replaced) => !applied.delete(replaced))
      if (applied.delete(name)) continue
      if (missing.length === replaces.length) await up(trx)
      else if (missing.length > 0) throw tooOld(missing)
      await trx('migrations').insert({ name })
    }
    if (applied.size > 0) {
      throw new Error(`The database was written by a later version: it has ${[...applied].join(', ')}.`)
    }
  })
}
