/**
 * What a witness keeps in its directory: its keys, the largest tree of each log that it has seen, and what it refused. Nothing here may ever
 * come back from a backup: a witness that forgot what it saw would cosign a fork.
 * @module
 */
import { hash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  type Cosigner,
  type CosignerSecrets,
  createCosigners,
  generateCosignerSecrets,
} from '../../keys/note-signatures.ts'
import { hexOf } from '../../protocol/checkpoint/note.ts'
import type { TreeHead } from '../../protocol/merkle-proofs.ts'
import { DirectoryLocked, lockDirectory } from '../../store/directory-lock.ts'
import { readIfThere, syncDirectory, writeDurably } from '../../store/durable-file.ts'

const KEYS_FILE = 'keys.json'
const LOCK_FILE = 'witness.lock'
/** Checkpoints of one log and one kind that were refused though it had signed them: proof against it, so they are kept. */
const MAX_REFUSED_KEPT = 16
/**
 * How a signed checkpoint contradicts what was seen: with another `root` at the same size, or with no `proof` that its larger tree goes on. The
 * second kind anybody can send, who puts a wrong proof before a checkpoint of the log: it takes no place of the first.
 */
export type Contradiction = 'root' | 'proof'
const SEEN = /^(?<origin>[^\n]+)\n(?<size>\d{1,16})\n(?<root>[0-9a-f]{64})\n$/

export interface WitnessState {
  readonly cosigners: readonly Cosigner[]
  /** The largest tree that was seen of a log; undefined for none. @throws Error for a file that is damaged */
  seen(origin: string): Promise<TreeHead | undefined>
  /** On the disk once this resolves. */
  remember(origin: string, head: TreeHead): Promise<void>
  /** The checkpoint that was cosigned last, with the cosignatures. @param originHash SHA-256 of the origin, lower-case hex */
  published(originHash: string): Promise<string | undefined>
  publish(origin: string, note: string): Promise<void>
  /**
   * Keeps a request that shows how a log contradicts itself: of each log and kind the first 16, each checkpoint once. On the disk once this
   * resolves. @param text of the checkpoint, without signatures
   */
  keepRefused(origin: string, kind: Contradiction, text: string, request: string): Promise<void>
  /** Lets another process use the directory. */
  release(): void
}

const hashOf = (text: string): string => hash('sha256', text, 'hex')

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

interface KeptKeys {
  readonly name: string
  readonly ed25519: string
  readonly mlDsa44: string
}

const makeKeys = async (file: string, name: string): Promise<CosignerSecrets> => {
  const made = generateCosignerSecrets()
  const kept: KeptKeys = { name, ed25519: toBase64(made.ed25519), mlDsa44: toBase64(made.mlDsa44) }
  await writeDurably(file, `${JSON.stringify(kept, null, 2)}\n`)
  return made
}

/** @throws Error for a file that holds no keys, or those of another name */
const openKeys = async (directory: string, name: string): Promise<readonly Cosigner[]> => {
  const file = join(directory, KEYS_FILE)
  const text = await readIfThere(file)
  if (text === undefined) return createCosigners(name, await makeKeys(file, name))
  const kept = JSON.parse(text) as KeptKeys
  if (kept.name !== name)
    throw new Error(`${file} has the keys of ${kept.name}: a witness keeps its name for as long as its keys.`)
  return createCosigners(name, {
    ed25519: Buffer.from(kept.ed25519, 'base64'),
    mlDsa44: Buffer.from(kept.mlDsa44, 'base64'),
  })
}

const takeLock = (directory: string): (() => void) => {
  try {
    return lockDirectory(join(directory, LOCK_FILE))
  } catch (error) {
    if (!(error instanceof DirectoryLocked)) throw error
    throw new Error(
      `${directory} is in use by process ${error.pid}: two witnesses of one directory would not know of each other.`,
      { cause: error },
    )
  }
}

/**
 * Opens the directory of a witness, and makes it and its keys where there are none.
 * @throws Error when another process uses it, or its keys are of another name
 */
export const openWitnessState = async (directory: string, name: string): Promise<WitnessState> => {
  const [logs, refused] = [join(directory, 'logs'), join(directory, 'refused')]
  for (const folder of [directory, logs, refused]) await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const folder of [dirname(resolve(directory)), directory]) await syncDirectory(folder)
  const release = takeLock(directory)
  try {
    const cosigners = await openKeys(directory, name)
    const seenFile = (origin: string): string => join(logs, `${hashOf(origin)}.seen`)
    const noteFile = (originHash: string): string => join(logs, `${originHash}.checkpoint`)
    return {
      cosigners,
      async seen(origin) {
        const text = await readIfThere(seenFile(origin))
        if (text === undefined) return undefined
        const read = SEEN.exec(text)?.groups
        if (read?.root === undefined || read.origin !== origin)
          throw new Error(`${seenFile(origin)} is damaged.`)
        return { size: Number(read.size), root: Buffer.from(read.root, 'hex') }
      },
      remember: (origin, { size, root }) =>
        writeDurably(seenFile(origin), `${origin}\n${size}\n${hexOf(root)}\n`),
      published: (originHash) => readIfThere(noteFile(originHash)),
      publish: (origin, note) => writeDurably(noteFile(hashOf(origin)), note),
      async keepRefused(origin, kind, text, request) {
        const start = `${hashOf(origin)}.${kind}.`
        const name = start + hashOf(text)
        const kept = (await readdir(refused)).filter((file) => file.startsWith(start))
        if (!kept.includes(name) && kept.length < MAX_REFUSED_KEPT)
          await writeDurably(join(refused, name), request)
      },
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}
