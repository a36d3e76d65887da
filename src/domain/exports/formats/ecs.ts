/** Elastic Common Schema 8 and later; what it has no field for stands under `assay`. @module */

import { iso } from '../../../clock.ts'
import type { EventRow, EventType } from '../../event-log/rows.ts'
import { toWire } from '../wire.ts'
import { addressOf, gravityOf, idOf, outcomeOf, SEVERITY, TITLES } from './words.ts'

const ECS_VERSION = '9.4.0'
const NS_PER_MS = 1_000_000

/** `event.category` and `event.type`, whose values ECS fixes and allows in some pairs only. */
const CLASSES: Readonly<Record<EventType, readonly [category: string, type: string]>> = {
  prove: ['api', 'creation'],
  verify: ['api', 'info'],
  gate: ['api', 'info'],
  attest: ['api', 'creation'],
  spend: ['api', 'change'],
  revoke: ['api', 'deletion'],
  'key.revoked': ['iam', 'deletion'],
  'merkle.leaf': ['database', 'change'],
  'webhook.delivery': ['network', 'connection'],
  request: ['web', 'access'],
}

const requestFields = (row: EventRow) => {
  if (row.type !== 'request') return {}
  const ip = addressOf(row.ip)
  return {
    http: { request: { id: row.requestId, method: row.method }, response: { status_code: row.status } },
    url: { path: row.route },
    ...(ip !== undefined && { source: { address: row.ip, ip } }),
    user: { id: row.actorId },
    related: { ...(ip !== undefined && { ip: [ip] }), user: [row.actorId] },
  }
}

const ledgerFields = (row: EventRow) =>
  'leafHash' in row ? { related: { hash: [row.leafHash, ...(row.digest === null ? [] : [row.digest])] } } : {}

/** One event as a document. */
export const toEcs = (row: EventRow): object => {
  const [category, type] = CLASSES[row.type]
  const { type: _, at: __, organisationId: ___, ...own } = toWire(row)
  const ms = 'durationMs' in row ? row.durationMs : undefined
  return {
    '@timestamp': iso(row.at),
    ecs: { version: ECS_VERSION },
    message: TITLES[row.type],
    event: {
      kind: 'event',
      category: [category],
      type: [type],
      action: row.type,
      id: idOf(row),
      outcome: outcomeOf(row),
      severity: SEVERITY[gravityOf(row)],
      module: 'assay',
      dataset: 'assay.events',
      ...(ms !== undefined && { duration: Math.round(ms * NS_PER_MS) }),
    },
    organization: { id: row.organisation },
    service: { name: 'assay', type: 'assay' },
    ...requestFields(row),
    ...ledgerFields(row),
    assay: own,
  }
}
