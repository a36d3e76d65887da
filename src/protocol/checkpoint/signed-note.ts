/** Keys of checkpoints and the lines that they write (C2SP signed-note). Runs in browsers too. @module */
import { createCore } from '../../core/index.ts'
import {
  concat,
  hexOf,
  KEY_ID_BYTES,
  keyIdInput,
  type NoteKey,
  readVerifierKey,
  type VerifierKey,
} from './note.ts'

const core = createCore()

export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const keyIdOf = (key: NoteKey): Uint8Array => core.sha256(keyIdInput(key)).subarray(0, KEY_ID_BYTES)

/** The key with its id. */
export const identified = (key: NoteKey): VerifierKey => ({ ...key, id: hexOf(keyIdOf(key)) })

/** Reads a verifier key whose id is that of its key. @returns undefined for what is none */
export const checkedVerifierKey = (text: string): VerifierKey | undefined => {
  const key = readVerifierKey(text)
  return key !== undefined && identified(key).id === key.id ? key : undefined
}

/** A verifier key: `<name>+<key id>+<base64 of type and public key>`, as tools of the ecosystem take it. */
export const verifierKey = (key: NoteKey): string =>
  `${key.name}+${hexOf(keyIdOf(key))}+${toBase64(concat(Uint8Array.of(key.type), key.publicKey))}`

/** One line below a note. @param signature what the type says it holds */
export const signatureLine = (key: NoteKey, signature: Uint8Array): string =>
  `\u2014 ${key.name} ${toBase64(concat(keyIdOf(key), signature))}\n`

/** Text of a checkpoint without signatures: origin, size and root, a line each. */
export const checkpointText = (origin: string, size: number, root: Uint8Array): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`
