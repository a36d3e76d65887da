/** Common Event Format, ArcSight's CEF:0 (Implementing ArcSight CEF, revision 26). @module */
import { isIPv4 } from 'node:net'
import type { EventRow } from '../../event-log/rows.ts'
import { addressOf, gravityOf, idOf, outcomeOf, PRODUCT, SEVERITY, TITLES } from './words.ts'

/** In the header, backslash and pipe are escaped, and a line ends nowhere. */
const header = (text: string): string => text.replaceAll(/[\\|]/g, '\\$&').replaceAll(/[\r\n]+/g, ' ')

/** In values, backslash and equals sign are escaped, and ends of lines are written as \n and \r. */
const value = (text: string): string =>
  text.replaceAll(/[\\=]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')

type Extension = Record<string, string | number | null | undefined>

/** A custom field and the label that says what it holds; nothing where there is nothing to hold. */
const custom = (key: string, label: string, content: string | number | null): Extension =>
  content === null ? {} : { [key]: content, [`${key}Label`]: label }

/** The dictionary has one key for addresses of IPv4 and one for those of IPv6. */
const source = (ip: string): Extension => {
  const address = addressOf(ip)
  if (address === undefined) return {}
  return isIPv4(address) ? { src: address } : custom('c6a2', 'Source IPv6 Address', address)
}

const particulars = (row: EventRow): Extension => {
  switch (row.type) {
    case 'request':
      return {
        ...source(row.ip),
        suid: row.actorId,
        requestMethod: row.method,
        request: row.route,
        ...custom('cs2', 'keyId', row.keyId),
        ...custom('cn1', 'status', row.status),
        ...custom('cn2', 'durationMs', Math.round(row.durationMs)),
      }
    case 'webhook.delivery':
      return {
        act: row.outcome,
        ...custom('cs2', 'endpointId', row.endpointId),
        ...custom('cs6', 'event', row.event),
        ...custom('cn1', 'lastStatus', row.lastStatus),
        ...custom('cn2', 'durationMs', Math.round(row.durationMs)),
        ...custom('cn3', 'attempts', row.attempts),
      }
    default:
      return {
        suid: row.keyId,
        ...custom('cs2', 'leafHash', row.leafHash),
        ...custom('cs3', 'digest', row.digest),
        ...custom('cs4', 'circuitId', row.circuitId),
        ...custom('cs5', 'proofId', row.proofId),
        ...custom('cs6', 'auditEvent', row.type === 'merkle.leaf' ? row.auditEvent : null),
        ...custom('cn1', 'index', row.index),
        ...custom('cn2', 'log', row.log ?? null),
      }
  }
}

/** One event in one line, without its newline. */
export const toCef = (row: EventRow): string => {
  const severity = SEVERITY[gravityOf(row)]
  const { vendor, name, version } = PRODUCT
  const head = ['CEF:0', vendor, name, version, row.type, TITLES[row.type], String(severity)].map(header)
  const extension: Extension = {
    rt: row.at,
    externalId: idOf(row),
    outcome: outcomeOf(row),
    ...custom('cs1', 'organisationId', row.organisation),
    ...particulars(row),
  }
  const pairs = Object.entries(extension).flatMap(([key, content]) =>
    content === null || content === undefined ? [] : [`${key}=${value(String(content))}`],
  )
  return `${head.join('|')}|${pairs.join(' ')}`
}
