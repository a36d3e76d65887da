/**
 * Open Cybersecurity Schema Framework 1.8. Requests and deliveries are calls of an API (API Activity, 6003); entries of
 * the ledger tell what became of proofs, keys and leaves (Entity Management, 3004) and name no peer, which API
 * Activity would demand.
 * @module
 */
import type { DeliveryRow, EventRow, FactRow, LeafRow, RequestRow } from '../../event-log/rows.ts'
import { toWire } from '../wire.ts'
import { addressOf, type Gravity, gravityOf, idOf, outcomeOf, PRODUCT, TITLES } from './words.ts'

const OCSF_VERSION = '1.8.0'
const API_ACTIVITY = {
  category: 6,
  categoryName: 'Application Activity',
  class: 6003,
  className: 'API Activity',
}
const ENTITY_MANAGEMENT = {
  category: 3,
  categoryName: 'Identity & Access Management',
  class: 3004,
  className: 'Entity Management',
}
const SEVERITIES: Readonly<Record<Gravity, readonly [id: number, name: string]>> = {
  informational: [1, 'Informational'],
  low: [2, 'Low'],
  medium: [3, 'Medium'],
}
const STATUSES = { unknown: [0, 'Unknown'], success: [1, 'Success'], failure: [2, 'Failure'] } as const

type Activity = readonly [id: number, name: string]
const CREATE: Activity = [1, 'Create']
const READ: Activity = [2, 'Read']
const UPDATE: Activity = [3, 'Update']
const DELETE: Activity = [4, 'Delete']
const DISABLE: Activity = [9, 'Disable']
const OTHER_ACTIVITY = 99
const OTHER_ENTITY = 99

const METHODS: ReadonlyMap<string, Activity> = new Map([
  ['POST', CREATE],
  ['GET', READ],
  ['HEAD', READ],
  ['PUT', UPDATE],
  ['PATCH', UPDATE],
  ['DELETE', DELETE],
])

/** What happens to which kind of thing. */
const ENTITIES: Readonly<Record<(FactRow | LeafRow)['type'], readonly [activity: Activity, entity: string]>> =
  {
    prove: [CREATE, 'Proof'],
    verify: [READ, 'Verification'],
    gate: [[OTHER_ACTIVITY, 'Decide'], 'Policy decision'],
    attest: [CREATE, 'Attestation'],
    spend: [UPDATE, 'Proof'],
    revoke: [DISABLE, 'Revocable'],
    'key.revoked': [DISABLE, 'API key'],
    'merkle.leaf': [CREATE, 'Merkle leaf'],
  }

const base = (row: EventRow, of: typeof API_ACTIVITY, [activityId, activityName]: Activity) => {
  const [severityId, severity] = SEVERITIES[gravityOf(row)]
  const [statusId, status] = STATUSES[outcomeOf(row)]
  return {
    activity_id: activityId,
    activity_name: activityName,
    category_uid: of.category,
    category_name: of.categoryName,
    class_uid: of.class,
    class_name: of.className,
    type_uid: of.class * 100 + activityId,
    type_name: `${of.className}: ${activityName}`,
    time: row.at,
    severity_id: severityId,
    severity,
    status_id: statusId,
    status,
    message: TITLES[row.type],
    metadata: {
      version: OCSF_VERSION,
      product: { name: PRODUCT.name, vendor_name: PRODUCT.vendor, version: PRODUCT.version },
      uid: idOf(row),
      event_code: row.type,
      tenant_uid: row.organisation,
    },
  }
}

const service = { name: PRODUCT.name }

const ofRequest = (row: RequestRow) => ({
  ...base(row, API_ACTIVITY, METHODS.get(row.method) ?? [OTHER_ACTIVITY, row.method]),
  duration: Math.round(row.durationMs),
  actor: { user: { uid: row.actorId, ...(row.keyId !== null && { credential_uid: row.keyId }) } },
  api: {
    operation: `${row.method} ${row.route}`,
    service,
    request: { uid: row.requestId },
    response: { code: row.status },
  },
  ...(METHODS.has(row.method) && { http_request: { http_method: row.method } }),
  http_response: { code: row.status },
  // One of them must be there.
  src_endpoint: addressOf(row.ip) === undefined ? { name: 'unknown' } : { ip: addressOf(row.ip) },
})

const ofDelivery = (row: DeliveryRow) => ({
  ...base(row, API_ACTIVITY, CREATE),
  duration: Math.round(row.durationMs),
  actor: { app_name: PRODUCT.name },
  api: {
    operation: row.event,
    service,
    request: { uid: row.deliveryId },
    ...(row.lastStatus !== null && { response: { code: row.lastStatus } }),
  },
  src_endpoint: { svc_name: PRODUCT.name },
  dst_endpoint: { uid: row.endpointId },
  unmapped: { attempts: row.attempts, outcome: row.outcome },
})

const ofEntry = (row: FactRow | LeafRow) => {
  const [activity, type] = ENTITIES[row.type]
  const { type: _, at: __, organisationId: ___, ...data } = toWire(row)
  const named =
    row.type === 'merkle.leaf' ? row.leafHash : row.type === 'key.revoked' ? row.keyId : row.proofId
  return {
    ...base(row, ENTITY_MANAGEMENT, activity),
    entity: { uid: named ?? row.digest ?? row.leafHash, type, type_id: OTHER_ENTITY, data },
    ...(row.keyId !== null && { actor: { user: { uid: row.keyId, credential_uid: row.keyId } } }),
  }
}

/** One event as an object. */
export const toOcsf = (row: EventRow): object => {
  if (row.type === 'request') return ofRequest(row)
  return row.type === 'webhook.delivery' ? ofDelivery(row) : ofEntry(row)
}
