/** Rows as they are handed out: the names and times of the API. @module */
import { iso } from '../../clock.ts'
import type { EventRow } from '../event-log/rows.ts'

/** All columns that a row of log 0 can have, in the order of tables; those of other logs have `log` behind them. */
export const COLUMNS = [
  'type',
  'at',
  'organisationId',
  'index',
  'leafHash',
  'auditEvent',
  'digest',
  'keyId',
  'circuitId',
  'proofId',
  'endpointId',
  'deliveryId',
  'event',
  'outcome',
  'attempts',
  'lastStatus',
  'durationMs',
  'requestId',
  'method',
  'route',
  'status',
  'actor',
  'actorId',
  'ip',
] as const
export type Column = (typeof COLUMNS)[number]

/** Values that JSON, tables and key-value formats can all say; `log` where an entry is not of log 0. */
export type WireRow = Readonly<Partial<Record<Column | 'log', string | number | null>>>

/** A row without the entry's text. */
export const toWire = (row: EventRow): WireRow => {
  const { type, at, organisation, ...rest } = row
  const { entry: _, ...fields } = { entry: undefined, ...rest }
  return { type, at: iso(at), organisationId: organisation, ...fields }
}
