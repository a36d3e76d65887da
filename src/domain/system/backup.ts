/**
 * Backups of the embedded database, which nobody but its server can read. While the one session is held, between two batches, its
 * files rest: they are copied then, and the archive is made of the copy. PostgreSQL has its own tools.
 * @module
 */
import { createHash } from 'node:crypto'
import { constants, createReadStream, type ReadStream } from 'node:fs'
import { copyFile, mkdir, readdir, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import pLimit from 'p-limit'
import { ZipFile } from 'yazl'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { endInTime } from '../../http/text-stream.ts'
import type { Checkpoints } from '../../ledger/checkpoints/checkpoint.ts'
import type { Logs } from '../../ledger/logs.ts'
import { originOfLog } from '../../protocol/log-heads.ts'
import type { Database, Session } from '../../store/database.ts'
import { createOneAtATime } from '../../store/limits.ts'
import { SCHEMA_VERSION } from '../../store/migrate.ts'
import { DISK_RESERVE_BYTES } from '../../store/watch/disk.ts'
import { SERVICE_VERSION } from './service.ts'

export const BACKUP_FORMAT = 'assay-backup/1'
export const MANIFEST_ENTRY = 'manifest.json'
/** Folder of the archive with the files of the database. */
export const DATABASE_FOLDER = 'database'

/** Where the copy lies while an archive is made of it, beside the database. */
const COPY = 'backup.partial'
const PARALLEL_FILES = 32
/** The copy is read once more while it is compressed: speed counts. */
const COMPRESSION_LEVEL = 1
const RETRY_AFTER_SECONDS = 10

export interface LogInBackup {
  readonly origin: string
  readonly treeSize: number
  readonly root: string
  /** The last one that was signed over it, null where none was. */
  readonly checkpoint: string | null
}

/** The first file of an archive. */
export interface BackupManifest {
  readonly format: typeof BACKUP_FORMAT
  readonly createdAt: string
  /** Version of the service, and last migration of the schema. */
  readonly service: string
  readonly schema: string
  /** Log 0 as it is in the backup. */
  readonly log: LogInBackup
  /** The other logs, from 1; absent where there are none. */
  readonly otherLogs?: readonly LogInBackup[]
  /** How long nobody could read or write. */
  readonly pauseMs: number
  readonly bytes: number
  readonly directories: readonly string[]
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[]
}

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'count'>
  readonly signedLogs: { at(log: number): { readonly checkpoints: Pick<Checkpoints, 'latest'> } }
  readonly logHome: { readonly origin: string }
  readonly clock: Clock
  readonly logger: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
}

/** An archive on its way. */
export interface Backup {
  readonly filename: string
  readonly about: Pick<BackupManifest, 'pauseMs' | 'bytes'> & { readonly treeSize: number }
  readonly body: Readable
}

interface Tree {
  readonly directories: readonly string[]
  readonly files: readonly string[]
}

/** Everything below a directory; paths within it. */
const walk = async (root: string): Promise<Tree> => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const pathOf = (entry: (typeof entries)[number]) => relative(root, join(entry.parentPath, entry.name))
  return {
    directories: entries
      .filter((entry) => entry.isDirectory())
      .map(pathOf)
      .sort(),
    files: entries
      .filter((entry) => entry.isFile())
      .map(pathOf)
      .sort(),
  }
}

const sizeOf = async (root: string, { files }: Tree): Promise<number> => {
  const limit = pLimit(PARALLEL_FILES)
  const sizes = await Promise.all(
    // A file may go while they are counted.
    files.map((path) =>
      limit(() =>
        stat(join(root, path)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const expectRoom = async (cluster: string): Promise<void> => {
  const [needed, { bavail, bsize }] = await Promise.all([
    walk(cluster).then((tree) => sizeOf(cluster, tree)),
    statfs(cluster),
  ])
  if (bavail * bsize - needed >= DISK_RESERVE_BYTES) return
  fail('unavailable', {
    message: `A backup needs ${Math.ceil(needed / 2 ** 20)} MiB of room on the disk of DATA_DIR for a copy.`,
    reason: 'DISK_FULL',
    retryAfter: RETRY_AFTER_SECONDS,
  })
}

/** Reflinks where the file system has them. */
const copyTree = async (from: string, to: string): Promise<Tree> => {
  const tree = await walk(from)
  await mkdir(to, { mode: 0o700 })
  for (const path of tree.directories) await mkdir(join(to, path), { mode: 0o700 })
  const limit = pLimit(PARALLEL_FILES)
  await Promise.all(
    tree.files.map((path) =>
      limit(() => copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE)),
    ),
  )
  return tree
}

const digestOf = async (path: string): Promise<{ bytes: number; sha256: string }> => {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

interface StoredLog {
  readonly log: number
  readonly size: number
  readonly root: Uint8Array
  readonly note: string | null
}

/** @param origin of log 0 */
const readLogs = async (
  session: Session,
  origin: string,
): Promise<{ readonly log: LogInBackup; readonly otherLogs?: readonly LogInBackup[] }> => {
  const { rows } = await session.query<StoredLog>(
    `SELECT h.log, h.size, h.root, c.note FROM ledger_head AS h LEFT JOIN ledger_checkpoint AS c ON c.log = h.log
     ORDER BY h.log`,
  )
  const [log, ...otherLogs] = rows.map(({ log, size, root, note }) => ({
    origin: originOfLog(origin, log),
    treeSize: size,
    root: Buffer.from(root).toString('hex'),
    checkpoint: note,
  }))
  if (log === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
  return { log, ...(otherLogs.length > 0 && { otherLogs }) }
}

const archiveOf = (copy: string, manifest: BackupManifest): Readable => {
  const archive = new ZipFile()
  const output = archive.outputStream as Readable
  archive.on('error', (error: unknown) => output.destroy(error instanceof Error ? error : undefined))
  const mtime = new Date(manifest.createdAt)
  archive.addBuffer(Buffer.from(JSON.stringify(manifest, null, 2)), MANIFEST_ENTRY, { mtime, mode: 0o100600 })
  for (const path of manifest.directories) archive.addEmptyDirectory(`${DATABASE_FOLDER}/${path}`, { mtime })
  // One file is read after the other. When nobody takes the archive any more, the one that is being read would stay open.
  let reading: ReadStream | undefined
  for (const { path, bytes } of manifest.files)
    archive.addReadStreamLazy(
      `${DATABASE_FOLDER}/${path}`,
      { mtime, mode: 0o100600, compressionLevel: COMPRESSION_LEVEL, size: bytes },
      (use) => {
        reading = createReadStream(join(copy, path))
        reading.once('error', (error) => output.destroy(error))
        use(null, reading)
      },
    )
  output.once('close', () => reading?.destroy())
  archive.end()
  return output
}

export type BackupsService = ReturnType<typeof createBackups>

export const createBackups = ({ database, logs, signedLogs, logHome, clock, logger }: Deps) => {
  const begin = createOneAtATime()

  /** The only time in which others wait. */
  const copyAtRest = async (cluster: string, copy: string) => {
    const session = await database.session()
    const startedAt = performance.now()
    try {
      // What is restored then needs no recovery.
      await session.query('CHECKPOINT')
      const inside = await readLogs(session, logHome.origin)
      return {
        inside,
        tree: await copyTree(cluster, copy),
        pauseMs: Math.round(performance.now() - startedAt),
      }
    } finally {
      session.release()
    }
  }

  const make = async (cluster: string, copy: string): Promise<Backup> => {
    await rm(copy, { recursive: true, force: true })
    await expectRoom(cluster)
    // An inconsistent log signs nothing, and is kept all the more.
    for (let log = 0; log < logs.count(); log++)
      await signedLogs
        .at(log)
        .checkpoints.latest()
        .catch(() => undefined)
    const { inside, tree, pauseMs } = await copyAtRest(cluster, copy)
    const limit = pLimit(PARALLEL_FILES)
    const files = await Promise.all(
      tree.files.map((path) => limit(async () => ({ path, ...(await digestOf(join(copy, path))) }))),
    )
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    const createdAt = iso(clock.now())
    const manifest: BackupManifest = {
      format: BACKUP_FORMAT,
      createdAt,
      service: SERVICE_VERSION,
      schema: SCHEMA_VERSION,
      ...inside,
      pauseMs,
      bytes,
      directories: tree.directories,
      files,
    }
    const { treeSize } = inside.log
    logger.info({ pauseMs, bytes, treeSize }, 'a backup is made')
    return {
      filename: `assay-backup-${createdAt.replaceAll(/[-:]|\.\d+/g, '')}.zip`,
      about: { pauseMs, bytes, treeSize },
      body: endInTime(archiveOf(copy, manifest)),
    }
  }

  return {
    /** Removes the copy of a backup that the end of an earlier process cut short. */
    async removeLeft(): Promise<void> {
      const { clusterDirectory } = database
      if (clusterDirectory !== undefined)
        await rm(join(dirname(clusterDirectory), COPY), { recursive: true, force: true })
    },

    /**
     * A ZIP archive with everything that was committed before this call, but no key of DATA_DIR.
     * @throws AppError not_implemented where the database is no embedded one on disk, conflict while another one is made,
     *   unavailable where there is no room
     */
    async create(): Promise<Backup> {
      const cluster = database.clusterDirectory
      if (cluster === undefined)
        return fail('not_implemented', {
          message:
            database.kind === 'postgres'
              ? 'PostgreSQL is backed up with its own tools, such as pg_dump: see docs/operations.md.'
              : 'DATA_DIR is `memory`: nothing is kept that could be backed up.',
        })
      const end = begin('') ?? fail('conflict', { message: 'Another backup is being made.' })
      const copy = join(dirname(cluster), COPY)
      const finish = async (): Promise<void> => {
        await rm(copy, { recursive: true, force: true })
        end()
      }
      try {
        const backup = await make(cluster, copy)
        backup.body.once('close', () => void finish())
        backup.body.on('error', (error) => logger.warn({ err: error }, 'a backup ended early'))
        return backup
      } catch (error) {
        await finish()
        throw error
      }
    },
  }
}
