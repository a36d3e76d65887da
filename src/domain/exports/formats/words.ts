/** What rows are called and how grave they are, for formats that want to know. @module */
import { isIP } from 'node:net'
import type { EventRow, EventType } from '../../event-log/rows.ts'

/** Who reports, in the words of SIEM formats. */
export const PRODUCT = { vendor: 'Assay', name: 'Assay', version: '1.0.0' } as const

export const TITLES: Readonly<Record<EventType, string>> = {
  prove: 'Proof created',
  verify: 'Verification completed',
  gate: 'Policy decided',
  attest: 'Attestation recorded',
  'merkle.leaf': 'Leaf appended to the audit tree',
  spend: 'Proof spent',
  revoke: 'Revocation recorded',
  'key.revoked': 'API key revoked',
  'webhook.delivery': 'Webhook delivery ended',
  request: 'API request handled',
}

export type Outcome = 'success' | 'failure' | 'unknown'

const FIRST_ERROR_STATUS = 400
const FIRST_FAULT_STATUS = 500
const FORBIDDEN = 403

/** Whether what the row tells of came off; of an entry nothing is known but that it was committed. */
export const outcomeOf = (row: EventRow): Outcome => {
  if (row.type === 'webhook.delivery') return row.outcome === 'delivered' ? 'success' : 'failure'
  if (row.type === 'request') return row.status < FIRST_ERROR_STATUS ? 'success' : 'failure'
  return row.type === 'verify' || row.type === 'gate' || row.type === 'attest' ? 'unknown' : 'success'
}

export type Gravity = 'informational' | 'low' | 'medium'

/** Nothing here is an alarm: revocations, dropped deliveries, refusals and faults stand out. */
export const gravityOf = (row: EventRow): Gravity => {
  switch (row.type) {
    case 'key.revoked':
      return 'medium'
    case 'revoke':
      return 'low'
    case 'webhook.delivery':
      return row.outcome === 'dropped' ? 'medium' : 'informational'
    case 'request':
      if (row.status >= FIRST_FAULT_STATUS) return 'medium'
      return row.status === FORBIDDEN ? 'low' : 'informational'
    default:
      return 'informational'
  }
}

/** Severity from 0 to 10, as CEF and QRadar count. */
export const SEVERITY: Readonly<Record<Gravity, number>> = { informational: 1, low: 3, medium: 5 }

/**
 * A client's address for fields that hold addresses alone: without its zone (`fe80::1%eth0`), over which SIEMs refuse the whole event.
 * @returns undefined where it is not known, since its client had gone
 */
export const addressOf = (ip: string): string | undefined => {
  const [address = ''] = ip.split('%', 1)
  return isIP(address) === 0 ? undefined : address
}

/** What names the row: entries by their hash, others by their ids. Of the two rows of an entry each has its own: SIEMs keep one of an id. */
export const idOf = (row: EventRow): string => {
  if (row.type === 'request') return row.requestId
  if (row.type === 'webhook.delivery') return row.deliveryId
  return row.type === 'merkle.leaf' ? `${row.leafHash}/leaf` : row.leafHash
}
