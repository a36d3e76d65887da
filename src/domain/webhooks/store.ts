/** Webhook endpoints and the deliveries that are due to them. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { WebhookEvent } from '../../events.ts'
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

export interface EndpointRow {
  /** `whk_…` */
  id: string
  organisation: string
  /** The key whose events it gets; null: all of the organisation. */
  key_id: string | null
  label: string
  sealed_url: Uint8Array
  sealed_secret: Uint8Array
  events: WebhookEvent[]
  active: boolean
  /** Whether the ranges of EGRESS_ALLOW_CIDRS are open to it. */
  private_egress: boolean
  /** Entries before this index are not announced to it: they are older than it is, or than its last pause. */
  announces_from: number
  created_at: number
  last_delivery_at: number | null
  last_status: number | null
  /** Events dropped. */
  failure_count: number
}

type NewEndpoint = Omit<EndpointRow, 'last_delivery_at' | 'last_status' | 'failure_count'>
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

const ENDPOINTS = 'webhook_endpoints'

const owned = (knex: Knex, { organisation, keyId }: Owner) => {
  const rows = knex<EndpointRow>(ENDPOINTS).where({ organisation })
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

export const findEndpoint = ({ knex }: Database, id: string): Promise<EndpointRow | undefined> =>
  knex<EndpointRow>(ENDPOINTS).where({ id }).first()

export const countEndpoints = async (trx: Knex, organisation: string): Promise<number> => {
  const row = await trx(ENDPOINTS).where({ organisation }).count({ count: '*' }).first()
  return Number(row?.count ?? 0)
}

export const insertEndpoint = async (trx: Knex, row: NewEndpoint): Promise<void> => {
  await trx(ENDPOINTS).insert(asJson(row))
}

/** @returns the changed endpoint */
export const updateEndpoint = async (trx: Knex, id: string, change: EndpointChange): Promise<EndpointRow> => {
  const [row] = await trx<EndpointRow>(ENDPOINTS).where({ id }).update(asJson(change)).returning('*')
  if (row === undefined) throw new Error(`The endpoint ${id} is gone.`)
  return row
}

export const deleteEndpoint = async (trx: Knex, id: string): Promise<void> => {
  await trx(ENDPOINTS).where({ id }).delete()
}

/** Index of the entry after next: within a change, the first one that follows the change's own. */
export const indexAfterChange = async (trx: Knex): Promise<number> => {
  const head = await trx<{ size: number }>('ledger_head').first('size')
  return (head?.size ?? 0) + 1
}

export type Subscription = Pick<EndpointRow, 'id' | 'organisation' | 'key_id' | 'events' | 'announces_from'>

/** The endpoints of some organisations that get deliveries now. */
export const findSubscriptions = (
  { knex }: Database,
  organisations: readonly string[],
): Promise<Subscription[]> =>
  knex<EndpointRow>(ENDPOINTS)
    .whereIn('organisation', [...organisations])
    .where({ active: true })
    .orderBy('id')
    .select('id', 'organisation', 'key_id', 'events', 'announces_from')
    .then((rows: Subscription[]) => rows)

export interface DeliveryRow {
  /** `dlv_…` */
  id: string
  endpoint: string
  event: WebhookEvent
  entry_index: number
  /** As it is sent, byte for byte. */
  body: string
}

/** Due at once, by the database's clock. */
export const deliveries = table<DeliveryRow>('webhook_deliveries', [
  'id',
  'endpoint',
  'event',
  'entry_index',
  'body',
])

/** A delivery that this server is to make. */
export interface ClaimedDelivery extends DeliveryRow {
  /** Attempts that have failed. */
  attempts: number
  /** Unix ms, database's clock. */
  queued_at: number
}

/** The database's own time: servers may differ in theirs. */
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * Walks from endpoint to endpoint, one look into the index each, however many deliveries wait for any of them: those of
 * a dead receiver are never read to find those of the next.
 */
const FIND_LANES = `WITH RECURSIVE lane (endpoint, place) AS (
    (SELECT endpoint, 1 FROM webhook_deliveries WHERE endpoint > ? ORDER BY endpoint LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint FROM webhook_deliveries AS d WHERE d.endpoint > lane.endpoint
        ORDER BY d.endpoint LIMIT 1), place + 1
      FROM lane WHERE lane.endpoint IS NOT NULL AND place < ?::int)
  SELECT endpoint, EXISTS (SELECT 1 FROM webhook_deliveries AS d
      WHERE d.endpoint = lane.endpoint AND d.due_at <= ${NOW_MS}) AS due
    FROM lane WHERE endpoint IS NOT NULL`

/** Endpoints that something waits for, in order, after a given one; and whether it is due. */
export const findLanes = async (
  { knex }: Database,
  after: string,
  limit: number,
): Promise<{ endpoint: string; due: boolean }[]> => {
  const { rows } = await knex.raw<{ rows: { endpoint: string; due: boolean }[] }>(FIND_LANES, [after, limit])
  return rows
}

/**
 * Nobody waits for the disk: a power cut that takes the last of these writes back only makes deliveries come again, which
 * they may anyway.
 */
const UNHURRIED = `(SELECT set_config('synchronous_commit', 'off', true) AS mode) AS unhurried`

/** Takes what is due by putting it off: who claims it has until then, and if that server dies it is due again. */
const CLAIM = `UPDATE webhook_deliveries AS d SET due_at = ${NOW_MS} + ?::bigint
  FROM (SELECT due.id FROM unnest(?::text[], ?::int[]) AS lane (endpoint, room)
    CROSS JOIN LATERAL (SELECT w.id FROM webhook_deliveries AS w
      WHERE w.endpoint = lane.endpoint AND w.due_at <= ${NOW_MS}
      ORDER BY w.due_at LIMIT lane.room FOR UPDATE SKIP LOCKED) AS due) AS claimed, ${UNHURRIED}
  WHERE d.id = claimed.id AND unhurried.mode = 'off'
  RETURNING d.id, d.endpoint, d.event, d.entry_index, d.body, d.attempts, d.queued_at`

/** @param lanes endpoint → how many of its deliveries at most; the longest due come first */
export const claimDeliveries = async (
  { knex }: Database,
  lanes: ReadonlyMap<string, number>,
  leaseMs: number,
): Promise<ClaimedDelivery[]> => {
  const { rows } = await knex.raw<{ rows: ClaimedDelivery[] }>(CLAIM, [
    leaseMs,
    [...lanes.keys()],
    [...lanes.values()],
  ])
  return rows
}

/** How an attempt, or a delivery without one, ended. */
export interface Result {
  readonly id: string
  readonly endpoint: string
  /** Failed attempts before it, which tells whether the delivery is still this server's. */
  readonly attempts: number
  /**
   * `delivered`, `dropped` after the last attempt and `discarded`, since nobody wants it any more, remove the delivery;
   * `failed` puts it off by `pauseMs`; `released` gives it back untried.
   */
  readonly end: 'delivered' | 'dropped' | 'discarded' | 'failed' | 'released'
  readonly pauseMs?: number
  /** Of the attempt, where there was one. */
  readonly at?: number
  readonly status?: number
}

/**
 * Locks endpoints in one order, so that servers never wait for each other in a circle; then everything happens in one
 * statement, and only to deliveries that nobody else has moved on meanwhile. Of attempts at the same time the one that
 * began last counts as the last, whichever ends last.
 */
const SETTLE = `WITH result AS MATERIALIZED (SELECT r.* FROM ${UNHURRIED}, json_to_recordset(?::json)
      AS r (id text, endpoint text, attempts int, "end" text, "pauseMs" bigint, at bigint, status int)
      WHERE unhurried.mode = 'off'),
    locked AS MATERIALIZED (SELECT e.id FROM webhook_endpoints AS e
      WHERE e.id IN (SELECT endpoint FROM result WHERE at IS NOT NULL) ORDER BY e.id FOR UPDATE),
    removed AS (DELETE FROM webhook_deliveries AS d USING result AS r
      WHERE d.id = r.id AND d.attempts = r.attempts AND r."end" IN ('delivered', 'dropped', 'discarded')
      RETURNING d.id, d.endpoint, r."end"),
    put_off AS (UPDATE webhook_deliveries AS d
      SET due_at = ${NOW_MS} + coalesce(r."pauseMs", 0),
        attempts = d.attempts + CASE r."end" WHEN 'failed' THEN 1 ELSE 0 END
      FROM result AS r WHERE d.id = r.id AND d.attempts = r.attempts AND r."end" IN ('failed', 'released')),
    latest AS (SELECT DISTINCT ON (endpoint) endpoint, at, status FROM result
      WHERE at IS NOT NULL ORDER BY endpoint, at DESC),
    counted AS (UPDATE webhook_endpoints AS e
      SET last_delivery_at = greatest(e.last_delivery_at, latest.at),
        last_status = CASE WHEN latest.at < e.last_delivery_at THEN e.last_status ELSE latest.status END,
        failure_count = e.failure_count
          + (SELECT count(*) FROM removed WHERE removed.endpoint = e.id AND removed."end" = 'dropped')
      FROM latest, locked WHERE e.id = latest.endpoint AND locked.id = e.id)
  SELECT id FROM removed`

/** Writes down how attempts ended. @returns ids of the deliveries that are done with, if they were this server's */
export const settleResults = async ({ knex }: Database, results: readonly Result[]): Promise<Set<string>> => {
  const { rows } = await knex.raw<{ rows: { id: string }[] }>(SETTLE, [JSON.stringify(results)])
  return new Set(rows.map(({ id }) => id))
}

const DISCARD = `DELETE FROM webhook_deliveries WHERE id IN
  (SELECT id FROM webhook_deliveries WHERE endpoint = ? AND entry_index < ? LIMIT ?)`

/** Removes deliveries of an endpoint that tell of entries before an index. @returns how many, at most `limit` */
export const discardBefore = async (
  { knex }: Database,
  endpoint: string,
  index: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await knex.raw<{ rowCount: number }>(DISCARD, [endpoint, index, limit])
  return rowCount
}

export const countDeliveries = async ({ knex }: Database): Promise<number> => {
  const row = await knex('webhook_deliveries').count({ count: '*' }).first()
  return Number(row?.count ?? 0)
}
