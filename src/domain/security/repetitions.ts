/**
 * Alerts that wrote nothing else, of which somebody may cause thousands: the first is written at once, what follows
 * within a minute is added up and written at its end. @module
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../clock.ts'
import type { AlertType, Severity } from './schemas.ts'

/** The same alert is written at most this often. */
export const RAISE_PAUSE_MS = 60_000
/** Sums that are written at once as a server ends. */
const CLOSING_SUMS = 100
/** Subjects whose pauses are remembered; beyond it the oldest end early. */
const MAX_PAUSES = 10_000
const DAY_MS = 24 * 3_600_000

export interface Raised {
  readonly organisation: string
  readonly type: AlertType
  /** Default: what its type usually deserves. */
  readonly severity?: Severity
  /** Id of a terminal, key or account, or an address; at most 200 characters are kept. */
  readonly subject: string
}

/** How often an alert happened on one UTC day. */
export interface Sum {
  /** Unix ms of the first time and of the last. */
  readonly firstAt: number
  readonly at: number
  readonly count: number
}

interface Pause {
  readonly raised: Raised
  /** What is not written yet, a sum for each day. */
  sums: readonly Sum[]
  timer?: NodeJS.Timeout
}

interface Deps {
  readonly clock: Clock
  readonly pauseMs: number
  /** Writes all of it or nothing. */
  write(raised: Raised, sums: readonly Sum[]): Promise<void>
  /** Called with why something could not be written. Must not throw. */
  failed(raised: Raised, error: unknown): void
}

export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** Sums of two times, the earlier one's first. */
const joined = (earlier: readonly Sum[], later: readonly Sum[]): readonly Sum[] => {
  const [last, next] = [earlier.at(-1), later[0]]
  if (last === undefined || next === undefined || dayOf(last.at) !== dayOf(next.at))
    return [...earlier, ...later]
  const both = { firstAt: last.firstAt, at: next.at, count: last.count + next.count }
  return [...earlier.slice(0, -1), both, ...later.slice(1)]
}

export const createRepetitions = ({ clock, pauseMs, write, failed }: Deps) => {
  const pending = new Set<Promise<void>>()
  let isClosed = false
  let hasFailed = false
  const pauses = new LRUCache<string, Pause>({
    max: MAX_PAUSES,
    dispose(pause, _, reason) {
      clearTimeout(pause.timer)
      if (reason === 'evict') void flush(pause)
    },
  })

  const keyOf = ({ organisation, type, subject }: Raised): string => `${organisation}/${type}/${subject}`

  const begin = (pause: Pause): void => {
    pauses.set(keyOf(pause.raised), pause)
    pause.timer = setTimeout(() => {
      if (pause.sums.length === 0) return pauses.delete(keyOf(pause.raised))
      pause.timer?.refresh()
      return flush(pause)
    }, pauseMs).unref()
  }

  /** What could not be written is written at the end of the pause, or of another one. */
  const giveBack = ({ raised }: Pause, sums: readonly Sum[]): void => {
    if (isClosed) return
    const pause = pauses.peek(keyOf(raised))
    if (pause) pause.sums = joined(sums, pause.sums)
    else if (pauses.size < MAX_PAUSES) begin({ raised, sums })
  }

  const flush = (pause: Pause): Promise<void> => {
    const { raised, sums } = pause
    if (sums.length === 0) return Promise.resolve()
    pause.sums = []
    const written: Promise<void> = write(raised, sums)
      .catch((error: unknown) => {
        hasFailed = true
        failed(raised, error)
        giveBack(pause, sums)
      })
      .finally(() => pending.delete(written))
    pending.add(written)
    return written
  }

  return {
    /** @returns resolves once it is written, or could not be; at once, where it is written later */
    raise(raised: Raised): Promise<void> {
      const at = clock.now()
      const once = [{ firstAt: at, at, count: 1 }]
      const known = pauses.peek(keyOf(raised))
      if (known) {
        known.sums = joined(known.sums, once)
        return Promise.resolve()
      }
      const pause = { raised, sums: once }
      begin(pause)
      return flush(pause)
    },

    /** Writes what was added up, until something can't be written, and waits for what is being written. */
    async close(): Promise<void> {
      const all = [...pauses.values()]
      pauses.clear()
      isClosed = true
      hasFailed = false
      for (let next = 0; next < all.length && !hasFailed; next += CLOSING_SUMS)
        await Promise.all(all.slice(next, next + CLOSING_SUMS).map(flush))
      await Promise.all(pending)
    },
  }
}
