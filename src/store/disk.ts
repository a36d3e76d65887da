/**
 * Whether there is room where data is kept. The embedded database can't go on once it could not write, so it is told
 * before: what is left then suffices for what is under way, for an alert, and for reading. PostgreSQL says so itself,
 * with SQLSTATE 53100, and is asked from then on until it has room.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import type { Database } from './database.ts'
import { onSession } from './transactions.ts'

/** Two segments of the database's write-ahead log, of 16 MiB each. */
export const DISK_RESERVE_BYTES = 32 * 1024 * 1024
const LOOK_MS = 500
const ASK_MS = 1000
/** Rows of a table of more than 1 MiB. */
const ROOM_ROWS = 32_000

export interface Disk {
  /** Whether less than {@link DISK_RESERVE_BYTES} are free; of a database, whether it said that it has no room. */
  isFull(): boolean
  close(): void
}

interface Watch {
  /** Called when it has become full, and when there is room again. */
  readonly onChange: (isFull: boolean, freeBytes: number) => void
}

/** @param directory where data is kept; undefined: nothing is */
export const watchDisk = (directory: string | undefined, { onChange }: Watch): Disk => {
  if (directory === undefined) return { isFull: () => false, close: () => undefined }
  let isFull = false
  const look = async (): Promise<void> => {
    // A file system that can't say how much is free may still have room.
    const found = await statfs(directory).catch(() => undefined)
    if (found === undefined) return
    const freeBytes = found.bavail * found.bsize
    if (freeBytes < DISK_RESERVE_BYTES === isFull) return
    isFull = !isFull
    onChange(isFull, freeBytes)
  }
  void look()
  const looking = setInterval(() => void look(), LOOK_MS).unref()
  return { isFull: () => isFull, close: () => clearInterval(looking) }
}

/** Makes a table and takes it back, so that nothing of it is left. @throws what the database answers, while it has no room */
const takeRoom = (database: Database): Promise<unknown> =>
  onSession(database, (session) =>
    session.query(
      `BEGIN; CREATE UNLOGGED TABLE room_${randomBytes(8).toString('hex')} AS
       SELECT n FROM generate_series(1, ${ROOM_ROWS}) AS n; ROLLBACK`,
    ),
  )

/** @param onChange called when the database has said that its disk is full, and when there is room again */
export const watchDatabaseDisk = (database: Database, onChange: (isFull: boolean) => void): Disk => {
  let asking: NodeJS.Timeout | undefined
  let isClosed = false
  const ask = async (): Promise<void> => {
    // While it can't be asked, nobody knows that there is room.
    const hasRoom = await takeRoom(database).then(
      () => true,
      () => false,
    )
    if (isClosed) return
    asking = hasRoom ? undefined : setTimeout(() => void ask(), ASK_MS).unref()
    if (hasRoom) onChange(false)
  }
  database.onDiskFull?.(() => {
    if (asking !== undefined || isClosed) return
    asking = setTimeout(() => void ask(), ASK_MS).unref()
    onChange(true)
  })
  return {
    isFull: () => asking !== undefined,
    close() {
      isClosed = true
      clearTimeout(asking)
    },
  }
}
