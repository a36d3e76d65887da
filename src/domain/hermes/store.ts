/** Hermes routes, their deletions and what they answered. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, type RowOf, table, text } from '../../store/table.ts'

export const hermesRoutes = table('hermes_routes', {
  /** `prx_…` */
  id: text().key(),
  slug: text(),
  /** Whose ledger and allowance its verdicts belong to. */
  organisation: text(),
  /** Whether it was made with a credential of that organisation; others belong to whoever has its manage token. */
  owned: boolean(),
  user_id: text(),
  /** The target's URL, sealed. */
  destination: bytes(),
  /** Key of the HMACs that bind a verdict to URL, question and answer; 32 bytes, sealed. */
  binding_key: bytes(),
  /** SHA-256 of the token that is needed to ask; null: everybody may. */
  ask_digest: bytes().null(),
  manage_digest: bytes(),
  /** Whether the ranges of EGRESS_ALLOW_CIDRS are open to it. */
  private_egress: boolean(),
  created_at: integer(),
})

type RouteRow = RowOf<typeof hermesRoutes>

export const hermesDeletions = table('hermes_deletions', {
  route: text().key(),
  organisation: text(),
  entry_index: integer(),
  deleted_at: integer(),
})

export const hermesStats = table('hermes_stats', {
  route: text().key(),
  yes: integer().merge('sum'),
  no: integer().merge('sum'),
  /** Questions that the target's failure left without an answer. */
  errors: integer().merge('sum'),
  /** Of all calls of the target together. */
  latency_ms: integer().merge('sum'),
  last_used_at: integer().merge('max'),
})

type StatsRow = RowOf<typeof hermesStats>

const COUNT_FAILURE = `INSERT INTO hermes_stats (route, yes, no, errors, latency_ms, last_used_at)
  SELECT $1::text, 0, 0, 1, $2::bigint, $3::bigint WHERE NOT EXISTS (SELECT FROM hermes_deletions WHERE route = $1)
  ON CONFLICT (route) DO UPDATE SET errors = hermes_stats.errors + 1,
    latency_ms = hermes_stats.latency_ms + excluded.latency_ms,
    last_used_at = greatest(hermes_stats.last_used_at, excluded.last_used_at)`

/**
 * Counts a question that the target's failure left without an answer, outside of the ledger: nothing was decided, and
 * whoever asks a broken target must not fill the ledger.
 * @param failure `at` is Unix ms
 * @returns false where the route was deleted: then nothing is counted
 */
export const countFailure = async (
  database: Database,
  { route, at, latencyMs }: { readonly route: string; readonly at: number; readonly latencyMs: number },
): Promise<boolean> => {
  const { rowCount } = await database.query(COUNT_FAILURE, [route, latencyMs, at], 'hermes-count-failure')
  return rowCount === 1
}

/** A route with what became of it. */
export type KnownRoute = RouteRow & { deleted_at: number | null }

const known = ({ knex }: Database) =>
  knex<RouteRow>('hermes_routes')
    .leftJoin('hermes_deletions', 'hermes_deletions.route', 'hermes_routes.id')
    .select('hermes_routes.*', 'hermes_deletions.deleted_at')

export const findBySlug = (database: Database, slug: string): Promise<KnownRoute | undefined> =>
  known(database).where({ slug }).first<KnownRoute | undefined>()

/** The route that a token asks or manages. @param digest SHA-256 of the token */
export const findByToken = (database: Database, digest: Uint8Array): Promise<KnownRoute | undefined> =>
  known(database)
    .where({ ask_digest: digest })
    .orWhere({ manage_digest: digest })
    .first<KnownRoute | undefined>()

/** A route with its counters, which are null until it is asked. */
export type CountedRoute = KnownRoute & { [C in Exclude<keyof StatsRow, 'route'>]: StatsRow[C] | null }

const COUNTERS = ['yes', 'no', 'errors', 'latency_ms', 'last_used_at'] as const

const counted = (database: Database) =>
  known(database)
    .leftJoin('hermes_stats', 'hermes_stats.route', 'hermes_routes.id')
    .select(COUNTERS.map((column) => `hermes_stats.${column}`))

export const findRoute = (database: Database, id: string): Promise<CountedRoute | undefined> =>
  counted(database).where({ id }).first<CountedRoute | undefined>()

const MAX_LISTED = 1000

/**
 * A user's routes, the newest first; deleted ones too: those made without a key, and those of one organisation.
 * @param organisation undefined: no organisation's
 */
export const findRoutes = (
  database: Database,
  user_id: string,
  organisation: string | undefined,
): Promise<CountedRoute[]> =>
  counted(database)
    .where({ user_id })
    .where((made) => {
      made.where({ owned: false })
      if (organisation !== undefined) made.orWhere('hermes_routes.organisation', organisation)
    })
    .orderBy('id', 'desc')
    .limit(MAX_LISTED)
    .then((rows: CountedRoute[]) => rows)
