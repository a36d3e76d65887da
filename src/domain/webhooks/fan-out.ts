/**
 * From committed entries to deliveries: a follower of the ledger, so that everything that was committed is announced, once
 * to each endpoint, and nothing that was rolled back.
 * @module
 */
import type { LoggedEntry } from '../../ledger/entries.ts'
import { createFollower, type Follower } from '../../ledger/follower.ts'
import type { Log } from '../../ledger/tree/log.ts'
import { grow } from '../../ledger/tree/merkle.ts'
import { subtreesOf } from '../../protocol/checkpoint/proof-ranges.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import { announcementsOf, deliveriesOf, revokedKeys } from './announcement.ts'
import type { AtHand, Rooms } from './dispatcher.ts'
import { findSubscriptions, NO_ENDPOINTS, type Subscription } from './store.ts'
import { deliveries, type Told } from './store-deliveries.ts'

const FOLLOWER = 'webhooks'
/** With a hundred endpoints that want everything, some 20,000 deliveries. */
const BATCH_ENTRIES = 100

interface Deps {
  readonly database: Database
  /** Which log is followed. */
  readonly number: number
  readonly log: Pick<Log, 'hashes'>
  readonly logger: { warn(details: object, message: string): void }
  /** Labels of keys, by id. */
  keyLabels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** What of the next deliveries to some endpoints may be held by this server from the start. */
  rooms(endpoints: readonly string[]): Rooms
  /**
   * Called when there are deliveries to make.
   * @param held by this server
   * @param left endpoints for which there are others, that any server may lease
   */
  queued(held: readonly AtHand[], left: ReadonlySet<string>): void
  /** Index of the log where the very first start begins. */
  readonly from: number
}

/** The tree as it was after each entry, an entry at a time. */
const createGrowingTree = (log: Deps['log']) => {
  let size = 0
  let edge: readonly Uint8Array[] = []
  return {
    /** Goes to where an entry is about to be appended; reads only when something was left out. */
    async seek(index: number): Promise<void> {
      if (size === index) return
      const parts = subtreesOf({ from: 0, to: index })
      const ranges = parts.map((part) => ({
        from: part.index * 2 ** part.height,
        to: (part.index + 1) * 2 ** part.height,
      }))
      edge = await log.hashes(ranges)
      size = index
    },
    /** @returns the root of the tree that ends with this leaf, lower-case hex */
    append(leaf: Uint8Array): string {
      const grown = grow(size, edge, [leaf])
      size = grown.size
      edge = grown.edge
      return Buffer.from(grown.root).toString('hex')
    },
  }
}

/** What becomes of the deliveries of a batch once they are written. */
interface Batch {
  readonly held: AtHand[]
  readonly left: Set<string>
}

const emptyBatch = (): Batch => ({ held: [], left: new Set() })

const byOrganisation = (endpoints: readonly Subscription[]): Map<string, Subscription[]> => {
  const found = new Map<string, Subscription[]>()
  for (const endpoint of endpoints) {
    const known = found.get(endpoint.organisation)
    if (known) known.push(endpoint)
    else found.set(endpoint.organisation, [endpoint])
  }
  return found
}

export const createFanOut = (deps: Deps): Follower => {
  const { database, number, log, logger, keyLabels, rooms, queued, from } = deps
  const tree = createGrowingTree(log)
  /** Of the batch that is being written. */
  let batch: Batch = emptyBatch()

  const announce = async (
    entries: readonly LoggedEntry[],
    listening: ReadonlyMap<string, readonly Subscription[]>,
  ): Promise<Told[]> => {
    const wanted = entries.filter(({ organisation }) => listening.has(organisation))
    const revoked = wanted.filter(({ type }) => type === 'key.revoked').flatMap(revokedKeys)
    const labels = revoked.length > 0 ? await keyLabels(revoked) : new Map<string, string>()
    const told: Told[] = []
    for (const entry of entries) {
      await tree.seek(entry.index)
      const root = tree.append(entry.leafHash)
      const listeners = listening.get(entry.organisation)
      if (listeners !== undefined)
        told.push(...deliveriesOf(entry, announcementsOf(entry, root, labels), listeners))
    }
    return told
  }

  const consume = async (entries: readonly LoggedEntry[]): Promise<readonly Row[]> => {
    batch = emptyBatch()
    const organisations = [...new Set(entries.map(({ organisation }) => organisation))]
    const begunAt = performance.now()
    const { now, endpoints } = await findSubscriptions(database, organisations)
    if (endpoints.length === 0) return []
    const told = await announce(entries, byOrganisation(endpoints))
    const { byEndpoint, leaseMs, startWithinMs } = rooms([...new Set(told.map(({ endpoint }) => endpoint))])
    const room = new Map(byEndpoint)
    const startBy = begunAt + startWithinMs
    return told.map((delivery) => {
      const { endpoint } = delivery
      const left = room.get(endpoint) ?? 0
      room.set(endpoint, left - 1)
      if (left > 0) batch.held.push({ ...delivery, attempts: 0, queued_at: now, startBy })
      else batch.left.add(endpoint)
      return deliveries.row({ ...delivery, due_at: left > 0 ? now + leaseMs : now })
    })
  }

  return createFollower({
    database,
    log: number,
    name: FOLLOWER,
    unwanted: NO_ENDPOINTS,
    consume,
    written: (rows) => {
      if (rows.length > 0) queued(batch.held, batch.left)
    },
    logger,
    batchEntries: BATCH_ENTRIES,
    from,
  })
}
