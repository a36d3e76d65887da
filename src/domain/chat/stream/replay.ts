/** What readers missed who come back: one read of the database serves all who wait for it. @module */
import type { eventFrame as EventFrame } from '../../../http/event-stream.ts'
import type { ChatHead, StreamReads } from './store-stream.ts'

/** More is read from `GET /api/messages?after=`. */
export const REPLAY_MAX_MESSAGES = 100
export const REPLAY_MAX_REMOVALS = 1000

/** What is replayed, as the `state` event tells it. */
export interface Replay {
  /** First and last message that follow; null where there is none. */
  readonly from: number | null
  readonly to: number | null
  /** There was more than is replayed. */
  readonly truncated: boolean
  /** The oldest message that can be read; null where there is none. */
  readonly oldest_available: number | null
}

export interface Missed {
  readonly replay: Replay
  /**
   * Events of the removals, then those of the messages, oldest first; shared by all who missed the same. In this order, since who
   * has a message asks for no earlier removal again.
   */
  readonly events: Buffer
}

export interface Replays {
  /** Everything up to this head is in what was missed; everything above it is live. */
  readonly head: ChatHead
  /** @param cursor one of those that were read for */
  since(cursor: number): Missed
}

/** The newest messages above the lowest cursor, oldest first; one more than is replayed, to tell whether there was more. */
const readNewest = async (reads: StreamReads, lowest: number, { lastId }: ChatHead) => {
  if (lowest >= lastId) return []
  // Ids are dense, so that few ids are few messages.
  if (lastId - lowest <= REPLAY_MAX_MESSAGES)
    return reads.messages({ after: lowest, upTo: lastId, limit: REPLAY_MAX_MESSAGES })
  return (await reads.newest({ upTo: lastId, limit: REPLAY_MAX_MESSAGES + 1 })).reverse()
}

/** @param cursors the last message that each reader saw */
export const readReplays = async (
  reads: StreamReads,
  eventFrame: typeof EventFrame,
  cursors: readonly number[],
): Promise<Replays> => {
  const head = await reads.head()
  const lowest = cursors.reduce((least, cursor) => Math.min(least, cursor), Number.POSITIVE_INFINITY)
  const asked = cursors.length > 0
  const messages = asked ? await readNewest(reads, lowest, head) : []
  // After the messages: what was removed between the two reads is told as removed, and not shown.
  const removals = asked ? await reads.removalsSince(lowest, REPLAY_MAX_REMOVALS + 1) : []
  const oldest = asked ? ((await reads.oldest()) ?? null) : null
  const events = messages.map((message) => ({
    id: message.id,
    frame: eventFrame('message', JSON.stringify(message), message.id),
  }))
  const deletions = removals.map((removal) => ({
    headId: removal.head_id,
    frame: eventFrame('delete', JSON.stringify({ id: removal.message_id })),
  }))
  const gone = new Set(removals.map((removal) => removal.message_id))
  const known = new Map<number, Missed>()

  const missedSince = (cursor: number): Missed => {
    const missed = events.filter(({ id }) => id > cursor)
    const newest = missed.slice(-REPLAY_MAX_MESSAGES)
    const shown = newest.filter(({ id }) => !gone.has(id))
    const removed = deletions.filter(({ headId }) => headId >= cursor)
    const told = removed.slice(0, REPLAY_MAX_REMOVALS).reverse()
    return {
      replay: {
        from: shown[0]?.id ?? null,
        to: shown.at(-1)?.id ?? null,
        truncated: missed.length > newest.length || removed.length > told.length,
        oldest_available: oldest,
      },
      events: Buffer.concat([...told, ...shown].map(({ frame }) => frame)),
    }
  }
  return {
    head,
    since(cursor) {
      const missed = known.get(cursor) ?? missedSince(cursor)
      known.set(cursor, missed)
      return missed
    },
  }
}
