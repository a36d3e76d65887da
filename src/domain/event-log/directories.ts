/**
 * Where the event log of a server lies: below DATA_DIR, which servers of one database may share, so each takes the
 * first place that nobody uses. A server that keeps nothing has a temporary directory, gone when it stops.
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreLogger } from '../../store/database.ts'
import { DirectoryLocked, lockDirectory } from '../../store/directory-lock.ts'

/** Servers that may share a DATA_DIR. */
const MAX_SERVERS = 64
const DIRECTORY_MODE = 0o700
const HELD_ELSEWHERE =
  'a server of another host holds this event log, and what is in it is missing from exports of this one; if that host no longer runs, stop this server and delete the lock, and give containers a fixed hostname'

export interface LogDirectory {
  readonly path: string
  /** Lets another server have it. */
  release(): void
}

/**
 * @param dataDir DATA_DIR; undefined keeps nothing
 * @param logger is warned of places that servers of other hosts hold, or held when they were killed: exports of this one lack their rows
 * @throws DirectoryLocked when {@link MAX_SERVERS} share the directory already, Error of the file system
 */
export const takeLogDirectory = (
  dataDir: string | undefined,
  logger: Pick<StoreLogger, 'warn'>,
): LogDirectory => {
  if (dataDir === undefined) {
    const path = mkdtempSync(join(tmpdir(), 'assay-events-'))
    return { path, release: () => rmSync(path, { recursive: true, force: true }) }
  }
  const events = join(dataDir, 'events')
  mkdirSync(events, { recursive: true, mode: DIRECTORY_MODE })
  for (let place = 1; ; place++) {
    const path = join(events, String(place))
    const lock = `${path}.lock`
    try {
      return { path, release: lockDirectory(lock) }
    } catch (error) {
      if (!(error instanceof DirectoryLocked) || place === MAX_SERVERS) throw error
      const { elsewhere: host } = error
      if (host !== undefined) logger.warn({ path, host, lock }, HELD_ELSEWHERE)
    }
  }
}
