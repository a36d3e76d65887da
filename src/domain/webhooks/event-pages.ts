/**
 * Events as the log has them, page by page: for receivers that were down longer than deliveries are attempted, and for
 * those that have no address. Nothing is kept for it: what an entry announces, and under which delivery id, follows from the entry.
 * @module
 */
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { createFairLimit } from '../../circuits/threads/fair-queue.ts'
import { fail } from '../../errors.ts'
import { isWritable, readDateTime } from '../../json/moments.ts'
import type { SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'
import { firstIndexFrom, type LoggedEntry, readEntriesOf } from '../../ledger/entries.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type Logs, named } from '../../ledger/logs.ts'
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
/** How often the log is looked at for requests that wait, and how many of an organisation may: others are answered at once. */
const LOOK_MS = 500
const MAX_WAITING = 16
/** Parts that are read at a time, of all organisations, which take turns. */
const MAX_READING = 4
const MS_PER_SECOND = 1_000

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'head'>
  readonly logs: Pick<Logs, 'of'>
  readonly signedLogs: Pick<SignedLogs, 'at'>
  /** Ends when the server closes, before requests are waited for. */
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
  /** Of the organisation. */
  readonly log: number
  /** Whose deliveries their ids are of; empty: of none. */
  readonly endpoint: string
}

/** What one look finds. */
interface Part extends Pick<EventPage, 'events' | 'nextCursor'> {
  /** What the next look goes on after; undefined as {@link Place} of a time that has not come. */
  readonly reached: Place | undefined
}

const cursorOf = ({ index, part }: Place): string => `${index}.${part}`

const refuse = (name: 'since' | 'after', message: string): never =>
  fail('validation_failed', { details: [{ path: `query/${name}`, code: 'out_of_range', message }] })

export const createEventPages = ({ database, ledger, logs, signedLogs, ending, keyLabels }: Deps) => {
  const reading = createFairLimit(MAX_READING)
  /** How many requests of an organisation wait. */
  const waiting = new Map<string, number>()
  const looked = new Map<number, { readonly at: number; readonly size: Promise<number> }>()

  /** What to go on after; undefined where nothing is as new as what is asked for. */
  const placeBefore = async (log: number, { after, since }: EventsQuery): Promise<Place | undefined> => {
    if (after !== undefined) {
      const [index = 0, part = 0] = after.split('.').map(Number)
      return { index, part }
    }
    if (since === undefined) return { index: 0, part: -1 }
    const at = readDateTime(since)
    if (at === undefined || !isWritable(at)) return refuse('since', 'Years 1970 to 9998.')
    const index = await firstIndexFrom(database, log, at)
    return index === undefined ? undefined : { index, part: -1 }
  }

  /** The roots of the trees that end with entries, which are asked for in order. */
  const createRoots = (log: number) => {
    const tree = rebuildTree((message) => hash('sha256', message, 'buffer'))
    return async (entries: readonly LoggedEntry[]): Promise<string[]> => {
      let told = tree.size
      const gaps = entries.map(({ index }) => {
        const gap = subtreesBetween(told, index)
        told = index + 1
        return gap
      })
      const hashes = await signedLogs.at(log).tree.hashes(gaps.flat())
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
          ...named(entry.log),
          leafIndex: index,
          leafHash: Buffer.from(leafHash).toString('hex'),
          event: JSON.parse(bodyOf(deliveryId(asked.endpoint, entry, announcement), announcement)),
        }
      }),
    )
  }

  /** At most `limit` events behind a place, and how far that went: to the end of the log where there is no next cursor. */
  const readFrom = async (asked: Asked, behind: Place, limit: number): Promise<Part> => {
    const rootsOf = createRoots(asked.log)
    const events: AnnouncedEvent[] = []
    let reached = behind
    for (let passed = 0; passed < MAX_PASSED_ENTRIES; passed += READ_ENTRIES) {
      const from = reached.part === LAST_PART ? reached.index + 1 : reached.index
      const entries = await readEntriesOf(database, asked.organisation, from, READ_ENTRIES)
      events.push(...(await announced(asked, entries, await rootsOf(entries), behind)))
      if (events.length > limit)
        return { events: events.slice(0, limit), nextCursor: events[limit - 1]?.cursor ?? null, reached }
      const last = entries.at(-1)
      if (last !== undefined) reached = { index: last.index, part: LAST_PART }
      if (entries.length < READ_ENTRIES) return { events, nextCursor: null, reached }
    }
    return { events, nextCursor: cursorOf(reached), reached }
  }
  const read = async (asked: Asked, behind: Place | undefined, limit: number): Promise<Part> =>
    behind === undefined
      ? { events: [], nextCursor: null, reached: undefined }
      : reading(asked.organisation, () => readFrom(asked, behind, limit))

  /** How many entries a log has, as all that wait see it. */
  const sizeNow = (log: number): Promise<number> => {
    const known = looked.get(log)
    if (known !== undefined && performance.now() - known.at < LOOK_MS) return known.size
    const size = ledger.head(log).then((head) => head.size)
    looked.set(log, { at: performance.now(), size })
    return size
  }

  /** Looks until there is an event or the time is over, each time at what the log has got since. @param seen size of the log before the first look */
  const waitFor = async (asked: Asked, query: EventsQuery, limit: number, first: Part, seen: number) => {
    const until = performance.now() + (query.wait ?? 0) * MS_PER_SECOND
    let part = first
    for (let size = seen; part.events.length === 0 && part.nextCursor === null; ) {
      const left = until - performance.now()
      if (left <= 0) break
      await pause(Math.min(LOOK_MS, left), undefined, { signal: ending }).catch(() => undefined)
      if (ending.aborted) break
      const now = await sizeNow(asked.log)
      if (now !== size) part = await read(asked, part.reached ?? (await placeBefore(asked.log, query)), limit)
      size = now
    }
    return part
  }

  /**
   * A place behind the end of the log is none of it: what the log has until it is as long would never be told.
   * @throws AppError validation_failed
   */
  const requirePlace = async (log: number, { index }: Place): Promise<void> => {
    const { size } = await ledger.head(log)
    if (index >= size)
      refuse('after', `This log has ${size} entries: the cursor is another log's, or of before a restore.`)
  }

  /** The first part, and where it has nothing and may wait, the next one. */
  const readInTime = async (asked: Asked, query: EventsQuery, limit: number): Promise<Part> => {
    const seen = query.wait ? await sizeNow(asked.log) : 0
    const place = await placeBefore(asked.log, query)
    const part = await read(asked, place, limit)
    if (query.after !== undefined && place !== undefined && part.events.length === 0)
      await requirePlace(asked.log, place)
    const own = waiting.get(asked.organisation) ?? 0
    if (!query.wait || own >= MAX_WAITING) return part
    waiting.set(asked.organisation, own + 1)
    try {
      return await waitFor(asked, query, limit, part, seen)
    } finally {
      const left = (waiting.get(asked.organisation) ?? 0) - 1
      if (left === 0) waiting.delete(asked.organisation)
      else waiting.set(asked.organisation, left)
    }
  }

  const findAsked = async (caller: Caller, { webhook, types }: EventsQuery): Promise<Asked> => {
    const owner = ownerOf(caller)
    const events = (types?.split(',') as WebhookEvent[] | undefined) ?? [...WEBHOOK_EVENTS]
    const log = await logs.of(owner.organisation)
    if (webhook === undefined)
      return { organisation: owner.organisation, log, key_id: owner.keyId ?? null, events, endpoint: '' }
    const row = (await findOwned(database.knex, owner, webhook)) ?? fail('not_found')
    const subscribed = row.events.filter((event) => events.includes(event))
    return { organisation: row.organisation, log, key_id: row.key_id, events: subscribed, endpoint: row.id }
  }

  return {
    /**
     * What is announced to the caller, or to one of the caller's endpoints as it is subscribed now.
     * @throws AppError not_found, validation_failed, log_inconsistent
     */
    async events(caller: Caller, query: EventsQuery): Promise<EventPage> {
      const { limit = USUAL_PAGE_EVENTS } = query
      const asked = await findAsked(caller, query)
      const { events, nextCursor } = await readInTime(asked, query, limit)
      // Afterwards, so that it covers every entry of the page.
      const { size, root, note } = await signedLogs.at(asked.log).checkpoints.latest()
      return {
        ...named(asked.log),
        events,
        nextCursor,
        complete: true,
        treeSize: size,
        root: Buffer.from(root).toString('hex'),
        checkpoint: note,
      }
    },
  }
}
