/** Secrets that are kept in DATA_DIR. @module */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from './config-values.ts'

/** DATA_DIR with this value keeps nothing on disk. */
export const MEMORY_DATA_DIR = 'memory'

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Reads a secret kept in DATA_DIR. @returns undefined where there is none, or where nothing is kept */
export const readSecret = (dataDir: string, name: string): string | undefined => {
  if (dataDir === MEMORY_DATA_DIR) return undefined
  try {
    return readFileSync(join(dataDir, name), 'utf8').trim() || undefined
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw new ConfigError('DATA_DIR', `holds an unreadable ${name}: ${String(error)}`)
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
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
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
    throw new ConfigError('DATA_DIR', `must be a directory that can be written to: ${String(error)}`)
  }
  const kept = readSecret(dataDir, name)
  if (kept === undefined)
    throw new ConfigError('DATA_DIR', `holds an empty ${name}; restore it, or remove it`)
  return kept
}
