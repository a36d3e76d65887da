/** Deliveries that are due to endpoints. Columns `…_at` are Unix milliseconds by the database's clock. @module */

import type { Database } from '../../store/database.ts'
import { integer, type RowOf, table, text } from '../../store/table.ts'
import type { WebhookEvent } from './events.ts'
import { FAILING_DROPS, isFailing, NOW_MS } from './store.ts'

export const deliveries = table('webhook_deliveries', {
  /** `dlv_…` */
  id: text().key(),
  endpoint: text(),
  event: text<WebhookEvent>(),
  entry_index: integer(),
  /** As it is sent, byte for byte. */
  body: text(),
  /** By the database's clock. What is due later is held by a server until then, as if it had leased it. */
  due_at: integer(),
  /** Attempts that have failed. */
  attempts: integer().filled(),
  queued_at: integer().filled(),
})

type DeliveryRow = RowOf<typeof deliveries>

/** What is told to an endpoint. */
export type Told = Pick<DeliveryRow, 'id' | 'endpoint' | 'event' | 'entry_index' | 'body'>

/** A delivery that this server is to make. */
export type LeasedDelivery = Omit<DeliveryRow, 'due_at'>

/** When the statement began, by the database: the same for all of it, so that an index on a time can be looked into. */
const STATEMENT_MS = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

const FIND_DUE = `SELECT endpoint, (sum(count(*)) OVER ())::integer AS due
  FROM (SELECT endpoint, due_at FROM webhook_deliveries WHERE due_at <= ${STATEMENT_MS} ORDER BY due_at LIMIT $1) AS oldest
  GROUP BY endpoint ORDER BY min(due_at)`

/** Endpoints that something is due to, the longest due first; undefined where `limit` deliveries or more are due. */
export const findDue = async ({ query }: Database, limit: number): Promise<string[] | undefined> => {
  const { rows } = await query<{ endpoint: string; due: number }>(FIND_DUE, [limit], 'webhook-due')
  return (rows[0]?.due ?? 0) < limit ? rows.map(({ endpoint }) => endpoint) : undefined
}

/**
 * Walks from endpoint to endpoint, one look into the index each, however many deliveries wait for any of them: those of
 * a dead receiver are never read to find those of the next.
 */
const FIND_QUEUES = `WITH RECURSIVE queue (endpoint, place) AS (
    (SELECT endpoint, 1 FROM webhook_deliveries WHERE endpoint > $1 ORDER BY endpoint LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint FROM webhook_deliveries AS d WHERE d.endpoint > queue.endpoint
        ORDER BY d.endpoint LIMIT 1), place + 1
      FROM queue WHERE queue.endpoint IS NOT NULL AND place < $2::int)
  SELECT endpoint, EXISTS (SELECT 1 FROM webhook_deliveries AS d
      WHERE d.endpoint = queue.endpoint AND d.due_at <= ${STATEMENT_MS}) AS due
    FROM queue WHERE endpoint IS NOT NULL`

/** Endpoints that something waits for, in order, after a given one; and whether it is due. */
export const findQueues = async (
  { query }: Database,
  after: string,
  limit: number,
): Promise<{ endpoint: string; due: boolean }[]> => {
  const { rows } = await query<{ endpoint: string; due: boolean }>(
    FIND_QUEUES,
    [after, limit],
    'webhook-queues',
  )
  return rows
}

/**
 * Nobody waits for the disk: a power cut that takes the last of these writes back only makes deliveries come again, which
 * they may anyway.
 */
const UNHURRIED = `(SELECT set_config('synchronous_commit', 'off', true) AS mode) AS unhurried`

/** Takes what is due by putting it off: it is leased until then, and if that server dies it is due again. */
const LEASE = `UPDATE webhook_deliveries AS d SET due_at = ${NOW_MS} + $1::bigint
  FROM (SELECT due.id FROM unnest($2::text[], $3::int[]) AS queue (endpoint, room)
    CROSS JOIN LATERAL (SELECT w.id FROM webhook_deliveries AS w
      WHERE w.endpoint = queue.endpoint AND w.due_at <= ${STATEMENT_MS}
      ORDER BY w.due_at LIMIT queue.room FOR UPDATE SKIP LOCKED) AS due) AS leased, ${UNHURRIED}
  WHERE d.id = leased.id AND unhurried.mode = 'off'
  RETURNING d.id, d.endpoint, d.event, d.entry_index, d.body, d.attempts, d.queued_at`

/** @param queues endpoint → how many of its deliveries at most; the longest due come first */
export const leaseDeliveries = async (
  { query }: Database,
  queues: ReadonlyMap<string, number>,
  leaseMs: number,
): Promise<LeasedDelivery[]> => {
  const values = [leaseMs, [...queues.keys()], [...queues.values()]]
  const { rows } = await query<LeasedDelivery>(LEASE, values, 'webhook-lease')
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
 * query, and only to deliveries that nobody else has moved on meanwhile. Of attempts at the same time the one that
 * began last counts as the last, whichever ends last; by the clock of a server that is ahead none begins later than
 * now. What was dropped before the newest delivery began is no failure any more, whichever was written down first.
 * Servers of earlier versions count no drops: what they say to fail they told of at the first. The ids are given
 * twice, so that each is looked up in the index, whatever the planner believes of the size of the table.
 */
const SETTLE = `WITH result AS MATERIALIZED (SELECT r.id, r.endpoint, r.attempts, r."end", r."pauseMs", r.status,
        CASE WHEN r.at > ${NOW_MS} THEN ${NOW_MS} ELSE r.at END AS at FROM ${UNHURRIED}, json_to_recordset($1::json)
      AS r (id text, endpoint text, attempts int, "end" text, "pauseMs" bigint, at bigint, status int)
      WHERE unhurried.mode = 'off'),
    locked AS MATERIALIZED (SELECT e.id, e.drops_in_row, e.failing_since, e.delivered_at, e.told_failing
      FROM webhook_endpoints AS e
      WHERE e.id IN (SELECT endpoint FROM result WHERE at IS NOT NULL) ORDER BY e.id FOR UPDATE),
    removed AS (DELETE FROM webhook_deliveries AS d USING result AS r
      WHERE d.id = ANY ($2::text[]) AND d.id = r.id AND d.attempts = r.attempts
        AND r."end" IN ('delivered', 'dropped', 'discarded')
      RETURNING d.id, d.endpoint, r."end", r.at),
    put_off AS (UPDATE webhook_deliveries AS d
      SET due_at = ${NOW_MS} + coalesce(r."pauseMs", 0),
        attempts = d.attempts + CASE r."end" WHEN 'failed' THEN 1 ELSE 0 END
      FROM result AS r WHERE d.id = ANY ($2::text[]) AND d.id = r.id AND d.attempts = r.attempts
        AND r."end" IN ('failed', 'released')),
    latest AS (SELECT DISTINCT ON (endpoint) endpoint, at, status,
        max(at) FILTER (WHERE "end" = 'delivered') OVER (PARTITION BY endpoint) AS delivered_at FROM result
      WHERE at IS NOT NULL ORDER BY endpoint, at DESC),
    known AS (SELECT endpoint, at, status, greatest(locked.delivered_at, latest.delivered_at) AS delivered_at,
        failing_since, failing_since > coalesce(greatest(locked.delivered_at, latest.delivered_at), 0) AS goes_on,
        CASE drops_in_row WHEN 0 THEN ${FAILING_DROPS} ELSE drops_in_row END AS drops_in_row,
        told_failing OR (failing_since IS NOT NULL AND drops_in_row = 0) AS told_failing
      FROM latest JOIN locked ON locked.id = latest.endpoint),
    dropped AS (SELECT known.endpoint, count(*) AS all_drops,
        count(*) FILTER (WHERE removed.at > coalesce(delivered_at, 0)) AS in_row,
        min(removed.at) FILTER (WHERE removed.at > coalesce(delivered_at, 0)) AS since
      FROM removed JOIN known ON known.endpoint = removed.endpoint AND removed."end" = 'dropped'
      GROUP BY known.endpoint),
    counted AS (UPDATE webhook_endpoints AS e
      SET last_delivery_at = greatest(e.last_delivery_at, known.at),
        last_status = CASE WHEN known.at < e.last_delivery_at THEN e.last_status ELSE known.status END,
        failure_count = e.failure_count + coalesce(dropped.all_drops, 0),
        delivered_at = known.delivered_at,
        drops_in_row = coalesce(dropped.in_row, 0) + CASE WHEN known.goes_on THEN known.drops_in_row ELSE 0 END,
        failing_since = CASE WHEN known.goes_on THEN known.failing_since ELSE dropped.since END,
        told_failing = known.told_failing
      FROM known LEFT JOIN dropped ON dropped.endpoint = known.endpoint
      WHERE e.id = known.endpoint
      RETURNING e.id, ${isFailing('e')} <> e.told_failing AS untold)
  SELECT id, false AS untold FROM removed
  UNION ALL SELECT id, untold FROM counted WHERE untold`

export interface Settled {
  /** Ids of the deliveries that are done with, if they were this server's. */
  readonly ended: ReadonlySet<string>
  /** Whether one of the endpoints began to fail, or delivers again, and its owner is not told yet. */
  readonly hasUntold: boolean
}

/** Writes down how attempts ended. Again, where the answer was lost: what was done stays as it is. */
export const settleResults = async ({ query }: Database, results: readonly Result[]): Promise<Settled> => {
  const values = [JSON.stringify(results), results.map(({ id }) => id)]
  const { rows } = await query<{ id: string; untold: boolean }>(SETTLE, values, 'webhook-settle')
  return {
    ended: new Set(rows.flatMap(({ id, untold }) => (untold ? [] : [id]))),
    hasUntold: rows.some(({ untold }) => untold),
  }
}

const DISCARD = `DELETE FROM webhook_deliveries WHERE id IN
  (SELECT id FROM webhook_deliveries WHERE endpoint = $1 AND entry_index < $2 LIMIT $3)`

/** Removes deliveries of an endpoint that tell of entries before an index. @returns how many, at most `limit` */
export const discardBefore = async (
  { query }: Database,
  endpoint: string,
  index: number,
  limit: number,
): Promise<number> => (await query(DISCARD, [endpoint, index, limit], 'webhook-discard')).rowCount

const FIND_OVERFULL = `SELECT queue.endpoint FROM unnest($1::text[]) AS queue (endpoint)
  WHERE EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.endpoint = queue.endpoint OFFSET $2::bigint)`

/** Those of some endpoints that more than `limit` deliveries wait for. */
export const findOverfull = async (
  { query }: Database,
  endpoints: readonly string[],
  limit: number,
): Promise<string[]> => {
  const { rows } = await query<{ endpoint: string }>(FIND_OVERFULL, [endpoints, limit], 'webhook-overfull')
  return rows.map(({ endpoint }) => endpoint)
}

/** A delivery that was given up unfinished. */
export type DroppedDelivery = Pick<LeasedDelivery, 'id' | 'event' | 'attempts' | 'queued_at'>

/**
 * What a server is at, or has a pause, is due in the future, and stays. Only what goes is locked: rows that an OFFSET
 * passes over would be locked as well, if it stood beside the FOR UPDATE.
 */
const DROP_BEYOND = `WITH gone AS (DELETE FROM webhook_deliveries WHERE id IN
      (SELECT id FROM webhook_deliveries WHERE due_at <= ${STATEMENT_MS} AND id IN
          (SELECT id FROM webhook_deliveries WHERE endpoint = $1 ORDER BY due_at DESC OFFSET $2::bigint)
        LIMIT $3::int FOR UPDATE SKIP LOCKED)
    RETURNING id, event, attempts, queued_at),
  counted AS (UPDATE webhook_endpoints SET failure_count = failure_count + (SELECT count(*) FROM gone) WHERE id = $1)
  SELECT * FROM gone`

/** Removes and counts, as dropped, what is due to an endpoint besides the newest `limit`; at most `rows` at once. */
export const dropBeyond = async (
  { query }: Database,
  endpoint: string,
  limit: number,
  rows: number,
): Promise<DroppedDelivery[]> =>
  (await query<DroppedDelivery>(DROP_BEYOND, [endpoint, limit, rows], 'webhook-drop')).rows

const COUNT_WAITING = `SELECT queue.endpoint, (SELECT count(*)::integer FROM (SELECT 1 FROM webhook_deliveries AS d
    WHERE d.endpoint = queue.endpoint LIMIT $2::int) AS counted) AS waiting
  FROM unnest($1::text[]) AS queue (endpoint)`

/** Endpoints that are counted at once: the embedded database shares its thread with everybody. */
const COUNTED_AT_ONCE = 2

/** Lets whatever waits for this thread run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** How many deliveries wait for each of some endpoints, at most `limit`. */
export const countWaiting = async (
  { query }: Pick<Database, 'query'>,
  endpoints: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  for (let i = 0; i < endpoints.length; i += COUNTED_AT_ONCE) {
    const values = [endpoints.slice(i, i + COUNTED_AT_ONCE), limit]
    const { rows } = await query<{ endpoint: string; waiting: number }>(
      COUNT_WAITING,
      values,
      'webhook-waiting',
    )
    for (const { endpoint, waiting } of rows) counts.set(endpoint, waiting)
    await turn()
  }
  return counts
}

/** Enough to see that something is wrong; more would hold up whoever shares the thread with the embedded database. */
export const MAX_COUNTED_DELIVERIES = 50_000

const COUNT_ALL = `SELECT count(*)::integer AS count
  FROM (SELECT 1 FROM webhook_deliveries LIMIT ${MAX_COUNTED_DELIVERIES}) AS counted`

/** How many deliveries wait, at most {@link MAX_COUNTED_DELIVERIES}. */
export const countDeliveries = async ({ query }: Pick<Database, 'query'>): Promise<number> => {
  const { rows } = await query<{ count: number }>(COUNT_ALL, [], 'webhook-count')
  return rows[0]?.count ?? 0
}
