/** Reads checkpoints that somebody brings back: whether this log signed them, and over which tree. @module */
import { createPublicKey, verify } from 'node:crypto'
import type { Signers } from '../../keys/signers.ts'
import type { Head } from '../tree/log.ts'
import { NOTE_ED25519, signatureLine } from './signed-note.ts'

const ED25519_SIGNATURE_BYTES = 64
const KEY_ID_BYTES = 4
/** A key of RFC 8032, in base64url. */
const ED25519_KEY = /^[\w-]{43}$/

/** Why a note is no checkpoint of this log. */
export type CheckpointFault = 'CHECKPOINT_MALFORMED' | 'CHECKPOINT_UNSIGNED'

/** Text, then the signature lines. */
const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n)\n(?<lines>(?:— [^\n]+\n)+)$/

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

  const isSigned = (text: string, lines: readonly string[], publicKey: Uint8Array): boolean => {
    const named = { name: origin, type: NOTE_ED25519, publicKey } as const
    const empty = signatureLine(named, new Uint8Array())
    const [keyId = ''] = empty.split(' ').slice(-1)
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
      format: 'jwk',
    })
    return lines.some((line) => {
      const [, name, encoded = '', ...more] = line.split(' ')
      const bytes = Buffer.from(encoded, 'base64')
      const fits =
        name === origin && more.length === 0 && bytes.length === KEY_ID_BYTES + ED25519_SIGNATURE_BYTES
      const isOurs = fits && bytes.subarray(0, KEY_ID_BYTES).equals(Buffer.from(keyId, 'base64'))
      return isOurs && verify(null, Buffer.from(text), key, bytes.subarray(KEY_ID_BYTES))
    })
  }

  return {
    async read(note) {
      const { text = '', origin: named, size = '', root = '', lines = '' } = NOTE.exec(note)?.groups ?? {}
      const count = Number(size)
      if (text === '' || named !== origin || !Number.isSafeInteger(count))
        return { fault: 'CHECKPOINT_MALFORMED' }
      const keys = await logKeys()
      const signatures = lines.trimEnd().split('\n')
      if (!keys.some((key) => isSigned(text, signatures, key))) return { fault: 'CHECKPOINT_UNSIGNED' }
      return { size: count, root: Buffer.from(root, 'base64') }
    },
  }
}
