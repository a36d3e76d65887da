/** What a monitor remembers of the logs of a service: a file that is replaced whole, so that the newest checkpoint is never forgotten. @module */
import { DirectoryLocked, lockDirectory } from '../../store/directory-lock.ts'
import { readIfThere, writeDurably } from '../../store/durable-file.ts'

/** The newest of the organisation's entries that was found in the log. */
export interface KnownEntry {
  readonly index: number
  /** Lower-case hex. */
  readonly leafHash: string
}

export interface LogState {
  readonly origin: string
  /** Verifier keys of the log, one a line. */
  readonly keys: string
  /** The newest checkpoint that was accepted; null before the first. */
  readonly newest: {
    readonly size: number
    /** Lower-case hex. */
    readonly root: string
    readonly note: string
  } | null
  readonly newestEntry: KnownEntry | null
  /** Size that the head of this log in log 0 must reach, and since when (Unix ms); absent in log 0, and while the log is empty. */
  readonly awaited?: { readonly size: number; readonly since: number }
}

/** Of log 0, and of the others that were seen. */
export interface MonitorState extends LogState {
  /** By their numbers; absent where there are none. */
  readonly logs?: Readonly<Record<string, LogState>>
}

const isState = (value: unknown): value is MonitorState =>
  typeof value === 'object' &&
  value !== null &&
  ['origin', 'keys', 'newest', 'newestEntry'].every((member) => member in value)

/**
 * @returns undefined where there is no such file yet
 * @throws Error for a file that holds something else: starting anew would forget what was seen
 */
export const readState = async (file: string): Promise<MonitorState | undefined> => {
  const text = await readIfThere(file)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (isState(value)) return value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new Error(
    `${file} is damaged, or no state of a monitor. Keep it, and give another file to start anew.`,
  )
}

/**
 * Keeps a second monitor off a state file: each would write over what the other one has seen.
 * @returns how to let it go
 * @throws Error naming the process that uses it
 */
export const lockState = (file: string): (() => void) => {
  const lock = `${file}.lock`
  try {
    return lockDirectory(lock)
  } catch (error) {
    if (!(error instanceof DirectoryLocked)) throw error
    throw new Error(
      `${file} is in use by process ${error.pid}: two monitors of one state would forget what each other saw. If that was on a machine that no longer runs, delete ${lock}.`,
      { cause: error },
    )
  }
}

/** On the disk once this resolves. */
export const writeState = (file: string, state: MonitorState): Promise<void> =>
  writeDurably(file, `${JSON.stringify(state, null, 2)}\n`)
