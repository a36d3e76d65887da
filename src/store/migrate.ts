/** Brings the schema up to date. @module */
import type { Database } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'

/** Any fixed number: servers that start at once wait for each other on it. ("assaydb" in ASCII, 7 bytes.) */
const ADVISORY_LOCK_KEY = '27431040873620578'

/**
 * Applies what is missing, in order, in one transaction: a failed migration leaves nothing half done.
 * @throws Error when the database was written by a later version
 */
export const migrate = async ({ knex, kind }: Database): Promise<void> => {
  await knex.transaction(async (trx) => {
    if (kind === 'postgres') await trx.raw(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK_KEY})`)
    await trx.raw(`CREATE TABLE IF NOT EXISTS migrations (
      name text COLLATE "C" PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`)
    const applied = new Set(await trx<{ name: string }>('migrations').pluck('name'))
    for (const { name, up } of MIGRATIONS) {
      if (applied.delete(name)) continue
      await up(trx)
      await trx('migrations').insert({ name })
    }
    if (applied.size > 0) {
      throw new Error(`The database was written by a later version: it has ${[...applied].join(', ')}.`)
    }
  })
}
