/**
 * Checkpoints as text (C2SP tlog-checkpoint: a signed note of origin, size and root) and verifier keys, taken apart. Nothing is hashed and no
 * signature checked here, so that pages without WebAssembly read them too.
 * @module
 */

/** Signature types of C2SP signed-note and tlog-cosignature. */
export const NOTE_ED25519 = 0x01
export const NOTE_ED25519_COSIGNATURE = 0x04
export const NOTE_ML_DSA_44_COSIGNATURE = 0x06

export const KEY_ID_BYTES = 4
const TIME_BYTES = 8
const COSIGNED_LABEL = 'subtree/v1\n\0'
const MAX_OPAQUE_BYTES = 255

/** Bytes of public keys and signatures, by type. */
const SIZES: ReadonlyMap<number, { readonly key: number; readonly signature: number }> = new Map([
  [NOTE_ED25519, { key: 32, signature: 64 }],
  [NOTE_ED25519_COSIGNATURE, { key: 32, signature: 64 }],
  [NOTE_ML_DSA_44_COSIGNATURE, { key: 1312, signature: 2420 }],
])

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

export const concat = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Lower-case hex. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Of an even number of digits. */
export const fromHex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))

/** @returns undefined for what is not base64 (RFC 4648 §4) */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0
    ? Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    : undefined

/** Name, type and public key of whoever signs a note. */
export interface NoteKey {
  /** Of a log its origin: a schema-less URL without spaces or plus signs. */
  readonly name: string
  /** One of those above, or one that is not known here. */
  readonly type: number
  /** 32 bytes for Ed25519, 1,312 for ML-DSA-44. */
  readonly publicKey: Uint8Array
}

/** A key with what names it in signature lines. */
export interface VerifierKey extends NoteKey {
  /** Four bytes, lower-case hex: the first of the SHA-256 of {@link keyIdInput}. */
  readonly id: string
}

/** name ‖ 0x0A ‖ type ‖ public key */
export const keyIdInput = ({ name, type, publicKey }: NoteKey): Uint8Array<ArrayBuffer> =>
  concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey)

const VERIFIER_KEY = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/

/**
 * `<name>+<key id>+<base64 of type and public key>`. That the id is that of the key is for the caller to say, who can hash.
 * @returns undefined for what is none, or has another length than its type
 */
export const readVerifierKey = (text: string): VerifierKey | undefined => {
  const [, name, id, encoded] = VERIFIER_KEY.exec(text) ?? []
  const bytes = encoded === undefined ? undefined : fromBase64(encoded)
  const type = bytes?.[0]
  if (name === undefined || id === undefined || bytes === undefined || type === undefined) return undefined
  const publicKey = bytes.subarray(1)
  const isSized = publicKey.length === (SIZES.get(type)?.key ?? publicKey.length)
  return isSized ? { name, id, type, publicKey } : undefined
}

/** Text, which some logs end with lines of their own (tlog-checkpoint calls them extension lines), then the signature lines. */
const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*)\n(?<lines>(?:— [^\n]+\n)+)$/

/** A checkpoint taken apart; none of its signatures was looked at. */
export interface ReadNote {
  /** What Ed25519 signatures are over. */
  readonly text: string
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** In their order. */
  readonly signers: readonly string[]
  /** What lines of this name and key id hold behind the id. */
  signaturesOf(key: Pick<VerifierKey, 'name' | 'id'>): readonly Uint8Array<ArrayBuffer>[]
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
    signaturesOf: (key) =>
      read.flatMap(({ name, bytes }) =>
        name === key.name && bytes !== undefined && hexOf(bytes.subarray(0, KEY_ID_BYTES)) === key.id
          ? [bytes.subarray(KEY_ID_BYTES)]
          : [],
      ),
  }
}

const uint64 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(TIME_BYTES)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

/** opaque<1..2^8-1>: one byte of length, then the bytes. @throws RangeError when it does not fit */
const opaque = (text: string): Uint8Array => {
  const bytes = utf8(text)
  if (bytes.length < 1 || bytes.length > MAX_OPAQUE_BYTES)
    throw new RangeError(`"${text}" has no place in a cosignature.`)
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
}): Uint8Array<ArrayBuffer> =>
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

/** A signature that a checkpoint says to have. Nobody has checked it. */
export interface NoteSignature {
  readonly key: VerifierKey
  /** POSIX seconds at which it was made, as a cosignature says; undefined for those of type 0x01. */
  readonly time: number | undefined
  /** What it must be over. */
  readonly message: Uint8Array<ArrayBuffer>
  /** As long as those of its type. */
  readonly signature: Uint8Array<ArrayBuffer>
}

const cosigned = (
  { text, origin, size, root }: ReadNote,
  { name, type }: VerifierKey,
  timestamp: number,
): Uint8Array<ArrayBuffer> | undefined => {
  if (type === NOTE_ED25519_COSIGNATURE) return concat(utf8(`cosignature/v1\ntime ${timestamp}\n${text}`))
  const isShort = [name, origin].every((one) => utf8(one).length <= MAX_OPAQUE_BYTES)
  return isShort ? cosignedMessage({ cosigner: name, origin, timestamp, size, root }) : undefined
}

/** What a note says to have of a key, by its type. Of a type that is not known here it has nothing. */
export const signaturesBy = (note: ReadNote, key: VerifierKey): readonly NoteSignature[] => {
  const length = SIZES.get(key.type)?.signature
  if (length === undefined) return []
  return note.signaturesOf(key).flatMap((bytes): NoteSignature[] => {
    if (key.type === NOTE_ED25519)
      return bytes.length === length
        ? [{ key, time: undefined, message: concat(utf8(note.text)), signature: bytes }]
        : []
    if (bytes.length !== TIME_BYTES + length) return []
    const time = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0))
    const message = Number.isSafeInteger(time) ? cosigned(note, key, time) : undefined
    return message === undefined ? [] : [{ key, time, message, signature: bytes.subarray(TIME_BYTES) }]
  })
}
