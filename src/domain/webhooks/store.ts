/** Webhook endpoints. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'
import type { WebhookEvent } from './events.ts'

export const endpoints = table('webhook_endpoints', {
  /** `whk_…` */
  id: text().key(),
  organisation: text(),
  /** The key whose events it gets; null: all of the organisation. */
  key_id: text().null(),
  label: text(),
  sealed_url: bytes(),
  sealed_secret: bytes(),
  events: json<WebhookEvent[]>(),
  active: boolean(),
  /** Whether the ranges of EGRESS_ALLOW_CIDRS are open to it. */
  private_egress: boolean(),
  /** Entries before this index are not announced to it: they are older than it is, or than its last pause. */
  announces_from: integer(),
  created_at: integer(),
  last_delivery_at: integer().null(),
  last_status: integer().null(),
  /** Events dropped. */
  failure_count: integer(),
  /** When it dropped an event, with none delivered since; null where it does not fail. */
  failing_since: integer().null(),
  /** Events dropped, with none delivered since. */
  drops_in_row: integer(),
  /** When the newest attempt that it took began. */
  delivered_at: integer().null(),
  /** Whether its owner was told that it fails, and not since that it delivers again. */
  told_failing: boolean(),
})

/** An endpoint that dropped so many events in a row fails: somebody should hear of it. */
export const FAILING_DROPS = 10

/**
 * Whether an endpoint fails. Servers of earlier versions may end `failing_since` alone. The index of those to be told of has these words.
 * @param table the table's name in the query
 */
export const isFailing = (table: string): string =>
  `(${table}.failing_since IS NOT NULL AND ${table}.drops_in_row >= ${FAILING_DROPS})`

export type EndpointRow = RowOf<typeof endpoints>

export type NewEndpoint = Omit<
  EndpointRow,
  | 'last_delivery_at'
  | 'last_status'
  | 'failure_count'
  | 'failing_since'
  | 'drops_in_row'
  | 'delivered_at'
  | 'told_failing'
>
type EndpointChange = Partial<
  Pick<
    EndpointRow,
    'label' | 'sealed_url' | 'sealed_secret' | 'events' | 'active' | 'private_egress' | 'announces_from'
  >
>

/** Whose endpoints are meant: a key's own, or all of an organisation. */
export interface Owner {
  readonly organisation: string
  readonly keyId?: string
}

const owned = (knex: Knex, { organisation, keyId }: Owner) => {
  const rows = knex<EndpointRow>(endpoints.name).where({ organisation })
  return keyId === undefined ? rows : rows.where({ key_id: keyId })
}

/** jsonb takes JSON text. */
const asJson = (row: object): object => ({
  ...row,
  ...('events' in row && { events: JSON.stringify(row.events) }),
})

/** The oldest first. */
export const findEndpoints = ({ knex }: Database, owner: Owner): Promise<EndpointRow[]> =>
  owned(knex, owner)
    .orderBy('id')
    .then((rows: EndpointRow[]) => rows)

export const findOwned = (knex: Knex, owner: Owner, id: string): Promise<EndpointRow | undefined> =>
  owned(knex, owner).where({ id }).first<EndpointRow | undefined>()

const FIND_BY_ID = `SELECT ${endpoints.columns.join(', ')} FROM webhook_endpoints WHERE id = ANY ($1::text[])`

/** By id; those that were removed are left out. */
export const findEndpointsById = async (
  { query }: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, EndpointRow>> => {
  const { rows } = await query<EndpointRow>(FIND_BY_ID, [ids], 'webhook-endpoints')
  return new Map(rows.map((row) => [row.id, row]))
}

export const countEndpoints = async (trx: Knex, organisation: string): Promise<number> => {
  const row = await trx(endpoints.name).where({ organisation }).count({ count: '*' }).first()
  return Number(row?.count ?? 0)
}

/** Keys that endpoints of an organisation belong to. */
export const findKeyIds = async ({ knex }: Database, organisation: string): Promise<string[]> => {
  const rows: { key_id: string }[] = await knex<EndpointRow>(endpoints.name)
    .where({ organisation })
    .whereNotNull('key_id')
    .distinct('key_id')
  return rows.map(({ key_id }) => key_id)
}

/** Removes the oldest endpoint of some keys. @returns its id, if there is one */
export const deleteOldestOf = async (
  trx: Knex,
  organisation: string,
  keyIds: readonly string[],
): Promise<string | undefined> => {
  const row = await trx<EndpointRow>(endpoints.name)
    .where({ organisation })
    .whereIn('key_id', [...keyIds])
    .orderBy('id')
    .first('id')
  if (row !== undefined) await deleteEndpoint(trx, row.id)
  return row?.id
}

export const insertEndpoint = async (trx: Knex, row: NewEndpoint): Promise<void> => {
  await trx(endpoints.name).insert(asJson(row))
}

/** @returns the changed endpoint */
export const updateEndpoint = async (trx: Knex, id: string, change: EndpointChange): Promise<EndpointRow> => {
  const [row] = await trx<EndpointRow>(endpoints.name).where({ id }).update(asJson(change)).returning('*')
  if (row === undefined) throw new Error(`The endpoint ${id} is gone.`)
  return row
}

export const deleteEndpoint = async (trx: Knex, id: string): Promise<void> => {
  await trx(endpoints.name).where({ id }).delete()
}

/** Index of the entry after next of a log: within a change to it, the first one that follows the change's own. */
export const indexAfterChange = async (trx: Knex, log: number): Promise<number> => {
  const head = await trx<{ log: number; size: number }>('ledger_head').where({ log }).first('size')
  return (head?.size ?? 0) + 1
}

export type Subscription = Pick<EndpointRow, 'id' | 'organisation' | 'key_id' | 'events' | 'announces_from'>

/** The database's own time: servers may differ in theirs. */
export const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

const FIND_SUBSCRIPTIONS = `SELECT id, organisation, key_id, events, announces_from, ${NOW_MS} AS now
  FROM webhook_endpoints WHERE organisation = ANY ($1::text[]) AND active ORDER BY id`

/** A condition: that nothing is announced to anybody. */
export const NO_ENDPOINTS = 'NOT EXISTS (SELECT FROM webhook_endpoints WHERE active)'

/** The endpoints of some organisations that get deliveries now, and what time it is in the database. */
export const findSubscriptions = async (
  { query }: Database,
  organisations: readonly string[],
): Promise<{ now: number; endpoints: Subscription[] }> => {
  const { rows } = await query<Subscription & { now: number }>(
    FIND_SUBSCRIPTIONS,
    [organisations],
    'webhook-subscriptions',
  )
  return { now: rows[0]?.now ?? 0, endpoints: rows }
}

/** Of whom somebody is to be told. */
const IS_UNTOLD = `${isFailing(endpoints.name)} <> told_failing`

const FIND_UNTOLD = `SELECT id, organisation FROM webhook_endpoints
  WHERE ${IS_UNTOLD} AND id <> ALL ($1::text[]) ORDER BY id LIMIT $2::int`

/** Endpoints whose owners are to be told that they fail, or deliver again, but for some. */
export const findUntold = async (
  { query }: Database,
  except: readonly string[],
  limit: number,
): Promise<Pick<EndpointRow, 'id' | 'organisation'>[]> =>
  (await query<Pick<EndpointRow, 'id' | 'organisation'>>(FIND_UNTOLD, [except, limit], 'webhook-untold')).rows

/** Says that the owner is told. @returns whether it fails; undefined where nothing is to be told any more */
export const markTold = async (trx: Knex, id: string): Promise<boolean | undefined> => {
  const [row] = await trx<EndpointRow>(endpoints.name)
    .where({ id })
    .whereRaw(IS_UNTOLD)
    .update({ told_failing: trx.raw('NOT told_failing') })
    .returning('told_failing')
  return row?.told_failing
}
