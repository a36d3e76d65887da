/** Changes the schema, beside servers at work, and brings it up to date. @module */
import type { Knex } from 'knex'
import { despiteConflicts, type Patience } from './conflicts.ts'
import type { Database } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'

/** Any fixed number: servers that start at once wait for each other on it. ("assaydb" in ASCII, 7 bytes.) */
const ADVISORY_LOCK_KEY = '27431040873620578'

/** The schema of the database and the program are not of one version. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
}

const tooOld = (missing: readonly string[]): SchemaMismatch =>
  new SchemaMismatch(
    `The database was written by a version that is too old for this one: it lacks ${missing.join(', ')}. Open it once with the last version that has these migrations, then with this one.`,
  )

const tooNew = (unknown: readonly string[]): SchemaMismatch =>
  new SchemaMismatch(
    `The database was written by a later version: it has ${unknown.join(', ')}. Use that version.`,
  )

/** Where whoever asked may not bring the schema up to date. */
export const outdated = (missing: readonly string[]): SchemaMismatch =>
  new SchemaMismatch(
    `The schema of the database is older than this program: it lacks ${missing.join(', ')}. Run \`npx assay migrate\` once with the settings of the server, then start again.`,
  )

/** A migration that is being applied, and the place that it has among those that are missing. */
export interface MigrationStep {
  readonly name: string
  /** From 1. */
  readonly number: number
  readonly of: number
}

type Step = (typeof MIGRATIONS)[number] & { readonly isReplaced: boolean }

/**
 * @param names migrations that the database has
 * @returns what is missing, in order @throws SchemaMismatch when it was written by a later version, or by one that is too old
 */
const missingOf = (names: readonly string[]): Step[] => {
  const applied = new Set(names)
  const steps: Step[] = []
  for (const migration of MIGRATIONS) {
    const { name, replaces = [] } = migration
    const missing = replaces.filter((replaced) => !applied.delete(replaced))
    if (applied.delete(name)) continue
    if (missing.length > 0 && missing.length < replaces.length) throw tooOld(missing)
    steps.push({ ...migration, isReplaced: replaces.length > 0 && missing.length === 0 })
  }
  if (applied.size > 0) throw tooNew([...applied])
  return steps
}

/** The last migration of this program: what `assay version` and backups call the version of the schema. */
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.name ?? ''

/**
 * What a database lacks of the schema, without changing anything.
 * @returns names of migrations; none where it is up to date @throws SchemaMismatch when a later version wrote it
 */
export const missingMigrations = async ({ knex }: Pick<Database, 'knex'>): Promise<string[]> => {
  const { rows } = await knex.raw<{ rows: { found: boolean }[] }>(
    "SELECT to_regclass('migrations') IS NOT NULL AS found",
  )
  const names = rows[0]?.found ? await knex<{ name: string }>('migrations').pluck('name') : []
  return missingOf(names).map(({ name }) => name)
}

/** Servers that are running lock tables in orders of their own; a change may meet them for so long, once it met the first. */
const GIVE_UP_MS = 60_000

interface Waiting extends Patience {
  /** How long a lock is waited for; default: as long as it takes. */
  readonly lockTimeoutMs?: number
}

/** Whoever waited for the lock sees what was done meanwhile: stricter isolation would show what was there before the wait. */
const SETTINGS =
  'SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0'

/**
 * Changes of one kind, each a transaction, which servers that start at once make one after the other. One that runs into a deadlock with
 * servers that are running is begun again. What changes a great table takes as long as it takes.
 * @param key of an advisory lock of PostgreSQL, any fixed number
 */
export const schemaChange =
  ({ knex, kind }: Pick<Database, 'knex' | 'kind'>, key: string) =>
  <R>(change: (trx: Knex) => Promise<R>, { lockTimeoutMs = 0, ...patience }: Waiting = {}): Promise<R> => {
    const begin = async (trx: Knex): Promise<R> => {
      if (kind === 'postgres') {
        await trx.raw(SETTINGS)
        await trx.raw(`SELECT pg_advisory_xact_lock(${key})`)
        if (lockTimeoutMs > 0) await trx.raw(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
      }
      return change(trx)
    }
    return despiteConflicts(() => knex.transaction(begin), { giveUpMs: GIVE_UP_MS, ...patience })
  }

/**
 * Applies what is missing, in order, each migration with its row of `migrations` in a transaction of its own: no table stays locked
 * while a later migration works on another one. One that fails leaves nothing half done, and what was before it stays, as an earlier
 * version of the schema, from which the next start goes on. Servers that start at once may apply them in turns.
 * @param onStep called before each migration
 * @returns names of what was applied
 * @throws SchemaMismatch when the database was written by a later version, or by one that is too old to go on from
 */
export const migrate = async (
  database: Pick<Database, 'knex' | 'kind'>,
  onStep?: (step: MigrationStep) => void,
): Promise<string[]> => {
  const change = schemaChange(database, ADVISORY_LOCK_KEY)
  const done: string[] = []
  const applyNext = async (trx: Knex): Promise<string | undefined> => {
    await trx.raw(`CREATE TABLE IF NOT EXISTS migrations (
      name text COLLATE "C" PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`)
    const steps = missingOf(await trx<{ name: string }>('migrations').pluck('name'))
    const [step] = steps
    if (step === undefined) return undefined
    const { name, isReplaced, up } = step
    onStep?.({ name, number: done.length + 1, of: done.length + steps.length })
    if (!isReplaced) await up(trx)
    await trx('migrations').insert({ name })
    return name
  }
  for (;;) {
    const name = await change(applyNext)
    if (name === undefined) return done
    done.push(name)
  }
}
