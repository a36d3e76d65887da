/** Small files that are replaced whole and survive a power cut. @module */
import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Makes the names in a directory survive a power cut. */
export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Replaces a file, or makes it (mode 0600): whoever reads it sees the old text or the new one, and what was written is on the disk (fsync)
 * before this resolves.
 * @param isWanted asked once the text is on the disk under another name: false leaves the file as it is
 */
export const writeDurably = async (
  file: string,
  text: string,
  isWanted: () => boolean | Promise<boolean> = () => true,
): Promise<void> => {
  // Other processes may write in the same directory: each its own draft.
  const draft = `${file}.${randomUUID()}`
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (!(await isWanted())) return
    await rename(draft, file)
    await syncDirectory(dirname(file))
  } finally {
    await rm(draft, { force: true })
  }
}

/** @returns undefined where there is no such file */
export const readIfThere = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
