/**
 * Whether there is room where data is kept, and whether files are taken there. The embedded database can't go on once it could
 * not write, so it is told before: what is left then suffices for what is under way, for an alert, and for reading.
 * @module
 */
import { open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'

/** Two segments of the database's write-ahead log, of 16 MiB each. */
export const DISK_RESERVE_BYTES = 32 * 1024 * 1024
const LOOK_MS = 500
/** Looks for each of which a file is written, since that costs an fsync(2). */
const LOOKS_PER_WRITE = 3
/** Written and removed; servers that share the directory may share it. */
const PROBE_FILE = 'write-probe'
/** No room for this file, or for this user, whatever the file system says to be free. */
const FULL_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT']

/** full: less than {@link DISK_RESERVE_BYTES} are free. unwritable: read only, or it failed to write or to sync. */
export type DiskRefusal = 'disk_full' | 'disk_unwritable'

export interface Disk {
  /** Why nothing should be written; undefined while it may be. */
  refusal(): DiskRefusal | undefined
  /** Resolves when nothing will be written any more. */
  close(): Promise<void>
}

/** What is free where a directory is; undefined where the file system can't say so: it may still have room. */
export const freeBytesAt = async (directory: string): Promise<number | undefined> => {
  const found = await statfs(directory).catch(() => undefined)
  return found && found.bavail * found.bsize
}

interface Watch {
  /** Called when writes have become impossible, for another reason than before, and possible again. */
  readonly onChange: (why: DiskRefusal | undefined, details: { freeBytes?: number; err?: unknown }) => void
}

/** Writes a file, syncs it to disk, and removes it. @throws what the file system answers */
const writeProbe = async (file: string): Promise<void> => {
  try {
    const handle = await open(file, 'w', 0o600)
    try {
      await handle.write('\n')
      await handle.sync()
    } finally {
      await handle.close()
    }
  } finally {
    await rm(file, { force: true })
  }
}

/** @param directory where data is kept; undefined: nothing is */
export const watchDisk = (directory: string | undefined, { onChange }: Watch): Disk => {
  if (directory === undefined) return { refusal: () => undefined, close: async () => undefined }
  const probe = join(directory, PROBE_FILE)
  let refusal: DiskRefusal | undefined
  let looking: Promise<void> | undefined
  let looks = 0
  const change = (why: DiskRefusal | undefined, details: { freeBytes?: number; err?: unknown }): void => {
    if (why === refusal) return
    refusal = why
    onChange(why, details)
  }
  const look = async (): Promise<void> => {
    const freeBytes = await freeBytesAt(directory)
    if (freeBytes !== undefined && freeBytes < DISK_RESERVE_BYTES) return change('disk_full', { freeBytes })
    // What was refused is tried at every look, so that it is over soon.
    if (looks++ % LOOKS_PER_WRITE > 0 && refusal === undefined) return
    await writeProbe(probe).then(
      () => change(undefined, { freeBytes }),
      (err) => change(FULL_CODES.includes(err.code) ? 'disk_full' : 'disk_unwritable', { freeBytes, err }),
    )
  }
  /** One at a time: a disk that fails may take long to say so. */
  const lookAlone = (): void => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }
  lookAlone()
  const timer = setInterval(lookAlone, LOOK_MS).unref()
  return {
    refusal: () => refusal,
    async close() {
      clearInterval(timer)
      await looking
    },
  }
}
