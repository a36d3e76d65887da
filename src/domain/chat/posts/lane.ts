/**
 * The chat's lane: posts and removals are committed in batches, in two round trips each, under the lock of the chat's
 * head row. Ids are given out under that lock, so that no message appears below one that was visible before.
 * @module
 */
import type { Clock } from '../../../clock.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Database } from '../../../store/database.ts'
import { createLane, type Lane } from '../../../store/lane.ts'
import type { Session } from '../../../store/session.ts'
import { beginLocked, onSession, retried, settled, writeAndCommit } from '../../../store/transactions.ts'
import { createRowWriter, type RowQuery } from '../../../store/write-rows.ts'
import { toMessage } from '../message.ts'
import type { Message } from '../schemas.ts'
import { analyseMessages, type HeadRow, LOCK_CHAT_HEAD, type MessageRow } from '../store.ts'
import { type BatchRules, type Decided, decideBatch, PROOF_OF_ONE_KEY_MS } from './decision.ts'
import { readKnown } from './known.ts'
import type { ChatUnit } from './lane-units.ts'
import {
  ADVANCE_CHAT_HEAD,
  blankMessages,
  countReplies,
  headValues,
  isRemovalStored,
  isStored,
  type Queries,
  sweepEnvelopes,
  sweepProofs,
} from './store-lane.ts'

/** Clocks of servers may differ by so much; a head further in the future was written by a wrong one. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000
/** Used envelopes are swept this often, so many at a time, so long after they have expired: clocks differ. */
const SWEEP_PAUSE_MS = 60_000
const SWEEP_ROWS = 500
const SWEEP_GRACE_MS = 2 * MAX_CLOCK_SKEW_MS
/** A table of so few is read fast by any plan. */
const MIN_ANALYSED_MESSAGES = 63

/** What one batch of this server has changed. */
export interface Committed extends Pick<Decided, 'before' | 'head' | 'at' | 'agentsBack'> {
  /** Ascending. */
  readonly messages: readonly Message[]
  readonly removed: readonly number[]
}

export interface LaneDeps {
  readonly database: Database
  readonly clock: Clock
  readonly rules: Omit<BatchRules, 'hashRemoved'>
  readonly sealing: Pick<Sealing, 'mac'>
  /** Messages and removals that this server has committed, in order. Must not throw. */
  readonly onCommit: (committed: Committed) => void
  /** A key's envelope came a second time. Must not throw. */
  readonly onReplay: (fingerprint: string) => void
}

export interface ChatLane extends Lane<ChatUnit, MessageRow | undefined> {
  /**
   * Decides a unit inside a transaction that somebody else opened and commits, and writes what it does.
   * @returns to be called once the transaction is committed: tells whoever listens
   * @throws AppError with what forbids it
   */
  within(queries: Queries, unit: ChatUnit): Promise<() => void>
}

/** Times follow ids: no message is older than the one before it, unless that one's server had a wrong clock. */
const timeAfter = (postedAt: number, now: number): number =>
  postedAt - now > MAX_CLOCK_SKEW_MS ? now : Math.max(postedAt, now)

/** The greatest k with 4ᵏ ≤ count. */
const powerOfFour = (count: number): number => Math.floor(Math.log2(count) / 2)

/** @returns what writes a decided batch; nothing where it only refuses */
const queriesOf = (decided: Decided): RowQuery[] => {
  const { rows, head, replies, blanks, removals } = decided
  if (rows.length === 0) return []
  const writer = createRowWriter()
  for (const row of rows) writer.add(row)
  return [
    writer.query(ADVANCE_CHAT_HEAD, headValues(head)),
    ...(replies.size > 0 ? [countReplies(replies)] : []),
    ...(blanks.size > 0 ? [blankMessages(blanks, removals[0]?.at ?? 0)] : []),
  ]
}

/** Looks for the first thing that a batch wrote. */
const wasCommitted =
  ({ messages: [message], removals: [removal] }: Decided) =>
  async (session: Session): Promise<boolean> => {
    await beginLocked(session, LOCK_CHAT_HEAD)
    if (message) return isStored(session, message)
    return removal !== undefined && isRemovalStored(session, removal)
  }

const headOf = ({ rows: [head] }: { readonly rows: readonly HeadRow[] }): HeadRow => {
  if (head === undefined) throw new Error('The chat has no head: the schema is incomplete.')
  return head
}

export const createChatLane = (deps: LaneDeps): ChatLane => {
  const { database, clock, sealing, onCommit, onReplay } = deps
  const hashRemoved = (text: string): string =>
    `hmac-sha256:${Buffer.from(sealing.mac('chat-removed', Buffer.from(text))).toString('hex')}`
  const rules: BatchRules = { ...deps.rules, hashRemoved }
  const { namesPerDay } = rules
  let sweepAfter = 0
  let analysis: Promise<void> | undefined

  const decide = async (
    queries: Queries,
    lock: Promise<{ readonly rows: readonly HeadRow[] }>,
    units: readonly ChatUnit[],
  ): Promise<Decided> => {
    const now = clock.now()
    const [locked, known] = await Promise.all([lock, readKnown(queries, units, { at: now, namesPerDay })])
    const head = headOf(locked)
    return decideBatch(units, head, known, timeAfter(head.posted_at, now), rules)
  }

  const sweep = (): RowQuery[] => {
    if (performance.now() < sweepAfter) return []
    sweepAfter = performance.now() + SWEEP_PAUSE_MS
    const now = clock.now()
    return [
      sweepEnvelopes(now - SWEEP_GRACE_MS, SWEEP_ROWS),
      sweepProofs(now - PROOF_OF_ONE_KEY_MS - SWEEP_GRACE_MS, SWEEP_ROWS),
    ]
  }

  /** At each power of four, by the one server whose batch gets there. A failure costs speed only. */
  const analyseAsItGrows = ({ head, messages }: Decided): void => {
    const before = Math.max(MIN_ANALYSED_MESSAGES, head.last_id - messages.length)
    if (powerOfFour(head.last_id) > powerOfFour(before))
      analysis = analyseMessages(database).catch(() => undefined)
  }

  const announce = (decided: Decided): Decided['outcomes'] => {
    for (const fingerprint of decided.replays) onReplay(fingerprint)
    const { messages, removals } = decided
    if (messages.length > 0 || removals.length > 0) {
      const { before, head, at, agentsBack } = decided
      onCommit({
        before,
        head,
        at,
        agentsBack,
        messages: messages.map(toMessage),
        removed: removals.map(({ message_id }) => message_id),
      })
    }
    analyseAsItGrows(decided)
    return decided.outcomes
  }

  const commit = (units: readonly ChatUnit[]): Promise<Decided> =>
    settled<Decided>(
      database,
      (commits) =>
        onSession(database, async (session) => {
          const decided = await decide(session, beginLocked<HeadRow>(session, LOCK_CHAT_HEAD), units)
          const queries = queriesOf(decided)
          if (queries.length === 0) {
            await session.query('ROLLBACK')
            return decided
          }
          commits(decided)
          await writeAndCommit(session, [...queries, ...sweep()])
          return decided
        }),
      wasCommitted,
    )

  const lane = createLane<ChatUnit, MessageRow | undefined>({
    commit: async (units) => announce(await retried(() => commit(units))),
  })
  return {
    ...lane,
    async close() {
      await lane.close()
      await analysis
    },
    async within(queries, unit) {
      const decided = await decide(queries, queries.query<HeadRow>(LOCK_CHAT_HEAD), [unit])
      const [outcome] = decided.outcomes
      if (outcome && 'error' in outcome) throw outcome.error
      for (const { text, values, name } of queriesOf(decided)) await queries.query(text, values, name)
      return () => announce(decided)
    },
  }
}
