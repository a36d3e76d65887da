/**
 * Followers read the committed log behind its writers: batches of entries, from a cursor that is stored with what was
 * made of them. Rows that a batch gives are written in the statement that moves the cursor, so they are written
 * exactly once; whatever else `consume` does may happen again after a crash. One server at a time runs a follower.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../store/database.ts'
import { sqlState } from '../store/session.ts'
import type { Row } from '../store/table.ts'
import { createRowWriter } from '../store/write-rows.ts'
import { type LoggedEntry, MAX_READ_ENTRIES, readEntries } from './entries.ts'

const DEFAULT_BATCH_ENTRIES = 256
/** How soon entries of other servers are seen. */
const DEFAULT_POLL_MS = 1_000
/** Commits of so long are consumed together, except where somebody waits for what is made of them. */
const GATHER_MS = 100
/** Who has not moved its cursor for so long has ended, and another server takes over. */
const DEFAULT_LEASE_MS = 15_000
const FIRST_BACK_OFF_MS = 250
const MAX_BACK_OFF_MS = 30_000
const DIVISION_BY_ZERO = '22012'

/** What a follower is told, the more urgent the greater; a pause hears what it is not too deaf for. */
const SIGNALS = { none: 0, commit: 1, hurry: 2, reconsider: 3, end: 4 } as const
type Signal = (typeof SIGNALS)[keyof typeof SIGNALS]

/** The database's own time: servers may differ in theirs. */
export const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** A look that writes nothing, so that an idle follower leaves the database alone. */
const PEEK = `SELECT f.cursor < h.size AS behind FROM ledger_followers AS f, ledger_head AS h
  WHERE f.name = ? AND h.log = f.log`
const CREATE = `INSERT INTO ledger_followers (name, log, cursor, held_until) VALUES (?, ?, ?, 0) ON CONFLICT (name) DO NOTHING`
const ACQUIRE = `UPDATE ledger_followers SET holder = ?, held_until = ${NOW_MS} + ?::bigint
  WHERE name = ? AND (holder = ? OR held_until <= ${NOW_MS}) RETURNING cursor`
/**
 * In one snapshot with the condition: whatever makes it false is committed with an entry that is not skipped. Whoever
 * moves the cursor is its holder.
 */
const skipWhile = (
  unwanted: string,
): string => `UPDATE ledger_followers AS f SET cursor = greatest(f.cursor, h.size), holder = ?
  FROM ledger_head AS h WHERE f.name = ? AND h.log = f.log AND (f.holder = ? OR f.held_until <= ${NOW_MS})
    AND (${unwanted}) RETURNING cursor`
const LAGS = `SELECT f.name, greatest(h.size - f.cursor, 0) AS lag FROM ledger_followers AS f, ledger_head AS h
  WHERE h.log = f.log`
/** Waits for the transaction that has moved the cursor: then it was committed, or never will be. */
const LOOK = `SELECT cursor, holder FROM ledger_followers WHERE name = ? FOR UPDATE`
const RELEASE = `UPDATE ledger_followers SET held_until = 0 WHERE name = ? AND holder = ?`
/**
 * Fails, and with it every row that travels in the same statement, when another server moved the cursor: it divides by
 * zero. A cursor that is gone moves nothing; then the transaction is rolled back.
 */
const ADVANCE = `UPDATE ledger_followers
  SET cursor = $1 / (cursor = $2 AND holder = $4)::int, held_until = ${NOW_MS} + $5::bigint WHERE name = $3`

export interface FollowerOptions {
  readonly database: Database
  /** Names the cursor, with the number of the log where that is not 0; for ever. */
  readonly name: string
  /** Which log is followed; default 0. */
  readonly log?: number
  /**
   * Makes something of entries, in order and without gaps.
   * @returns rows to be written together with the cursor
   */
  consume(entries: readonly LoggedEntry[]): Promise<readonly Row[]>
  /**
   * Called once the rows of a batch are committed, before the next one is consumed: also where the answer to the commit was lost, unless
   * another server takes over before that is found out.
   */
  written?(rows: readonly Row[]): void
  readonly logger: { warn(details: object, message: string): void }
  /** Index where a new follower begins; default 0. */
  readonly from?: number
  /**
   * SQL condition. While it is true nobody wants what would be made of entries: they are skipped, and commits are not heard. Whatever
   * makes it false wants no entry from before its own commit.
   */
  readonly unwanted?: string
  /** Ms to rest after a full batch was written; `hurry` ends it. Default: none. */
  rest?(): number
  /** At most 1,000. */
  readonly batchEntries?: number
  readonly pollMs?: number
  /** How long another server waits for one that has stopped moving. */
  readonly leaseMs?: number
}

export interface Follower {
  /** Says that there is something new: at once after a quiet time, else what comes within 100 ms is consumed together. */
  wake(): void
  /** Says that somebody waits for what is made of entries. */
  hurry(): void
  /** Says that what was unwanted may be wanted now. */
  reconsider(): void
  /** Finishes the batch that runs, and lets another server take over at once. */
  close(): Promise<void>
}

/** Entries that each follower has still to read, by its name. */
export const followerLags = async ({
  knex,
}: Pick<Database, 'knex'>): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await knex.raw<{ rows: { name: string; lag: number }[] }>(LAGS)
  return Object.fromEntries(rows.map(({ name, lag }) => [name, Number(lag)]))
}

const cursorGone = (name: string): Error => new Error(`The cursor of ${name} is gone.`)

/** Somebody else holds the follower, or took it over; nothing is wrong. */
const isTakenOver = (error: unknown): boolean => sqlState(error) === DIVISION_BY_ZERO

export const createFollower = (options: FollowerOptions): Follower => {
  const { database, log = 0, consume, written, rest, logger, unwanted, from = 0 } = options
  const name = log === 0 ? options.name : `${options.name}/${log}`
  const {
    batchEntries = DEFAULT_BATCH_ENTRIES,
    pollMs = DEFAULT_POLL_MS,
    leaseMs = DEFAULT_LEASE_MS,
  } = options
  if (!(batchEntries >= 1 && batchEntries <= MAX_READ_ENTRIES))
    throw new RangeError(`A batch holds 1 to ${MAX_READ_ENTRIES} entries, not ${batchEntries}.`)
  const holder = randomUUID()
  const gatherMs = Math.min(GATHER_MS, pollMs)
  /** The most urgent one since the last look at the log. */
  let heard: Signal = SIGNALS.none
  /** Ends a pause that is not too deaf for what was heard. */
  let rouse: (() => void) | undefined
  const signal = (what: Signal): void => {
    if (what > heard) heard = what
    rouse?.()
  }

  /** What is being committed: until the answer comes nobody knows whether it is. */
  let sent: { readonly next: number; readonly rows: readonly Row[] } | undefined

  /** @returns the cursor, or undefined while another server runs this follower */
  const acquire = async (): Promise<number | undefined> => {
    const { rows } = await database.knex.raw<{ rows: { cursor: number }[] }>(ACQUIRE, [
      holder,
      leaseMs,
      name,
      holder,
    ])
    return rows[0]?.cursor
  }

  const advance = async (before: number, after: number, rows: readonly Row[]): Promise<void> => {
    const writer = createRowWriter()
    for (const row of rows) writer.add(row)
    const { text, values, name: prepared } = writer.query(ADVANCE, [after, before, name, holder, leaseMs])
    const session = await database.session()
    let fit = false
    try {
      const [, { rowCount }] = await Promise.all([
        session.query('BEGIN'),
        session.query(text, values, prepared),
      ])
      if (rowCount === 1) sent = { next: after, rows }
      await session.query(rowCount === 1 ? 'COMMIT' : 'ROLLBACK')
      fit = true
      sent = undefined
      if (rowCount !== 1) throw cursorGone(name)
    } catch (error) {
      if (sqlState(error) !== undefined) {
        sent = undefined
        await session.query('ROLLBACK')
        fit = true
      }
      throw error
    } finally {
      session.release(!fit)
    }
  }

  /** Finds out what became of a commit whose answer was lost. */
  const settle = async (): Promise<void> => {
    if (sent === undefined) return
    const { next, rows } = sent
    const found = await database.knex.raw<{ rows: { cursor: number; holder: string | null }[] }>(LOOK, [name])
    sent = undefined
    const [row] = found.rows
    // Whoever took over meanwhile may have moved the cursor as far with rows of its own.
    if (row?.cursor === next && row.holder === holder) written?.(rows)
  }

  const isBehind = async (): Promise<boolean> => {
    const { rows } = await database.knex.raw<{ rows: { behind: boolean }[] }>(PEEK, [name])
    if (rows[0] === undefined) throw cursorGone(name)
    return rows[0].behind
  }

  /** @param least what ends the pause early */
  const sleep = async (ms: number, least: Signal): Promise<void> => {
    if (heard >= least || ms <= 0) return
    const nap = new AbortController()
    rouse = () => {
      if (heard >= least) nap.abort()
    }
    try {
      await pause(ms, undefined, { signal: nap.signal, ref: false })
    } catch {
      // Woken.
    } finally {
      rouse = undefined
    }
  }

  const isSkipped = async (): Promise<boolean> => {
    if (unwanted === undefined) return false
    const { rows } = await database.knex.raw<{ rows: object[] }>(skipWhile(unwanted), [holder, name, holder])
    return rows.length > 0
  }

  const isEnding = (): boolean => heard === SIGNALS.end

  /** Consumes what there is, batch by batch. @returns what is to end the pause after it */
  const catchUp = async (): Promise<Signal> => {
    await settle()
    if (!(await isBehind())) return SIGNALS.commit
    if (await isSkipped()) return SIGNALS.reconsider
    let cursor = await acquire()
    while (cursor !== undefined && !isEnding()) {
      // Whoever waits has what comes now; only that somebody reconsiders still counts afterwards.
      if (heard < SIGNALS.reconsider) heard = SIGNALS.none
      const entries = await readEntries(database, log, cursor, batchEntries)
      const last = entries.at(-1)
      if (last === undefined) break
      const next: number = last.index + 1
      const rows = await consume(entries)
      await advance(cursor, next, rows)
      cursor = next
      written?.(rows)
      if (entries.length < batchEntries) break
      if (rest !== undefined) await sleep(rest(), SIGNALS.hurry)
    }
    return SIGNALS.commit
  }

  const run = async (): Promise<void> => {
    let backOffMs = FIRST_BACK_OFF_MS
    let created = false
    while (!isEnding()) {
      heard = SIGNALS.none
      const begunAt = performance.now()
      try {
        if (!created) await database.knex.raw(CREATE, [name, log, from])
        created = true
        const least = await catchUp()
        backOffMs = FIRST_BACK_OFF_MS
        await sleep(gatherMs - (performance.now() - begunAt), SIGNALS.hurry)
        await sleep(pollMs, least)
      } catch (error) {
        if (isTakenOver(error)) continue
        // It may be gone, and whoever removed it wants everything consumed again.
        created = false
        logger.warn(
          { err: error, follower: name, backOffMs },
          'a follower of the log failed and will try again',
        )
        // Deaf: a busy log would make it try all the time.
        await sleep(backOffMs, SIGNALS.reconsider)
        backOffMs = Math.min(backOffMs * 2, MAX_BACK_OFF_MS)
      }
    }
    // First: whoever takes over would be taken for somebody else's commit.
    await settle().catch(() => undefined)
    // Nobody needs to wait for the lease to end. If this fails, they do.
    await database.knex.raw(RELEASE, [name, holder]).catch(() => undefined)
  }

  const ended = run()
  return {
    wake: () => signal(SIGNALS.commit),
    hurry: () => signal(SIGNALS.hurry),
    reconsider: () => signal(SIGNALS.reconsider),
    async close() {
      signal(SIGNALS.end)
      await ended
    },
  }
}
