/**
 * A lock file: one living process per directory. It names process and start time, so that neither a crash nor a
 * recycled process id locks anybody out.
 * @module
 */
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { TerminalError } from '../errors.ts'

/** Field 22 of /proc/<pid>/stat (proc_pid_stat(5)): start of the process in clock ticks. Empty where there is no /proc. */
const startOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name in parentheses may itself hold spaces and parentheses; field 3 follows the last one.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

const isErrno = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** `pid start nonce` of a lock file whose process is gone? */
const isStale = (content: string): boolean => {
  const [pid = '', start = ''] = content.trim().split(' ')
  if (!/^\d+$/.test(pid)) return true
  if (!isAlive(Number(pid))) return true
  return start !== '-' && startOf(Number(pid)) !== start
}

const tryLink = (draft: string, file: string): boolean => {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

const TAKEOVER_ATTEMPTS = 5

/** The file that decides which process takes over from a dead one; its name is a hash of the lock that one left. */
const successorOf = (file: string, dead: string): string =>
  `${file}.${createHash('sha256').update(dead).digest('hex').slice(0, 16)}`

/**
 * Replaces the lock of a dead process, or of one that died while it did this.
 * @returns false when somebody else does, or did
 */
const takeOver = (draft: string, file: string, dead: string): boolean => {
  const abandoned: string[] = []
  let successor = successorOf(file, dead)
  while (!tryLink(draft, successor)) {
    const rival = readIfThere(successor)
    if (rival === undefined || !isStale(rival)) return false
    abandoned.push(successor)
    successor = successorOf(file, rival)
  }
  // Another process renamed its own file and freed this name, so that winning it means nothing any more.
  if (readIfThere(file) !== dead) {
    rmSync(successor)
    return false
  }
  renameSync(successor, file)
  for (const left of abandoned) rmSync(left, { force: true })
  return true
}

/**
 * Takes the lock, also from a process that died with it.
 * @param file path of the lock file; its directory exists
 * @returns a function that gives it back
 * @throws TerminalError storage_locked while a living process holds it
 */
export const takeLock = (file: string): (() => void) => {
  const own = `${process.pid} ${startOf(process.pid) || '-'} ${randomBytes(8).toString('hex')}\n`
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  const giveBack = (): void => {
    if (readIfThere(file) === own) rmSync(file, { force: true })
  }
  // The content must be there at the moment the name is, so the file is written first and linked then.
  writeFileSync(draft, own, { flag: 'wx', mode: 0o600 })
  try {
    for (let attempt = 0; attempt < TAKEOVER_ATTEMPTS; attempt++) {
      if (tryLink(draft, file)) return giveBack
      const holder = readIfThere(file)
      if (holder === undefined) continue
      if (!isStale(holder)) {
        throw new TerminalError(
          'storage_locked',
          `Process ${holder.split(' ')[0]} uses this terminal's storage (${file}). Only one may.`,
        )
      }
      if (takeOver(draft, file, holder)) return giveBack
    }
    throw new TerminalError('storage_locked', `Several processes want this terminal's storage (${file}).`)
  } finally {
    rmSync(draft, { force: true })
  }
}
