/**
 * The size and root that this server signed last, kept beside the database: a database that was restored from an
 * older backup does not know what it signed since, and would sign another tree of the same size.
 * @module
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../errors.ts'
import { readIfThere, writeDurably } from '../../store/durable-file.ts'
import type { Head } from '../tree/log.ts'

export const HIGH_WATER_FILE = 'checkpoint.high-water'

const LINE = /^(\d{1,15}) ([0-9a-f]{64})\n$/

/** What a file system says that takes no writes for now. errno(3) */
const REFUSED_WRITES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])
const RETRY_AFTER_SECONDS = 10

export interface HighWater {
  /** @throws Error when the file can't be read, or does not say what it should */
  read(): Promise<Head | undefined>
  /**
   * Keeps a mark that is greater than the one that is kept; it survives a power cut.
   * @throws AppError unavailable while the disk takes no writes
   */
  raise(mark: Head): Promise<void>
}

const fileOf = (generation: number, log: number): string =>
  `${HIGH_WATER_FILE}${generation === 1 ? '' : `.${generation}`}${log === 0 ? '' : `.log-${log}`}`

/** Numbers of the logs that have a mark of this generation. @param directory DATA_DIR, which may not be there */
export const markedLogs = async (directory: string, generation: number): Promise<number[]> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  return names.flatMap((name) => {
    const log = Number(/[.]log-([1-9]\d?)$/.exec(name)?.[1] ?? 0)
    return name === fileOf(generation, log) ? [log] : []
  })
}

/**
 * @param directory DATA_DIR; undefined keeps nothing
 * @param generation of the log: each has a mark of its own
 * @param log its number: so has each log
 */
export const createHighWater = (directory: string | undefined, generation = 1, log = 0): HighWater => {
  if (directory === undefined) return { read: async () => undefined, raise: async () => {} }
  const file = join(directory, fileOf(generation, log))

  const read = async (): Promise<Head | undefined> => {
    const text = await readIfThere(file)
    if (text === undefined) return undefined
    const [, size, root] = LINE.exec(text) ?? []
    if (size === undefined || root === undefined) throw new Error(`${file} is damaged.`)
    return { size: Number(size), root: Buffer.from(root, 'hex') }
  }

  const isKept = async (size: number): Promise<boolean> => ((await read())?.size ?? -1) >= size

  const write = async ({ size, root }: Head): Promise<void> => {
    if (await isKept(size)) return
    const line = `${size} ${Buffer.from(root).toString('hex')}\n`
    // Somebody may have raised it further while the draft was written.
    await writeDurably(file, line, async () => !(await isKept(size)))
  }

  let tail: Promise<unknown> = Promise.resolve()
  return {
    read,
    raise(mark) {
      const raised = tail
        .then(() => write(mark))
        .catch((error: NodeJS.ErrnoException) => {
          if (!REFUSED_WRITES.has(error.code)) throw error
          fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS, cause: error })
        })
      tail = raised.catch(() => undefined)
      return raised
    },
  }
}
