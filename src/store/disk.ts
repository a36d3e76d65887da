/**
 * Whether there is room where data is kept. The embedded database can't go on once it could not write, so it is told
 * before: what is left then suffices for what is under way, for an alert, and for reading.
 * @module
 */
import { statfs } from 'node:fs/promises'

/** Two segments of the database's write-ahead log, of 16 MiB each. */
export const DISK_RESERVE_BYTES = 32 * 1024 * 1024
const LOOK_MS = 500

export interface Disk {
  /** Whether less than {@link DISK_RESERVE_BYTES} are free. */
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
