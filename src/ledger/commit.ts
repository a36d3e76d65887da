/**
 * Commits a batch in four statements and two round trips: begin and lock the head, read what is claimed; write
 * everything, commit. The row lock of the log's head makes all servers take turns.
 * @module
 */
import type { Clock } from '../clock.ts'
import type { Pseudonyms } from '../keys/pseudonyms.ts'
import type { Sealing } from '../keys/sealing.ts'
import type { Database } from '../store/database.ts'
import type { Outcome } from '../store/lane.ts'
import type { Session } from '../store/session.ts'
import { onSession, retried, settled, writeAndCommit } from '../store/transactions.ts'
import { createRowWriter, type RowQuery } from '../store/write-rows.ts'
import { answerRow, openAnswer } from './answers.ts'
import { type Context, decideBatch, type Head, type Resolution } from './batch.ts'
import { noKeys } from './known.ts'
import {
  emptyKnown,
  lockAndReadHead,
  lockHeadAndTakeTurn,
  readAnswers,
  readEntryId,
  readTime,
  readUnread,
  sweepAnswers,
} from './reads.ts'
import { answers } from './tables.ts'
import { createTiles, type Tiles } from './tree/tiles.ts'
import { type Change, type ChangeUnit, keysOf, type Unit } from './unit.ts'

/** A transaction whose commit is about to be sent. */
interface Pending {
  readonly head: Head
  readonly resolution: Resolution
}

/**
 * Runs `work`, which tells what it is about to commit, and finds out what became of it if the connection breaks.
 * @throws ConnectionLost when nothing was committed, AppError unavailable when nobody can say
 */
const settledByEntry = (
  { database, log }: Pick<CommitDeps, 'database' | 'log'>,
  work: (commits: (pending: Pending) => void) => Promise<Pending>,
): Promise<Pending> =>
  settled(database, work, ({ head, resolution: { firstEntryId } }) =>
    // A change without an entry leaves nothing to look for.
    firstEntryId === undefined
      ? undefined
      : async (session) => {
          await lockAndReadHead(session, log)
          return (await readEntryId(session, log, head.size)) === firstEntryId
        },
  )

/** Expired answers are swept this often, and so many at a time; when there were more, again in the next batch. */
const SWEEP_PAUSE_MS = 60_000
const SWEEP_ROWS = 500
/** Clocks of servers may differ by so much without anybody looking into it. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000
const WARNING_PAUSE_MS = 60_000
const MS_PER_SECOND = 1000

/**
 * The commit is sent behind this without waiting, so that a head that moved, which its lock rules out, must fail the
 * statement itself: it divides by zero.
 */
const ADVANCE_HEAD = `UPDATE ledger_head SET size = $1 / (size = $5)::int, root = $2, edge = $3, updated_at = $4
  WHERE log = $6`

export interface CommitDeps {
  /** The log that is appended to. */
  readonly log: number
  readonly database: Database
  readonly sealing: Sealing
  readonly pseudonyms: Pseudonyms
  readonly clock: Clock
  /** Called, at most once a minute, when the last entry's time is so many ms ahead of this server's clock. */
  readonly onClockSkew?: (skew: { aheadMs: number; corrected: boolean }) => void
  /** Called after each commit that added entries. @param batch `seconds`: what it took, waiting for the head among it */
  readonly onBatch?: (batch: { log: number; items: number; size: number; seconds: number }) => void
}

export interface Committer {
  /** @throws AppError unavailable; anything else means that nothing was committed */
  batch(units: readonly Unit[]): Promise<readonly Outcome<unknown>[]>
  /** As `batch`, for one change. @throws what the change throws, or AppError unavailable */
  change(unit: ChangeUnit): Promise<readonly Outcome<unknown>[]>
}

/** Decisions that find a key held may name others; when they still do so after these reads, that is a mistake. */
const MAX_FURTHER_READS = 4

/**
 * Has a batch decide, on what was read before it and whatever its decisions name beyond that.
 * @throws Error when they name something new after each of the further reads
 */
const decideOn = async (session: Session, units: readonly Unit[], context: Context): Promise<Resolution> => {
  for (let reads = 0; ; reads++) {
    const decided = decideBatch(units, context)
    if ('resolution' in decided) return decided.resolution
    if (reads === MAX_FURTHER_READS) throw new Error('A decision named other keys each time that it was run.')
    await readUnread(session, context.known, decided.unread)
  }
}

/**
 * The time of a batch: this server's, but no earlier than the entries before it, so that the log's order is that of
 * time. When the two are far apart the database's clock decides whose is wrong. An entry that lies in the future by
 * that clock too is not followed: time would stand still until then. Called under the head's lock.
 */
const createTiming = ({ onClockSkew }: Pick<CommitDeps, 'onClockSkew'>) => {
  let quietUntil = 0
  return async (session: Session, head: Head, now: number): Promise<number> => {
    const aheadMs = head.at - now
    if (aheadMs <= MAX_CLOCK_SKEW_MS) return Math.max(head.at, now)
    const corrected = head.at > (await readTime(session)) + MAX_CLOCK_SKEW_MS
    if (performance.now() >= quietUntil) {
      quietUntil = performance.now() + WARNING_PAUSE_MS
      onClockSkew?.({ aheadMs, corrected })
    }
    return corrected ? now : head.at
  }
}

/** Composes the statement that writes a resolution's rows, tiles and the new head. */
const createCompose = (tiles: Tiles) => {
  let sweepAfter = 0
  /** @returns undefined when there is nothing to write */
  return async (
    session: Session,
    { log, head, at }: Context,
    resolution: Resolution,
  ): Promise<RowQuery | undefined> => {
    const { growth, leaves, rows } = resolution
    if (rows.length === 0) return undefined
    if (performance.now() >= sweepAfter && rows.some((row) => row.table.name === answers.name)) {
      const swept = await sweepAnswers(session, at, SWEEP_ROWS)
      if (swept < SWEEP_ROWS) sweepAfter = performance.now() + SWEEP_PAUSE_MS
    }
    const writer = createRowWriter()
    for (const row of rows) writer.add(row)
    for (const row of await tiles.rows(session, head, resolution)) writer.add(row)
    if (leaves.length === 0) return writer.query('SELECT 1', [])
    const advance = [growth.size, growth.root, Buffer.concat(growth.edge), at, head.size, log]
    return writer.query(ADVANCE_HEAD, advance)
  }
}

export const createCommitter = (deps: CommitDeps): Committer => {
  const { database, log, sealing, pseudonyms, clock, onBatch } = deps
  const tiles = createTiles(log)
  const compose = createCompose(tiles)
  const timeOf = createTiming(deps)

  const prepare = async (): Promise<Omit<Context, 'head'>> => {
    const at = clock.now()
    return {
      log,
      at,
      // Before any session is taken: the key of a new epoch is read, or made, outside the transaction.
      epoch: await pseudonyms.epoch(at),
      known: emptyKnown(),
      replay: (row) => openAnswer(sealing, row),
      keep: (unit, answer) => answerRow(sealing, unit, answer, at),
    }
  }

  const announce = ({ head, resolution }: Pending, seconds: number): void => {
    for (const { caller } of resolution.replayed) if (caller.idempotency) caller.idempotency.replayed = true
    if (resolution.leaves.length === 0) return
    tiles.committed(head, resolution)
    onBatch?.({ log, items: resolution.leaves.length, size: resolution.growth.size, seconds })
  }

  const commitBatch = (units: readonly Unit[]): Promise<Pending> =>
    settledByEntry(deps, async (commits) => {
      const prepared = await prepare()
      const { known, at } = prepared
      return onSession(database, async (session) => {
        const keys = keysOf(units)
        const [head] = await Promise.all([
          lockAndReadHead(session, log),
          readAnswers(session, known, keys.answers, at),
          readUnread(session, known, keys),
        ])
        const context: Context = { ...prepared, head, at: await timeOf(session, head, at) }
        const pending: Pending = { head, resolution: await decideOn(session, units, context) }
        const statement = await compose(session, context, pending.resolution)
        if (statement === undefined) {
          await session.query('ROLLBACK')
          return pending
        }
        commits(pending)
        await writeAndCommit(session, [statement])
        return pending
      })
    })

  const commitChange = ({ caller, idempotency, change }: ChangeUnit): Promise<Pending> =>
    settledByEntry(deps, async (commits) => {
      const prepared = await prepare()
      const { known, at } = prepared
      return onSession(database, (session) =>
        session.transaction(async (trx) => {
          const head = await lockHeadAndTakeTurn(session, log)
          if (idempotency)
            await readAnswers(session, known, [[idempotency.organisation, idempotency.key]], at)
          const context: Context = { ...prepared, head, at: await timeOf(session, head, at) }
          // A repeated request gets its answer, or its refusal, before the change runs again.
          const isRepeated = known.answers.size > 0
          const changed: Change<unknown> = isRepeated ? { result: null } : await change(trx)
          const { entry = [], rows = [], advances = [], result } = changed
          const decide: Unit['decide'] = (tx) => {
            for (const counter of advances) tx.add(counter, 1)
            for (const one of [entry].flat()) tx.append(one)
            for (const row of rows) tx.write(row)
            return result
          }
          const unit: Unit = { caller, idempotency, decide, keys: noKeys(), isAlwaysKept: true }
          const pending: Pending = { head, resolution: await decideOn(session, [unit], context) }
          const outcome = pending.resolution.outcomes[0]
          if (outcome && 'error' in outcome) throw outcome.error
          const statement = await compose(session, context, pending.resolution)
          if (statement) await session.query(statement.text, statement.values, statement.name)
          commits(pending)
          return pending
        }),
      )
    })

  const run = async (work: () => Promise<Pending>): Promise<readonly Outcome<unknown>[]> => {
    const begun = performance.now()
    const pending = await retried(work)
    announce(pending, (performance.now() - begun) / MS_PER_SECOND)
    return pending.resolution.outcomes
  }
  return {
    batch: (units) => run(() => commitBatch(units)),
    change: (unit) => run(() => commitChange(unit)),
  }
}
