/**
 * Checkpoints as bytes: the note of C2SP tlog-checkpoint, its Ed25519 signature line (C2SP signed-note, type 0x01) and
 * its ML-DSA-44 cosignature line (C2SP tlog-cosignature, type 0x06), which signs a message of its own. Runs in browsers too.
 * @module
 */
import { createCore } from '../../core/index.ts'

/** Signature types of C2SP signed-note. */
export const NOTE_ED25519 = 0x01
export const NOTE_ML_DSA_44_COSIGNATURE = 0x06

const KEY_ID_BYTES = 4
const TIME_BYTES = 8
const COSIGNED_LABEL = 'subtree/v1\n\0'

const core = createCore()
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
/** For what is short: no note has much. */
const concat = (...parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]))
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
/** Lower-case hex. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
/** @returns undefined for what is not base64 */
const fromBase64 = (text: string): Uint8Array | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0
    ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    : undefined

/** Name, type and public key of whoever signs a note. */
export interface NoteKey {
  /** The log's origin: a schema-less URL without spaces or plus signs. */
  readonly name: string
  readonly type: typeof NOTE_ED25519 | typeof NOTE_ML_DSA_44_COSIGNATURE
  /** 32 bytes for Ed25519, 1,312 for ML-DSA-44. */
  readonly publicKey: Uint8Array
}

/** SHA-256(name ‖ 0x0A ‖ type ‖ public key), its first four bytes. */
const keyIdOf = ({ name, type, publicKey }: NoteKey): Uint8Array =>
  core.sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey)).subarray(0, KEY_ID_BYTES)

/** A verifier key: `<name>+<key id>+<base64 of type and public key>`, as tools of the ecosystem take it. */
export const verifierKey = (key: NoteKey): string =>
  `${key.name}+${hexOf(keyIdOf(key))}+${toBase64(concat(Uint8Array.of(key.type), key.publicKey))}`

/** One line below a note. @param signature what the type says it holds */
export const signatureLine = (key: NoteKey, signature: Uint8Array): string =>
  `\u2014 ${key.name} ${toBase64(concat(keyIdOf(key), signature))}\n`

/** Text of a checkpoint without signatures: origin, size and root, a line each. */
export const checkpointText = (origin: string, size: number, root: Uint8Array): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`

const uint64 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(TIME_BYTES)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

/** opaque<1..2^8-1>: one byte of length, then the bytes. @throws RangeError when it does not fit */
const opaque = (text: string): Uint8Array => {
  const bytes = utf8(text)
  if (bytes.length < 1 || bytes.length > 255) throw new RangeError(`"${text}" has no place in a cosignature.`)
  return concat(Uint8Array.of(bytes.length), bytes)
}

/** What an ML-DSA-44 cosignature of a whole checkpoint signs: `cosigned_message` of C2SP tlog-cosignature. */
export const cosignedMessage = (statement: {
  readonly cosigner: string
  readonly origin: string
  /** POSIX seconds. */
  readonly timestamp: number
  readonly size: number
  readonly root: Uint8Array
}): Uint8Array =>
  concat(
    utf8(COSIGNED_LABEL),
    opaque(statement.cosigner),
    uint64(statement.timestamp),
    opaque(statement.origin),
    uint64(0),
    uint64(statement.size),
    statement.root,
  )

/** `timestamped_signature` of C2SP tlog-cosignature. @param timestamp POSIX seconds */
export const timestampedSignature = (timestamp: number, signature: Uint8Array): Uint8Array =>
  concat(uint64(timestamp), signature)

/** The two parts of it; undefined where there can't be. */
export const readTimestampedSignature = (
  bytes: Uint8Array,
): { readonly timestamp: number; readonly signature: Uint8Array } | undefined => {
  if (bytes.length <= TIME_BYTES) return undefined
  const timestamp = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0))
  return Number.isSafeInteger(timestamp) ? { timestamp, signature: bytes.subarray(TIME_BYTES) } : undefined
}

/** Text, then the signature lines. */
const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n)\n(?<lines>(?:— [^\n]+\n)+)$/

/** A checkpoint taken apart; none of its signatures was looked at. */
export interface ReadNote {
  /** What Ed25519 signatures are over. */
  readonly text: string
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** In their order. */
  readonly signers: readonly string[]
  /** What lines of this name and key hold behind the key's id. */
  signaturesOf(key: NoteKey): readonly Uint8Array[]
}

/** @returns undefined for what is no checkpoint */
export const readNote = (note: string): ReadNote | undefined => {
  const { text, origin, size, root, lines } = NOTE.exec(note)?.groups ?? {}
  const rootBytes = root === undefined ? undefined : fromBase64(root)
  if (text === undefined || origin === undefined || lines === undefined || rootBytes === undefined)
    return undefined
  if (!Number.isSafeInteger(Number(size))) return undefined
  const read = lines
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, name = '', encoded = '', ...more] = line.split(' ')
      return { name, bytes: more.length === 0 ? fromBase64(encoded) : undefined }
    })
  return {
    text,
    origin,
    size: Number(size),
    root: rootBytes,
    signers: read.map(({ name }) => name),
    signaturesOf(key) {
      const id = hexOf(keyIdOf(key))
      return read.flatMap(({ name, bytes }) =>
        name === key.name && bytes !== undefined && hexOf(bytes.subarray(0, KEY_ID_BYTES)) === id
          ? [bytes.subarray(KEY_ID_BYTES)]
          : [],
      )
    },
  }
}
