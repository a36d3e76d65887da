/** Signed checkpoints of a log (C2SP tlog-checkpoint), their Ed25519 signature checked with what the browser has. @module */
import {
  hexOf,
  KEY_ID_BYTES,
  keyIdInput,
  NOTE_ED25519,
  readNote,
  readVerifierKey,
  signaturesBy,
  type VerifierKey,
} from '../../protocol/checkpoint/note.ts'
import type { Bytes, PageCrypto } from '../crypto/page-crypto.ts'

/** What a log vouches for. */
export interface Tree {
  readonly size: number
  /** Lower-case hex. */
  readonly root: string
}

/** The keys of this name whose id is theirs. @param keys verifier keys, one a line */
export const keysOf = async (name: string, keys: string, crypto: PageCrypto): Promise<VerifierKey[]> => {
  const own: VerifierKey[] = []
  for (const line of keys.split('\n')) {
    const key = readVerifierKey(line)
    if (key === undefined || key.name !== name) continue
    const id = (await crypto.sha256(keyIdInput(key))).subarray(0, KEY_ID_BYTES)
    if (hexOf(id) === key.id) own.push(key)
  }
  return own
}

/** @returns the name of the log that a checkpoint says it is of; undefined when it can't be read */
export const nameIn = (note: string): string | undefined => readNote(note)?.origin

/** @param keys verifier keys, one a line @param name of the log @returns the tree that the log vouches for, or what is wrong */
export const readCheckpoint = async (
  text: string,
  keys: string,
  name: string,
  crypto: PageCrypto,
): Promise<Tree | string> => {
  const note = readNote(text)
  if (note === undefined) return 'The checkpoint can’t be read.'
  if (note.origin !== name) return `The checkpoint is that of another log, ${note.origin}.`
  for (const key of await keysOf(name, keys, crypto))
    for (const { message, signature } of key.type === NOTE_ED25519 ? signaturesBy(note, key) : [])
      if (await crypto.verifyEd25519(key.publicKey as Bytes, message, signature))
        return { size: note.size, root: hexOf(note.root) }
  return 'The checkpoint is not signed by the log.'
}
