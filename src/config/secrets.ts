/** Secrets that are kept in DATA_DIR. @module */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from './config-error.ts'

/** DATA_DIR with this value keeps nothing on disk. */
export const MEMORY_DATA_DIR = 'memory'

const badDirectory = (rule: string): ConfigError => new ConfigError({ variable: 'DATA_DIR', rule })

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Reads a secret kept in DATA_DIR. @returns undefined where there is none, or where nothing is kept */
export const readSecret = (dataDir: string, name: string): string | undefined => {
  if (dataDir === MEMORY_DATA_DIR) return undefined
  try {
    return readFileSync(join(dataDir, name), 'utf8').trim() || undefined
  } catch (error) {
    // Not a directory: there is no secret in it, and nothing can be kept there, which is said when that is tried.
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined
    throw badDirectory(`holds an unreadable ${name}: ${String(error)}`)
  }
}

/**
 * Makes DATA_DIR where it is missing, one directory after the other: Node's own recursive way never ends where the
 * system says that there is no such place, as below /proc.
 * @throws ConfigError when it can't be made or written to
 */
export const makeDataDirectory = (dataDir: string): void => {
  if (dataDir === MEMORY_DATA_DIR) return
  try {
    const missing: string[] = []
    for (let path = resolve(dataDir); !existsSync(path); path = dirname(path)) missing.unshift(path)
    for (const path of missing) mkdirSync(path, { mode: 0o700 })
    accessSync(dataDir, constants.W_OK | constants.X_OK)
    if (!statSync(dataDir).isDirectory()) throw new Error('it is a file')
  } catch (error) {
    throw badDirectory(`must be a directory that can be written to: ${String(error)}`)
  }
}

/** Makes the names in a directory survive a power cut: what is sealed under a lost key is lost with it. */
const keepEntry = (directory: string): void => {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Keeps a secret in DATA_DIR, mode 0600. The first writer wins: the file appears with its whole content or not at all.
 * @returns the secret that is kept now, which is another's if another process was first
 * @throws ConfigError when DATA_DIR can't be written to, or holds an empty file of that name
 */
export const keepSecret = (dataDir: string, name: string, secret: string): string => {
  if (dataDir === MEMORY_DATA_DIR) return secret
  const file = join(dataDir, name)
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    makeDataDirectory(dataDir)
    writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(draft, 0o600)
    try {
      linkSync(draft, file)
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    } finally {
      rmSync(draft)
    }
    keepEntry(dataDir)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw badDirectory(`must be a directory that can be written to: ${String(error)}`)
  }
  const kept = readSecret(dataDir, name)
  if (kept === undefined) throw badDirectory(`holds an empty ${name}; restore it, or remove it`)
  return kept
}
