/**
 * Posting mode of the chat: whether posts are accepted, by all or by verified agents only. The head of the chat is the
 * truth, which whoever posts reads under its lock; what a server tells of it is at most a second old.
 * @module
 */
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import type { Change, Ledger } from '../../../ledger/ledger.ts'
import type { Bus } from '../../../store/bus.ts'
import type { Database, StoreLogger } from '../../../store/database.ts'
import type { PostingMode, PostingState } from '../schemas.ts'
import { CHAT_HEAD_NAME, findHead, type HeadRow, LOCK_CHAT_HEAD } from '../store.ts'

/** How long a name must have been bound to a key before the key may post under `verified_only`. */
export const SETTLED_NAME_MS = 24 * 60 * 60 * 1000
/** How soon a change is noticed that the bus did not tell. */
const POLL_MS = 1000
const CHANNEL = 'chat.posting'

export interface PostingModeService {
  /** As this server knows it: at most a second old, without asking anybody. */
  state(): PostingState
  /**
   * Changes mode and reason, with an entry of type `chat` in the log; nothing happens where both are as asked already.
   * @param mode undefined: as it is @throws AppError unavailable
   */
  set(caller: Caller, mode: PostingMode | undefined, reason?: string): Promise<PostingState>
  close(): void
}

/** What a signed post brings with it. */
interface Qualification {
  /** Its proof says so: see `checkProof`. */
  readonly provesPerson: boolean
  /** Unix ms at which its name was bound to the key that signed; undefined where it is not. */
  readonly boundAt: number | undefined
  /** Unix ms. */
  readonly now: number
}

/** Whether a signed post may be made under `verified_only`; unsigned ones never are. */
export const qualifies = ({ provesPerson, boundAt, now }: Qualification): boolean =>
  provesPerson || (boundAt !== undefined && now - boundAt >= SETTLED_NAME_MS)

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  readonly clock: Clock
  /** Holds until an operator has set one. */
  readonly initial: PostingMode
  /** Called when this server has learned of a change. */
  readonly onChange: () => void
  readonly logger: StoreLogger
}

type ModeRow = Pick<HeadRow, 'posting' | 'posting_since' | 'posting_reason' | 'posting_version'>

export const createPostingMode = async (deps: Deps): Promise<PostingModeService> => {
  const { database, ledger, bus, clock, initial, onChange, logger } = deps
  const startedAt = clock.now()

  const toState = ({ posting, posting_since, posting_reason }: ModeRow): PostingState => ({
    posting: posting ?? initial,
    since: iso(posting_since ?? startedAt),
    ...(posting_reason !== null && { reason: posting_reason }),
  })

  let known: ModeRow = await findHead(database)
  let state = toState(known)

  /** Reads of the database may overtake each other: only what is newer counts. */
  const learn = (row: ModeRow): void => {
    if (row.posting_version <= known.posting_version) return
    known = row
    state = toState(row)
    onChange()
  }

  let closed = false
  let isReading = false
  let isAsked = false
  /** Whoever asks while it reads may know of something newer: then it reads once more. */
  const refresh = async (): Promise<void> => {
    isAsked = true
    if (isReading) return
    isReading = true
    while (isAsked && !closed) {
      isAsked = false
      try {
        learn(await findHead(database))
      } catch (error) {
        if (!closed)
          logger.warn(
            { err: error },
            'the posting mode cannot be read; posts are still checked against the current one',
          )
      }
    }
    isReading = false
  }
  const unsubscribe = bus.subscribe(CHANNEL, refresh, refresh)
  const timer = setInterval(refresh, POLL_MS)
  timer.unref()

  return {
    state: () => state,

    async set(caller, asked, reason) {
      const row = await ledger.transact(caller, async (trx): Promise<Change<ModeRow>> => {
        const { rows } = await trx.raw<{ rows: HeadRow[] }>(LOCK_CHAT_HEAD)
        const [head] = rows
        if (head === undefined) throw new Error('The chat has no head: the schema is incomplete.')
        const previous = head.posting ?? initial
        // Without one, what was never set goes on following the server's own.
        const mode = asked ?? head.posting
        const isSame = head.posting === mode && head.posting_reason === (reason ?? null)
        if (isSame) return { result: head }
        const changed = {
          posting: mode,
          // A new reason for the same mode does not begin it anew.
          posting_since: head.posting === mode ? head.posting_since : clock.now(),
          posting_reason: reason ?? null,
          posting_version: head.posting_version + 1,
        }
        await trx('chat_head').where({ name: CHAT_HEAD_NAME }).update(changed)
        const data = {
          action: 'posting',
          posting: mode ?? initial,
          previous,
          ...(reason !== undefined && { reason }),
        }
        return { result: changed, entry: { type: 'chat', data } }
      })
      learn(row)
      await bus.publish(CHANNEL, String(row.posting_version))
      return toState(row)
    },

    close() {
      closed = true
      clearInterval(timer)
      unsubscribe()
    },
  }
}
