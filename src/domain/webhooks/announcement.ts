/** What deliveries say: their bodies and ids, fixed once and for all from the entries they announce. @module */
import { hash } from 'node:crypto'
import { iso } from '../../clock.ts'
import type { LoggedEntry } from '../../ledger/entries.ts'
import { named as namedLog } from '../../ledger/logs.ts'
import { eventsOf, type WebhookEvent } from './events.ts'
import type { Subscription } from './store.ts'
import type { Told } from './store-deliveries.ts'

const DELIVERY_ID_DIGITS = 24

/** Something that an entry announces. An entry that revokes several keys, as there were once, announces each of them. */
export interface Announcement {
  readonly event: WebhookEvent
  /** JSON of `created_at` and `data`, without the braces around. */
  readonly rest: string
  /** Tells announcements of one event by one entry apart. */
  readonly part: string
  /** Keys whose endpoints hear of it, besides those of the whole organisation. */
  readonly keyIds: readonly string[]
}

/** What an entry of type `key.revoked` says in its data. */
interface Revocation {
  readonly keyId: string
  /** Where one entry revokes several. */
  readonly keyIds?: readonly string[]
  /** The key that asked for it, if a key did. */
  readonly revokedBy?: string
}

const dataIn = <T>({ text }: LoggedEntry): T => (JSON.parse(text) as { data: T }).data

export const revocationOf = (entry: LoggedEntry): Revocation => dataIn(entry)

/** The keys that an entry revokes. */
export const revokedKeys = (entry: LoggedEntry): readonly string[] => {
  const { keyId, keyIds } = revocationOf(entry)
  return keyIds ?? [keyId]
}

const revokerOf = (entry: LoggedEntry): readonly string[] => {
  const { revokedBy } = revocationOf(entry)
  return revokedBy === undefined ? [] : [revokedBy]
}

/** The key that asked for a change of another one, if a key did. */
const askerOf = (entry: LoggedEntry): readonly string[] => {
  const { askedBy } = dataIn<{ readonly askedBy?: string }>(entry)
  return askedBy === undefined ? [] : [askedBy]
}

/** The keys whose endpoints hear of an entry: those that it is about, and the one that asked for what was done to them. */
const keysOf = (entry: LoggedEntry): readonly string[] => {
  if (entry.type === 'key.revoked') return [...revokedKeys(entry), ...revokerOf(entry)]
  const about = entry.keyId === null ? [] : [entry.keyId]
  return entry.type === 'account' ? [...about, ...askerOf(entry)] : about
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const dataOf = (event: WebhookEvent, entry: LoggedEntry, root: string): object => {
  const { digest, circuitId: circuit_id, proofId: proof_id, log, index, type } = entry
  const leaf = hex(entry.leafHash)
  return event === 'merkle.leaf_appended'
    ? {
        digest,
        circuit_id,
        proof_id,
        audit_event: type,
        leaf_hash: leaf,
        ...namedLog(log),
        merkle_index: index,
        merkle_root: root,
      }
    : { digest, circuit_id, proof_id, ...namedLog(log), merkle_root: root, merkle_leaf_hash: leaf }
}

/**
 * What an entry announces.
 * @param root root of the tree whose last leaf the entry is, lower-case hex
 * @param labels of the keys that entries revoke
 */
export const announcementsOf = (
  entry: LoggedEntry,
  root: string,
  labels: ReadonlyMap<string, string>,
): Announcement[] => {
  const created_at = iso(entry.at)
  const rest = (data: object): string => JSON.stringify({ created_at, data }).slice(1, -1)
  const { event: named } = dataIn<{ event?: unknown }>(entry)
  return eventsOf(entry.type, named).flatMap((event): Announcement[] => {
    if (event !== 'key.revoked')
      return [{ event, rest: rest(dataOf(event, entry, root)), part: '', keyIds: keysOf(entry) }]
    return revokedKeys(entry).map((key_id) => ({
      event,
      rest: rest({ key_id, label: labels.get(key_id) ?? null }),
      part: key_id,
      keyIds: [key_id, ...revokerOf(entry)],
    }))
  })
}

/** The same announcement to the same endpoint always has the same id, however often it is made. */
export const deliveryId = (endpoint: string, entry: LoggedEntry, { event, part }: Announcement): string =>
  `dlv_${hash('sha256', JSON.stringify([endpoint, entry.id, event, part])).slice(0, DELIVERY_ID_DIGITS)}`

/** Whether an endpoint is subscribed to it. */
export const isFor = (
  { key_id, events }: Pick<Subscription, 'key_id' | 'events'>,
  { event, keyIds }: Announcement,
): boolean => events.includes(event) && (key_id === null || keyIds.includes(key_id))

/** The body of a delivery, byte for byte. */
export const bodyOf = (id: string, { event, rest }: Announcement): string =>
  `{"delivery_id":"${id}","event":"${event}",${rest}}`

/** The deliveries of announcements to the endpoints of the entry's organisation. */
export const deliveriesOf = (
  entry: LoggedEntry,
  announcements: readonly Announcement[],
  endpoints: readonly Subscription[],
): Told[] =>
  announcements.flatMap((announced) =>
    endpoints
      .filter((endpoint) => entry.index >= endpoint.announces_from && isFor(endpoint, announced))
      .map(({ id: endpoint }) => {
        const id = deliveryId(endpoint, entry, announced)
        return { id, endpoint, event: announced.event, entry_index: entry.index, body: bodyOf(id, announced) }
      }),
  )
