/** Reads checkpoints that somebody brings back: whether this log signed them, and over which tree. @module */
import { isNoteSigned } from '../../keys/note-signatures.ts'
import type { Signers } from '../../keys/signers.ts'
import { NOTE_ED25519, type ReadNote, readNote, signaturesBy } from '../../protocol/checkpoint/note.ts'
import { identified } from '../../protocol/checkpoint/signed-note.ts'
import type { Head } from '../tree/log.ts'

/** A key of RFC 8032, in base64url. */
const ED25519_KEY = /^[\w-]{43}$/

/** Why a note is no checkpoint of this log. */
export type CheckpointFault = 'CHECKPOINT_MALFORMED' | 'CHECKPOINT_UNSIGNED'

interface Reader {
  /** @param note C2SP signed-note; @returns size and root, or what is wrong */
  read(note: string): Promise<Head | { readonly fault: CheckpointFault }>
}

/** @param origin the log's name @param signers its keys, current and replaced */
export const createCheckpointReader = (
  origin: string,
  signers: Pick<Signers, 'jwks' | 'publicKey'>,
): Reader => {
  /** Ed25519 keys of the log; others are for other things, whatever they have signed. */
  const logKeys = async (): Promise<Uint8Array[]> => {
    const { keys } = await signers.jwks()
    const own = await Promise.all(keys.map(({ kid }) => signers.publicKey('log', 'Ed25519', kid)))
    return own.flatMap((jwk) => (jwk?.x && ED25519_KEY.test(jwk.x) ? [Buffer.from(jwk.x, 'base64url')] : []))
  }

  const isSigned = (note: ReadNote, publicKey: Uint8Array): boolean =>
    signaturesBy(note, identified({ name: origin, type: NOTE_ED25519, publicKey })).some(isNoteSigned)

  return {
    async read(text) {
      const note = readNote(text)
      if (note === undefined || note.origin !== origin) return { fault: 'CHECKPOINT_MALFORMED' }
      const keys = await logKeys()
      if (!keys.some((key) => isSigned(note, key))) return { fault: 'CHECKPOINT_UNSIGNED' }
      return { size: note.size, root: note.root }
    },
  }
}
