/**
 * Checkpoints as bytes: the note of C2SP tlog-checkpoint, its Ed25519 signature line (C2SP signed-note, type 0x01) and
 * its ML-DSA-44 cosignature line (C2SP tlog-cosignature, type 0x06), which signs a message of its own.
 * @module
 */
import { createHash } from 'node:crypto'

/** Signature types of C2SP signed-note. */
export const NOTE_ED25519 = 0x01
export const NOTE_ML_DSA_44_COSIGNATURE = 0x06

const KEY_ID_BYTES = 4
const COSIGNED_LABEL = 'subtree/v1\n\0'

/** Name, type and public key of whoever signs a note. */
export interface NoteKey {
  /** The log's origin: a schema-less URL without spaces or plus signs. */
  readonly name: string
  readonly type: typeof NOTE_ED25519 | typeof NOTE_ML_DSA_44_COSIGNATURE
  /** 32 bytes for Ed25519, 1,312 for ML-DSA-44. */
  readonly publicKey: Uint8Array
}

/** SHA-256(name ‖ 0x0A ‖ type ‖ public key), its first four bytes. */
const keyIdOf = ({ name, type, publicKey }: NoteKey): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(publicKey)
    .digest()
    .subarray(0, KEY_ID_BYTES)

/** A verifier key: `<name>+<key id>+<base64 of type and public key>`, as tools of the ecosystem take it. */
export const verifierKey = (key: NoteKey): string => {
  const material = Buffer.concat([Buffer.of(key.type), key.publicKey])
  return `${key.name}+${keyIdOf(key).toString('hex')}+${material.toString('base64')}`
}

/** One line below a note. @param signature what the type says it holds */
export const signatureLine = (key: NoteKey, signature: Uint8Array): string =>
  `\u2014 ${key.name} ${Buffer.concat([keyIdOf(key), signature]).toString('base64')}\n`

/** Text of a checkpoint without signatures: origin, size and root, a line each. */
export const checkpointText = (origin: string, size: number, root: Uint8Array): string =>
  `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`

const uint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** opaque<1..2^8-1>: one byte of length, then the bytes. @throws RangeError when it does not fit */
const opaque = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  if (bytes.length < 1 || bytes.length > 255) throw new RangeError(`"${text}" has no place in a cosignature.`)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** What an ML-DSA-44 cosignature of a whole checkpoint signs: `cosigned_message` of C2SP tlog-cosignature. */
export const cosignedMessage = (statement: {
  readonly cosigner: string
  readonly origin: string
  /** POSIX seconds. */
  readonly timestamp: number
  readonly size: number
  readonly root: Uint8Array
}): Buffer =>
  Buffer.concat([
    Buffer.from(COSIGNED_LABEL),
    opaque(statement.cosigner),
    uint64(statement.timestamp),
    opaque(statement.origin),
    uint64(0),
    uint64(statement.size),
    statement.root,
  ])

/** `timestamped_signature` of C2SP tlog-cosignature. @param timestamp POSIX seconds */
export const timestampedSignature = (timestamp: number, signature: Uint8Array): Buffer =>
  Buffer.concat([uint64(timestamp), signature])
