/**
 * Heads of the other logs as entries of log 0: size and root of each one's newest signed checkpoint, every second in which it grew. So
 * whoever follows log 0, as witnesses do, holds all of them: an entry stands in its log, that log's head in log 0. One server at a time
 * appends them; who needs one sooner may as well, for no head is said twice.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { systemCaller } from '../../caller.ts'
import { fail } from '../../errors.ts'
import type { Database } from '../../store/database.ts'
import type { Decide } from '../decision.ts'
import { NOW_MS } from '../follower.ts'
import type { Ledger } from '../ledger.ts'
import { type Logs, logOrganisation } from '../logs.ts'
import { type LoggedHeadRow, loggedHeads } from '../tables.ts'
import type { Head } from '../tree/log.ts'
import type { Checkpoint } from './checkpoint.ts'

const HEADS_MS = 1_000
/** A server that did not append for so long has ended, and another takes over. */
const LEASE_MS = 5_000
/** Servers that append heads at once; each attempt sees a newer one. */
const MAX_ATTEMPTS = 10
const RETRY_AFTER_SECONDS = 1

/** Size of the newest head of a log that log 0 has. */
const counterOf = (log: number): string => `head/${log}`

/** Only where there is something to say, so that idle servers leave the database alone. */
const GROWN = `SELECT h.log FROM ledger_head AS h WHERE h.log > 0 AND h.size > coalesce((SELECT value FROM ledger_counters
  WHERE organisation = '${logOrganisation(0)}' AND counter = 'head/' || h.log), 0) ORDER BY h.log`
const ACQUIRE = `UPDATE ledger_turns SET holder = ?, held_until = ${NOW_MS} + ?::bigint
  WHERE name = 'heads' AND (holder = ? OR held_until <= ${NOW_MS}) RETURNING name`
const RELEASE = "UPDATE ledger_turns SET held_until = 0 WHERE name = 'heads' AND holder = ?"

/** Ms since the newest head of a log was appended. */
const AGE = `SELECT ${NOW_MS} - e.at AS age FROM ledger_heads AS h JOIN ledger_entries AS e ON e.log = 0 AND e.idx = h.entry_index
  WHERE h.log = ? ORDER BY h.size DESC LIMIT 1`

/** A head that stands in log 0. */
export interface LoggedHead {
  readonly log: number
  readonly size: number
  readonly root: Uint8Array
  /** Of its entry in log 0. */
  readonly entryIndex: number
  /** Canonical JSON, byte for byte what was hashed. */
  readonly entry: string
}

export interface Heads {
  /**
   * The first head of a log that covers an entry; undefined where the log does not have it. Where there is none yet, it is appended once the
   * newest is a second old: whoever asks, however often, has no more of them appended than a log that grows.
   */
  covering(log: number, index: number): Promise<LoggedHead | undefined>
  /** The newest head of a log; undefined before the first. */
  newest(log: number): Promise<LoggedHead | undefined>
  /**
   * A checkpoint of a log over all that is committed now, and the head that says the same; none of an empty log.
   * @throws AppError log_inconsistent
   */
  latest(log: number): Promise<{ readonly checkpoint: Checkpoint; readonly head: LoggedHead | undefined }>
  close(): Promise<void>
}

/** Only ever greater sizes of one log. */
const saying =
  (log: number, { size, root }: Head): Decide<null> =>
  (tx) => {
    const before = tx.counter(counterOf(log))
    if (size <= before) return null
    tx.add(counterOf(log), size - before)
    const { index } = tx.append({
      type: 'ledger.head',
      data: { log, size, root: Buffer.from(root).toString('hex') },
    })
    tx.write(loggedHeads.row({ log, size, root, entry_index: index }))
    return null
  }

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly logs: Pick<Logs, 'count'>
  /** The signed checkpoint of a log over all that is committed now. @throws AppError log_inconsistent */
  readonly checkpointOf: (log: number) => Promise<Checkpoint>
  readonly logger: { warn(details: object, message: string): void }
}

export const createHeads = ({ database, ledger, logs, checkpointOf, logger }: Deps): Heads => {
  const { knex } = database
  const holder = randomUUID()
  const ending = new AbortController()

  const append = async (log: number): Promise<Checkpoint> => {
    const checkpoint = await checkpointOf(log)
    if (checkpoint.size > 0)
      await ledger.append(systemCaller(logOrganisation(0), 'log'), saying(log, checkpoint))
    return checkpoint
  }

  const appendGrown = async (): Promise<void> => {
    if (logs.count() === 1) return
    const { rows } = await knex.raw<{ rows: { log: number }[] }>(GROWN)
    if (rows.length === 0) return
    const acquired = await knex.raw<{ rows: object[] }>(ACQUIRE, [holder, LEASE_MS, holder])
    if (acquired.rows.length === 0) return
    // One that fails, since it is inconsistent or locked, holds up none of the others.
    const ended = await Promise.allSettled(rows.map(({ log }) => append(log)))
    for (const [place, { log }] of rows.entries()) {
      const end = ended[place]
      if (end?.status === 'rejected')
        logger.warn({ err: end.reason, log }, 'the head of a log could not be appended to log 0')
    }
  }

  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await pause(HEADS_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
      if (ending.signal.aborted) break
      await appendGrown().catch((error: unknown) =>
        logger.warn({ err: error }, 'heads of logs could not be appended to log 0 and will be again'),
      )
    }
    // Nobody needs to wait for the lease to end. If this fails, they do.
    if (logs.count() > 1) await knex.raw(RELEASE, [holder]).catch(() => undefined)
  }
  const ended = run()

  const withEntry = async (row: LoggedHeadRow | undefined): Promise<LoggedHead | undefined> => {
    if (row === undefined) return undefined
    const { log, size, root, entry_index: entryIndex } = row
    const found = await knex<{ log: number; idx: number; entry: string }>('ledger_entries')
      .where({ log: 0, idx: entryIndex })
      .first('entry')
    if (found === undefined) throw new Error(`Log 0 lacks entry ${entryIndex}, the head of log ${log}.`)
    return { log, size, root, entryIndex, entry: found.entry }
  }

  const find = async (log: number, covered: number): Promise<LoggedHead | undefined> =>
    withEntry(
      await knex<LoggedHeadRow>(loggedHeads.name)
        .where({ log })
        .where('size', '>', covered)
        .orderBy('size')
        .first(),
    )

  const has = async (log: number, index: number): Promise<boolean> => {
    const head = await knex<{ log: number; size: number }>('ledger_head').where({ log }).first('size')
    return head !== undefined && head.size > index
  }

  const due = new Map<number, Promise<unknown>>()
  /** Appends a head, or waits for one, once the newest is a second old; all who ask meanwhile wait for the same. */
  const appendInTurn = (log: number, covered: number): Promise<unknown> => {
    const appendWhenDue = async (): Promise<void> => {
      const { rows } = await knex.raw<{ rows: { age: number }[] }>(AGE, [log])
      const rest = HEADS_MS - Number(rows[0]?.age ?? HEADS_MS)
      if (rest > 0) await pause(Math.min(rest, HEADS_MS), undefined, { ref: false })
      if ((await find(log, covered)) === undefined) await append(log)
    }
    const asked = due.get(log) ?? appendWhenDue().finally(() => due.delete(log))
    due.set(log, asked)
    return asked
  }

  return {
    async covering(log, index) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const known = await find(log, index)
        if (known !== undefined) return known
        if (!(await has(log, index))) return undefined
        // One that was asked for by others may cover less.
        await appendInTurn(log, index)
      }
      return fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
    },

    newest: async (log) =>
      withEntry(await knex<LoggedHeadRow>(loggedHeads.name).where({ log }).orderBy('size', 'desc').first()),

    async latest(log) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const checkpoint = await append(log)
        if (checkpoint.size === 0) return { checkpoint, head: undefined }
        const row = await knex<LoggedHeadRow>(loggedHeads.name).where({ log, size: checkpoint.size }).first()
        const head = await withEntry(row)
        // Else another server said a greater one in between, and the next checkpoint covers that.
        if (head !== undefined) return { checkpoint, head }
      }
      return fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
    },

    async close() {
      ending.abort()
      await ended
    },
  }
}
