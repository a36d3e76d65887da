/**
 * Keeps a second process out of a directory, of a server's data or of a terminal's journal. The lock is a file that names
 * its owner: process id, the moment that process started (so that a recycled id isn't mistaken for it) and host. It is taken
 * over when the owner is gone.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'

interface Owner {
  readonly pid: number
  /** Whatever tells this run of the process from another one with the same id; empty where that isn't known. */
  readonly started: string
  readonly host: string
  /** Tells two owners inside one process apart. */
  readonly token: string
}

/** Another process uses the directory. */
export class DirectoryLocked extends Error {
  readonly pid: number
  /** Where it runs, if that is another host, which can't be asked whether it still does. */
  readonly elsewhere: string | undefined
  constructor(file: string, owner: Owner, host: string) {
    const elsewhere = owner.host === host ? undefined : owner.host
    const where = elsewhere === undefined ? '' : ` on ${elsewhere}`
    super(
      `The data directory is in use by process ${owner.pid}${where} (${file}). ` +
        'Stop that process, or give this one another DATA_DIR' +
        (where === '' ? '.' : `; if ${owner.host} no longer runs, delete the file.`),
    )
    this.name = 'DirectoryLocked'
    this.pid = owner.pid
    this.elsewhere = elsewhere
  }
}

/** Field 22 of /proc/<pid>/stat counts from the parenthesis that ends the name: proc(5). */
const START_TIME_FIELD = 19

/** When a process started, as an opaque text; empty when there is no such process, or nobody knows. */
const startOf = (pid: number): string => {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_FIELD]
      return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${ticks}`
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  } catch {
    return ''
  }
}

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}

/** @returns undefined when there is no such file; an unreadable one has an owner that can't be alive */
const readOwner = (file: string): Owner | undefined => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
  const gone: Owner = { pid: 0, started: '', host: '', token: '' }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...gone, ...value } : gone
  } catch {
    return gone
  }
}

/** An owner on another host can't be asked, so it counts as alive. */
const isAlive = ({ pid, started, host }: Owner, own: Owner): boolean => {
  if (!(pid > 0)) return false
  if (host !== own.host) return true
  return isRunning(pid) && (started === '' || startOf(pid) === started)
}

/**
 * Creates the file with its whole content, or not at all.
 * @returns false when there is one already
 */
const create = (file: string, owner: Owner): boolean => {
  const draft = `${file}.${owner.token}`
  try {
    writeFileSync(draft, JSON.stringify(owner), { mode: 0o600 })
    linkSync(draft, file)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  } finally {
    // Also what a full disk left of it.
    rmSync(draft, { force: true })
  }
}

/** The file that decides which process takes over from a dead owner; its name is a hash of the token of that owner. */
const successorOf = (file: string, { token }: Owner): string =>
  `${file}.after-${createHash('sha256').update(String(token)).digest('hex').slice(0, 16)}`

/**
 * Replaces the lock of a dead owner, or of one that died while it did this.
 * @returns false when somebody else does, or did
 */
const takeOver = (file: string, dead: Owner, own: Owner): boolean => {
  const abandoned: string[] = []
  let successor = successorOf(file, dead)
  while (!create(successor, own)) {
    const rival = readOwner(successor)
    if (rival === undefined || isAlive(rival, own)) return false
    abandoned.push(successor)
    successor = successorOf(file, rival)
  }
  // Another process renamed its own file and freed this name, so that winning it means nothing any more.
  if (readOwner(file)?.token !== dead.token) {
    rmSync(successor)
    return false
  }
  renameSync(successor, file)
  for (const left of abandoned) rmSync(left, { force: true })
  return true
}

/**
 * Takes the lock.
 * @param file path of the lock file; its directory exists
 * @param host whose processes can be asked whether they live; the same for all that may come upon the file, where it never
 *   leaves its machine
 * @returns how to give the lock back
 * @throws DirectoryLocked when its owner is alive
 */
export const lockDirectory = (file: string, host = hostname()): (() => void) => {
  const own: Owner = {
    pid: process.pid,
    started: startOf(process.pid),
    host,
    token: randomBytes(8).toString('hex'),
  }
  if (!create(file, own)) {
    const owner = readOwner(file)
    if (owner && isAlive(owner, own)) throw new DirectoryLocked(file, owner, host)
    const taken = owner ? takeOver(file, owner, own) : create(file, own)
    if (!taken) throw new DirectoryLocked(file, readOwner(file) ?? own, host)
  }
  return () => {
    if (readOwner(file)?.token === own.token) rmSync(file)
  }
}
