/**
 * What processes of a PostgreSQL server do beside its sessions, and what nobody does for the embedded database, which is a single session:
 * checkpoints and vacuum. Without them the write-ahead log grows for as long as a server runs, a start after a crash reads all of it, and
 * rows that were deleted keep their place.
 * @module
 */
import type { Database, Session, StoreLogger } from '../database.ts'
import { DISK_RESERVE_BYTES } from '../watch/disk.ts'

export interface UpkeepLimits {
  /** The log is looked at every so many milliseconds, and the tables with every tenth look. */
  readonly lookMs: number
  /** Of the log since the last checkpoint. */
  readonly logBytes: number
  /** Rows added since the last vacuum. */
  readonly newRows: number
  /** Transactions since a table's oldest rows were written. */
  readonly age: number
}

/**
 * What others wait for stays short: a checkpoint of one segment takes about 30 ms, of four 75; the vacuum of 10,000 new rows 10 ms. PostgreSQL
 * vacuums new rows once they are a fifth of the table, for as long as that takes. The age is PostgreSQL's own.
 */
const UPKEEP: UpkeepLimits = {
  lookMs: 1000,
  logBytes: 16 * 1024 * 1024,
  newRows: 10_000,
  age: 200_000_000,
}
const LOOKS_PER_VACUUM = 10
/** What failed is tried again after so many. */
const LOOKS_AFTER_FAILURE = 60

/** @returns what finds the vacuum that is overdue most, of tables smaller than $1 bytes, without those of $2: by dead rows as PostgreSQL's autovacuum counts, so that a fifth of a table's place is lost at most */
const overdueSql = ({ newRows, age }: UpkeepLimits): string => `
  SELECT 'VACUUM ' || c.oid::regclass::text AS vacuum
  FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
  WHERE c.relkind IN ('r', 't') AND (
    s.n_dead_tup > 50 + 0.2 * greatest(c.reltuples, 0)
    OR s.n_ins_since_vacuum > ${newRows}
    OR age(c.relfrozenxid) > ${age})
    AND pg_total_relation_size(c.oid) < $1::float8
    AND 'VACUUM ' || c.oid::regclass::text <> ALL ($2::text[])
  ORDER BY age(c.relfrozenxid) > ${age} DESC, s.n_dead_tup + s.n_ins_since_vacuum DESC
  LIMIT 1`

interface Deps extends Pick<Database, 'session'> {
  /** Where the database is kept; undefined where nobody can say. */
  freeBytes(): Promise<number | undefined>
}

export interface Upkeep {
  /** While the disk takes no writes nothing is done. */
  rest(isResting: boolean): void
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>
}

/** Looks what is due, and does one thing at a time, between the transactions of others. */
export const startUpkeep = (
  { session: take, freeBytes }: Deps,
  logger?: StoreLogger,
  limits = UPKEEP,
): Upkeep => {
  const overdue = overdueSql(limits)
  let isResting = false
  let looks = 0
  let looking: Promise<void> | undefined
  /** What failed lately → the look at which it is tried again. */
  const passedOver = new Map<string, number>()
  /** Does one of the things that there are to do: where it fails, the others go on, and it has a pause. */
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    if (passedOver.has(what)) return
    try {
      await work()
    } catch (err) {
      passedOver.set(what, looks + LOOKS_AFTER_FAILURE)
      logger?.warn({ err, what }, 'the upkeep of the embedded database failed, and is tried again in a while')
    }
  }
  const checkpoint = async (session: Session): Promise<void> => {
    const { rows } = await session.query<{ due: boolean }>(
      `SELECT pg_current_wal_lsn() - redo_lsn > ${limits.logBytes} AS due FROM pg_control_checkpoint()`,
    )
    if (rows[0]?.due && !isResting) await session.query('CHECKPOINT')
  }
  const vacuum = async (session: Session): Promise<void> => {
    // Of each page that it changes the log may have a copy, all in one go, in which nobody could see that the disk gets full.
    const room = ((await freeBytes()) ?? Number.POSITIVE_INFINITY) - DISK_RESERVE_BYTES
    const { rows } = await session.query<{ vacuum: string }>(overdue, [room, [...passedOver.keys()]])
    const [found] = rows
    if (found !== undefined && !isResting) await attempt(found.vacuum, () => session.query(found.vacuum))
  }
  const look = async (): Promise<void> => {
    for (const [what, tryAt] of passedOver) if (tryAt <= looks) passedOver.delete(what)
    await attempt('session', async () => {
      const session = await take()
      try {
        await attempt('checkpoint', () => checkpoint(session))
        if (looks % LOOKS_PER_VACUUM === 0 && !isResting) await attempt('vacuum', () => vacuum(session))
      } finally {
        session.release()
      }
    })
  }
  const timer = setInterval(() => {
    if (isResting) return
    looking ??= look().finally(() => {
      looking = undefined
      looks += 1
    })
  }, limits.lookMs).unref()
  return {
    rest(resting) {
      isResting = resting
    },
    async close() {
      clearInterval(timer)
      await looking
    },
  }
}
