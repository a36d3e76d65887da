/**
 * From committed entries to deliveries: a follower of the ledger, so that everything that was committed is announced, once
 * to each endpoint, and nothing that was rolled back.
 * @module
 */
import type { LoggedEntry } from '../../ledger/entries.ts'
import { createFollower, type Follower } from '../../ledger/follower.ts'
import type { Log } from '../../ledger/log.ts'
import { grow } from '../../ledger/merkle.ts'
import { subtreesOf } from '../../ledger/proofs.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import { announcementsOf, deliveriesOf, revokedKeys } from './announcement.ts'
import * as store from './store.ts'

const FOLLOWER = 'webhooks'
/** With a hundred endpoints that want everything, some 20,000 deliveries. */
const BATCH_ENTRIES = 100

interface Deps {
  readonly database: Database
  readonly log: Pick<Log, 'hashes'>
  readonly logger: { warn(details: object, message: string): void }
  /** Labels of keys, by id. */
  keyLabels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Called when there are deliveries to make. */
  queued(): void
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

const byOrganisation = (endpoints: readonly store.Subscription[]): Map<string, store.Subscription[]> => {
  const found = new Map<string, store.Subscription[]>()
  for (const endpoint of endpoints) {
    const known = found.get(endpoint.organisation)
    if (known) known.push(endpoint)
    else found.set(endpoint.organisation, [endpoint])
  }
  return found
}

export const createFanOut = (deps: Deps): Follower => {
  const { database, log, logger, keyLabels, queued, from } = deps
  const tree = createGrowingTree(log)

  const consume = async (entries: readonly LoggedEntry[]): Promise<readonly Row[]> => {
    const organisations = [...new Set(entries.map(({ organisation }) => organisation))]
    const endpoints = byOrganisation(await store.findSubscriptions(database, organisations))
    if (endpoints.size === 0) return []
    const wanted = entries.filter(({ organisation }) => endpoints.has(organisation))
    const revoked = wanted.filter(({ type }) => type === 'key.revoked').flatMap(revokedKeys)
    const labels = revoked.length > 0 ? await keyLabels(revoked) : new Map<string, string>()
    const rows: Row[] = []
    for (const entry of entries) {
      await tree.seek(entry.index)
      const root = tree.append(entry.leafHash)
      const listeners = endpoints.get(entry.organisation)
      if (listeners === undefined) continue
      const deliveries = deliveriesOf(entry, announcementsOf(entry, root, labels), listeners)
      rows.push(...deliveries.map((delivery) => store.deliveries.row(delivery)))
    }
    return rows
  }

  return createFollower({
    database,
    name: FOLLOWER,
    consume,
    written: (rows) => {
      if (rows.length > 0) queued()
    },
    logger,
    batchEntries: BATCH_ENTRIES,
    from,
  })
}
