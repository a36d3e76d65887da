/**
 * Whether the database answers, and whether it takes writes. PostgreSQL says itself that it takes none, with SQLSTATE 53100 or 25006,
 * and is asked from then on until it does.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { Database } from '../database.ts'
import { isUnavailable, type WriteRefusal } from '../session.ts'
import { onSession } from '../transactions.ts'

const ASK_MS = 1000
/** How long a full disk is taken for full where it can't be asked for room. */
const UNTOLD_MS = 30_000
/** As long as a connection may take to be made, or to be had when all are in use. */
const ANSWER_TIMEOUT_MS = 5_000
/** Rows of a table of more than 1 MiB. */
const ROOM_ROWS = 32_000

/** Makes a table and takes it back, so that nothing of it is left. @throws what the database answers, while it has no room */
const takeRoom = (database: Database): Promise<unknown> =>
  onSession(database, (session) =>
    session.query(
      `BEGIN; CREATE UNLOGGED TABLE room_${randomBytes(8).toString('hex')} AS
       SELECT n FROM generate_series(1, ${ROOM_ROWS}) AS n; ROLLBACK`,
    ),
  )

/** Whether the database takes writes. */
export interface DatabaseWrites {
  /** Why it takes none; undefined while it does. */
  refusal(): WriteRefusal | undefined
  close(): void
}

/**
 * @param onChange called when the database has said why it takes no writes, and when it does again: with what it had said, and undefined
 * @param untoldMs see {@link UNTOLD_MS}
 */
export const watchDatabaseWrites = (
  database: Database,
  onChange: (why: WriteRefusal | undefined, before: WriteRefusal | undefined) => void,
  untoldMs = UNTOLD_MS,
): DatabaseWrites => {
  let asking: NodeJS.Timeout | undefined
  let refusal: WriteRefusal | undefined
  let isClosed = false
  const change = (why: WriteRefusal | undefined): void => {
    const before = refusal
    refusal = why
    if (why !== before) onChange(why, before)
  }
  const clear = (): void => {
    asking = undefined
    change(undefined)
  }
  /** After a while without an answer: by now it may have said something else. */
  const clearFull = (): void => {
    if (refusal === 'disk_full') clear()
    else void ask()
  }
  const ask = async (): Promise<void> => {
    const error: unknown = await takeRoom(database).then(
      () => undefined,
      (objection: unknown) => objection,
    )
    if (isClosed) return
    // While it can't be asked, nobody knows that it takes writes.
    if (error !== undefined && isUnavailable(error)) asking = setTimeout(() => void ask(), ASK_MS).unref()
    // It says first that it is read only. Whether it has room isn't told by other objections, such as that our role may make no
    // tables: only a write can, and says so again if there is none.
    else if (error !== undefined && refusal === 'disk_full') asking = setTimeout(clearFull, untoldMs).unref()
    else clear()
  }
  database.onWriteRefused?.((why) => {
    if (isClosed) return
    asking ??= setTimeout(() => void ask(), ASK_MS).unref()
    change(why)
  })
  return {
    refusal: () => refusal,
    close() {
      isClosed = true
      clearTimeout(asking)
    },
  }
}

/** Whether the database answers. */
export interface DatabaseAnswers {
  isAway(): boolean
  close(): void
}

/**
 * Asks every second: PostgreSQL that was stopped refuses at once, while one behind a broken network, or an embedded one that could not
 * go on, is silent.
 * @param onChange called when it has gone away, with the error unless it is silent, and when it is back
 */
export const watchDatabaseAnswers = (
  database: Pick<Database, 'ping'>,
  onChange: (isAway: boolean, error?: unknown) => void,
): DatabaseAnswers => {
  let isAway = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const change = (away: boolean, error?: unknown): void => {
    if (isClosed || away === isAway) return
    isAway = away
    onChange(away, error)
  }
  const ask = async (): Promise<void> => {
    timer = setTimeout(() => change(true), ANSWER_TIMEOUT_MS).unref()
    await database.ping().then(
      () => change(false),
      (error: unknown) => change(true, error),
    )
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(() => void ask(), ASK_MS).unref()
  }
  void ask()
  return {
    isAway: () => isAway,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
