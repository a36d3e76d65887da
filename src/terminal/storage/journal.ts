/**
 * The journal on disk: an append-only file `journal` beside a file `lock` in a directory of its own. Every append is
 * synced to the disk before it counts; a rewrite goes to `journal.new`, which is then renamed.
 * @module
 */
import { constants } from 'node:fs'
import { access, type FileHandle, link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DirectoryLocked, lockDirectory } from '../../store/directory-lock.ts'
import { TerminalError } from '../errors.ts'
import type { QueuedPayment } from '../types.ts'
import { createDurableLog, framesOf, type Medium } from './durable-log.ts'
import { type ReadJournal, readJournal, type Salvage, salvageJournal } from './frame.ts'
import { restore, voidRecord } from './records.ts'
import type { Storage } from './storage.ts'

const JOURNAL = 'journal'
const JOURNAL_NEW = 'journal.new'
const JOURNAL_DAMAGED = 'journal.damaged'
const LOCK = 'lock'
/** A terminal's storage belongs to one machine, also where that is a container with another name each time. */
const ONE_MACHINE = ''

/**
 * On Linux a write to a file opened so is as if fdatasync followed (open(2)), at one system call less. Elsewhere the
 * flag is missing or, as on macOS, leaves the data in the drive's cache.
 */
const SYNCED_WRITES = process.platform === 'linux' ? constants.O_DSYNC : 0

/** @throws TerminalError storage_locked while a living process holds it */
const takeLock = (folder: string): (() => void) => {
  const file = join(folder, LOCK)
  try {
    return lockDirectory(file, ONE_MACHINE)
  } catch (error) {
    if (!(error instanceof DirectoryLocked)) throw error
    const message = `Process ${error.pid} uses this terminal's storage (${file}). Only one may.`
    throw new TerminalError('storage_locked', message, error)
  }
}

/** Makes names durable: a created or renamed file may otherwise be gone after a power cut. */
const syncDirectory = async (directory: string): Promise<void> => {
  // Windows can't open directories; its file system journals names by itself.
  if (process.platform === 'win32') return
  const handle = await open(directory, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const writeAll = async (handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> => {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/** Writes a whole journal beside the present one. @returns its size in bytes */
const writeNewJournal = async (directory: string, frames: readonly Uint8Array[]): Promise<number> => {
  const handle = await open(join(directory, JOURNAL_NEW), 'w', 0o600)
  let size = 0
  try {
    for (const frame of frames) {
      await writeAll(handle, frame, size)
      size += frame.length
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return size
}

/** Puts the new journal in place of the present one, if any. */
const installNewJournal = async (directory: string): Promise<void> => {
  await rename(join(directory, JOURNAL_NEW), join(directory, JOURNAL))
  await syncDirectory(directory)
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/** Appends to the journal at known positions, so that a failed write can be cut off again. */
const createFile = async (directory: string, wholeBytes: number): Promise<Medium> => {
  const file = join(directory, JOURNAL)
  let handle = await open(file, constants.O_RDWR | SYNCED_WRITES)
  let size = wholeBytes
  let broken: unknown
  await handle.truncate(size)

  return {
    write: async (frame) => {
      if (broken) throw broken
      try {
        await writeAll(handle, frame, size)
        if (!SYNCED_WRITES) await handle.datasync()
        size += frame.length
      } catch (error) {
        // A full disk may have room again later. But if even the cut fails, the file's end is unknown: stop for good.
        await handle
          .truncate(size)
          .then(() => handle.sync())
          .catch(() => {
            broken = error
          })
        throw error
      }
    },
    replace: async (frames) => {
      if (broken) throw broken
      const replaced = await writeNewJournal(directory, frames)
      try {
        await installNewJournal(directory)
        const old = handle
        handle = await open(file, constants.O_RDWR | SYNCED_WRITES)
        size = replaced
        await old.close()
      } catch (error) {
        // Which of the two files a restart would find is unknown, so neither may be written to.
        broken = error
        throw error
      }
    },
    close: () => handle.close(),
  }
}

const prepareDirectory = async (directory: string): Promise<void> => {
  const made = await mkdir(directory, { recursive: true, mode: 0o700 })
  if (made !== undefined) await syncDirectory(dirname(made))
}

const readOrCreate = async (directory: string): Promise<ReadJournal> => {
  const file = join(directory, JOURNAL)
  if (!(await exists(file))) {
    await writeNewJournal(directory, framesOf({ records: [] }))
    await installNewJournal(directory)
  }
  try {
    return readJournal(await readFile(file))
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error
    throw new TerminalError(
      error.code,
      `${error.message} File: ${file}. Nothing was changed. ` +
        `To keep every record that can still be read: npx assay terminal recover --state ${directory} ` +
        '(with --void and the transaction ids of payments that were taken back)',
    )
  }
}

/**
 * Durable storage for Node. One process at a time; after a crash the next one takes over.
 * @param directory made if absent (mode 0700); one terminal's own
 */
export const journalStorage = (directory: string): Storage => ({
  open: async () => {
    const folder = resolve(directory)
    await prepareDirectory(folder)
    const unlock = takeLock(folder)
    try {
      await rm(join(folder, JOURNAL_NEW), { force: true })
      const { contents, wholeBytes, nextSequence } = await readOrCreate(folder)
      const log = createDurableLog(await createFile(folder, wholeBytes), contents, nextSequence)
      return {
        ...log,
        close: async () => {
          await log.close()
          unlock()
        },
      }
    } catch (error) {
      unlock()
      throw error
    }
  },
})

/** What {@link recoverJournal} found. */
export interface Recovery extends Omit<Salvage, 'contents'> {
  readonly records: number
  /** What waits for upload now. */
  readonly pending: readonly QueuedPayment[]
  /** The damaged journal, kept as it was. */
  readonly damagedFile: string
}

/**
 * Replaces a damaged journal by what can still be read of it. The damaged file stays beside it.
 * @param takenBack transaction ids of payments that the application knows as void: what the journal has of them is not uploaded,
 *   though it can't be read any more that they were taken back
 * @returns undefined when the journal is whole and was left alone
 * @throws TerminalError storage_locked
 */
export const recoverJournal = async (
  directory: string,
  takenBack: readonly string[] = [],
): Promise<Recovery | undefined> => {
  const folder = resolve(directory)
  const file = join(folder, JOURNAL)
  const unlock = takeLock(folder)
  try {
    const bytes = await readFile(file)
    try {
      readJournal(bytes)
      return undefined
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error
    }
    const { contents, ...found } = salvageJournal(bytes)
    const records = [...contents.records, ...takenBack.map(voidRecord)]
    const pending = [...restore(records, () => undefined).queue.values()]
    let number = 1
    while (await exists(join(folder, `${JOURNAL_DAMAGED}-${number}`))) number++
    const damagedFile = join(folder, `${JOURNAL_DAMAGED}-${number}`)
    await link(file, damagedFile)
    await writeNewJournal(folder, framesOf({ ...contents, records }))
    await installNewJournal(folder)
    return { ...found, records: contents.records.length, pending, damagedFile }
  } finally {
    unlock()
  }
}
