/**
 * Events as the log has them, page by page: for receivers that were down longer than deliveries are attempted, and for
 * those that have no address. Nothing is kept for it: what an entry announces, and under which delivery id, follows from the entry.
 * @module
 */
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { fail } from '../../errors.ts'
import { isWritable, readDateTime } from '../../json/moments.ts'
import type { WitnessedCheckpoints } from '../../ledger/checkpoints/witnessing.ts'
import { firstIndexFrom, type LoggedEntry, readEntriesOf } from '../../ledger/entries.ts'
import type { Log } from '../../ledger/tree/log.ts'
import { rebuildTree, subtreesBetween } from '../../protocol/evidence/subset-proof.ts'
import type { Database } from '../../store/database.ts'
import { announcementsOf, bodyOf, deliveryId, isFor, revokedKeys } from './announcement.ts'
import { ownerOf } from './endpoints.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from './events.ts'
import { type AnnouncedEvent, type EventPage, type EventsQuery, USUAL_PAGE_EVENTS } from './schemas.ts'
import { findOwned, type Subscription } from './store.ts'

/** Entries that are read and announced before others get their turn. */
const READ_ENTRIES = 50
/** Entries that one page may pass: an endpoint may hear of few of them. */
const MAX_PASSED_ENTRIES = 1_000
/** Behind all that one entry announces. */
const LAST_PART = 999_999
/** How often the log is looked at for requests that wait, and how many of them may: others are answered at once. */
const LOOK_MS = 500
const MAX_WAITING = 64
const MS_PER_SECOND = 1_000

interface Deps {
  readonly database: Database
  readonly log: Pick<Log, 'hashes'>
  readonly checkpoints: Pick<WitnessedCheckpoints, 'latest'>
  /** Ends when the service closes. */
  readonly ending: AbortSignal
  /** Labels of keys, by id. */
  keyLabels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** A place among the events: of an entry, and among those that it announces. */
interface Place {
  readonly index: number
  readonly part: number
}

/** Whose events, and which. */
interface Asked extends Pick<Subscription, 'key_id' | 'events'> {
  readonly organisation: string
  /** Whose deliveries their ids are of; empty: of none. */
  readonly endpoint: string
}

const cursorOf = ({ index, part }: Place): string => `${index}.${part}`

const refuseSince = (): never =>
  fail('validation_failed', {
    details: [{ path: 'query/since', code: 'out_of_range', message: 'Years 1970 to 9998.' }],
  })

export const createEventPages = ({ database, log, checkpoints, ending, keyLabels }: Deps) => {
  let waiting = 0

  /** What to go on after. */
  const placeBefore = async ({ after, since }: EventsQuery): Promise<Place> => {
    if (after !== undefined) {
      const [index = 0, part = 0] = after.split('.').map(Number)
      return { index, part }
    }
    if (since === undefined) return { index: 0, part: -1 }
    const at = readDateTime(since)
    if (at === undefined || !isWritable(at)) return refuseSince()
    return { index: (await firstIndexFrom(database, at)) ?? Number.MAX_SAFE_INTEGER, part: -1 }
  }

  /** The roots of the trees that end with entries, which are asked for in order. */
  const createRoots = () => {
    const tree = rebuildTree((message) => hash('sha256', message, 'buffer'))
    return async (entries: readonly LoggedEntry[]): Promise<string[]> => {
      let told = tree.size
      const gaps = entries.map(({ index }) => {
        const gap = subtreesBetween(told, index)
        told = index + 1
        return gap
      })
      const hashes = await log.hashes(gaps.flat())
      let next = 0
      return entries.map(({ index, leafHash }, place) => {
        const count = gaps[place]?.length ?? 0
        if (!tree.skip(index, hashes.slice(next, next + count))) throw new Error('The log has another form.')
        next += count
        tree.add(leafHash)
        return Buffer.from(tree.root()).toString('hex')
      })
    }
  }

  /** All that entries announce of what is asked for, behind a place. */
  const announced = async (
    asked: Asked,
    entries: readonly LoggedEntry[],
    roots: readonly string[],
    behind: Place,
  ): Promise<AnnouncedEvent[]> => {
    const revoked = entries.filter(({ type }) => type === 'key.revoked').flatMap(revokedKeys)
    const labels = revoked.length > 0 ? await keyLabels(revoked) : new Map<string, string>()
    return entries.flatMap((entry, place) =>
      announcementsOf(entry, roots[place] as string, labels).flatMap((announcement, part) => {
        const { index, leafHash } = entry
        if ((index === behind.index && part <= behind.part) || !isFor(asked, announcement)) return []
        return {
          cursor: cursorOf({ index, part }),
          leafIndex: index,
          leafHash: Buffer.from(leafHash).toString('hex'),
          event: JSON.parse(bodyOf(deliveryId(asked.endpoint, entry, announcement), announcement)),
        }
      }),
    )
  }

  /** At most `limit` events behind a place, and where to go on: null at the end of the log. */
  const read = async (
    asked: Asked,
    behind: Place,
    limit: number,
  ): Promise<Pick<EventPage, 'events' | 'nextCursor'>> => {
    const rootsOf = createRoots()
    const events: AnnouncedEvent[] = []
    let from = behind.index
    for (let passed = 0; passed < MAX_PASSED_ENTRIES; passed += READ_ENTRIES) {
      const entries = await readEntriesOf(database, asked.organisation, from, READ_ENTRIES)
      events.push(...(await announced(asked, entries, await rootsOf(entries), behind)))
      if (events.length > limit)
        return { events: events.slice(0, limit), nextCursor: events[limit - 1]?.cursor ?? null }
      const last = entries.at(-1)
      if (last === undefined || entries.length < READ_ENTRIES) return { events, nextCursor: null }
      from = last.index + 1
    }
    return { events, nextCursor: cursorOf({ index: from - 1, part: LAST_PART }) }
  }

  /** The same, and where there is nothing yet, again until there is something or the time is over. */
  const readInTime = async (asked: Asked, behind: Place, limit: number, seconds: number) => {
    const until = performance.now() + seconds * MS_PER_SECOND
    const page = await read(asked, behind, limit)
    if (waiting === MAX_WAITING) return page
    waiting++
    try {
      let last = page
      while (last.events.length === 0 && last.nextCursor === null) {
        const left = until - performance.now()
        if (left <= 0 || ending.aborted) break
        await pause(Math.min(LOOK_MS, left), undefined, { signal: ending }).catch(() => undefined)
        last = await read(asked, behind, limit)
      }
      return last
    } finally {
      waiting--
    }
  }

  const findAsked = async (caller: Caller, { webhook, types }: EventsQuery): Promise<Asked> => {
    const owner = ownerOf(caller)
    const events = (types?.split(',') as WebhookEvent[] | undefined) ?? [...WEBHOOK_EVENTS]
    if (webhook === undefined)
      return { organisation: owner.organisation, key_id: owner.keyId ?? null, events, endpoint: '' }
    const row = (await findOwned(database.knex, owner, webhook)) ?? fail('not_found')
    const subscribed = row.events.filter((event) => events.includes(event))
    return { organisation: row.organisation, key_id: row.key_id, events: subscribed, endpoint: row.id }
  }

  return {
    /**
     * What is announced to the caller, or to one of the caller's endpoints as it is subscribed now.
     * @throws AppError not_found, validation_failed, log_inconsistent
     */
    async events(caller: Caller, query: EventsQuery): Promise<EventPage> {
      const { limit = USUAL_PAGE_EVENTS, wait = 0 } = query
      const asked = await findAsked(caller, query)
      const page = await readInTime(asked, await placeBefore(query), limit, wait)
      // Afterwards, so that it covers every entry of the page.
      const { size, root, note } = await checkpoints.latest()
      return {
        ...page,
        complete: true,
        treeSize: size,
        root: Buffer.from(root).toString('hex'),
        checkpoint: note,
      }
    },
  }
}
