/**
 * The log from outside: entries are in it (RFC 9162 §2.1.3), it only grew (§2.1.4), and its checkpoints (C2SP tlog-checkpoint)
 * are signed by it and by the witnesses that you demand (C2SP tlog-cosignature).
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { createCore } from '../../../../core/index.ts'
import { foldConsistency, foldInclusion } from '../../../../protocol/merkle-proofs.ts'

const HASH = /^[0-9a-f]{64}$/
const KEY_ID_BYTES = 4
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
const PUBLIC_KEY_BYTES = 32
/** Signature types of C2SP signed-note. */
const ED25519 = 0x01
const ED25519_COSIGNATURE = 0x04

const core = createCore()
const encoder = new TextEncoder()

const fromHex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

const concat = (...parts: readonly Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  core.sha256(concat(Uint8Array.of(1), left, right))

/** SHA-256(0x00 ‖ entry), lower-case hex. @param entry canonical JSON, as `GET /api/audit` answers it */
export const leafHash = (entry: string): string =>
  toHex(core.sha256(concat(Uint8Array.of(0), encoder.encode(entry))))

/** Size and root of the log, as a checkpoint has them. */
export interface Tree {
  readonly size: number
  /** Lower-case hex. */
  readonly root: string
}

export interface Inclusion {
  /** Lower-case hex, as all hashes. */
  readonly leafHash: string
  readonly index: number
  /** The audit path for a tree of this size, as `GET /api/audit/inclusion?index&treeSize` answers it. */
  readonly hashes: readonly string[]
}

const areHashes = (...texts: readonly string[]): boolean => texts.every((text) => HASH.test(text))

/** Whether an entry stands in the log at this place. */
export const verifyInclusion = (
  { leafHash: leaf, index, hashes }: Inclusion,
  { size, root }: Tree,
): boolean => {
  if (!areHashes(leaf, root, ...hashes) || !Number.isSafeInteger(index) || !Number.isSafeInteger(size))
    return false
  const reached = foldInclusion(fromHex(leaf), index, size, hashes.map(fromHex), nodeHash)
  return reached !== undefined && toHex(reached) === root
}

/**
 * Whether a log only grew from one checkpoint to another.
 * @param hashes as `GET /api/audit/consistency?from&to` answers them for the two sizes
 */
export const verifyConsistency = (earlier: Tree, later: Tree, hashes: readonly string[]): boolean => {
  if (!areHashes(earlier.root, later.root, ...hashes)) return false
  if (![earlier.size, later.size].every((size) => Number.isSafeInteger(size) && size >= 0)) return false
  if (earlier.size === later.size) return hashes.length === 0 && earlier.root === later.root
  // The empty tree is the beginning of every tree; its root is that of RFC 6962 §2.1.
  if (earlier.size === 0) return hashes.length === 0 && earlier.root === toHex(core.sha256(new Uint8Array()))
  const folded = foldConsistency(
    earlier.size,
    later.size,
    fromHex(earlier.root),
    hashes.map(fromHex),
    nodeHash,
  )
  return folded !== undefined && toHex(folded.earlier) === earlier.root && toHex(folded.later) === later.root
}

export interface ExpectedCheckpoint {
  /** The log's name: the host of the service's BASE_URL, port included. */
  readonly origin: string
  /** Verifier keys of the log, one a line: `GET /checkpoint/keys`, fetched and kept earlier. */
  readonly keys: string
  /** Verifier keys of witnesses that you trust (Ed25519 cosignatures, type 0x04), one a line; a witness may have several. */
  readonly witnesses?: string
  /** How many witnesses, told apart by their names, must have cosigned; default: all. */
  readonly quorum?: number
}

export interface Cosigned {
  readonly name: string
  /** Unix seconds at which the witness saw the checkpoint. */
  readonly time: number
}

export type CheckpointRefusal =
  | 'CHECKPOINT_MALFORMED'
  /** It is that of another log. */
  | 'ORIGIN_MISMATCH'
  /** None of the log's keys signed it. */
  | 'CHECKPOINT_UNSIGNED'
  /** Fewer witnesses cosigned it than the quorum demands. */
  | 'WITNESSES_MISSING'

export type CheckpointVerdict =
  | ({ readonly valid: true; readonly origin: string; readonly witnesses: readonly Cosigned[] } & Tree)
  | { readonly valid: false; readonly reason: CheckpointRefusal }

const NOTE =
  /^(?<text>(?<origin>[^\n]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n)\n(?<lines>(?:— [^\n]+\n)+)$/
const VERIFIER_KEY = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

interface NoteKey {
  readonly name: string
  readonly type: number
  readonly id: string
  readonly publicKey: Uint8Array
}

/** @throws TypeError for a line that is no verifier key, or one of another type where those are refused */
const readKeys = (text: string, type: number, others: 'ignored' | 'refused'): NoteKey[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [, name, id, encoded] = VERIFIER_KEY.exec(line) ?? []
      if (name === undefined || id === undefined || encoded === undefined)
        throw new TypeError(`"${line.slice(0, 80)}" is no verifier key.`)
      const material = fromBase64(encoded)
      if (material[0] !== type && others === 'ignored') return []
      if (material[0] !== type) throw new TypeError(`The verifier key of ${name} is not of type 0x0${type}.`)
      const named = core.sha256(concat(encoder.encode(`${name}\n`), material)).subarray(0, KEY_ID_BYTES)
      if (toHex(named) !== id || material.length !== 1 + PUBLIC_KEY_BYTES)
        throw new TypeError(`The verifier key of ${name} is not that of its key id.`)
      return [{ name, type, id, publicKey: material.subarray(1) }]
    })

/** Keys of witnesses by their names. A key that was left out would lower what is demanded. @throws TypeError as {@link readKeys} */
const readWitnesses = (text: string): ReadonlyMap<string, readonly NoteKey[]> => {
  const witnesses = new Map<string, readonly NoteKey[]>()
  for (const key of readKeys(text, ED25519_COSIGNATURE, 'refused'))
    witnesses.set(key.name, [...(witnesses.get(key.name) ?? []), key])
  return witnesses
}

/** What follows the key id in each line of a note that names a key. */
const signaturesOf = (lines: string, { name, id }: NoteKey): Uint8Array[] =>
  lines.split('\n').flatMap((line) => {
    const [, signer, encoded = '', ...more] = line.split(' ')
    if (signer !== name || more.length > 0 || !BASE64.test(encoded) || encoded.length % 4 !== 0) return []
    const bytes = fromBase64(encoded)
    return toHex(bytes.subarray(0, KEY_ID_BYTES)) === id ? [bytes.subarray(KEY_ID_BYTES)] : []
  })

const isSigned = (text: string, signature: Uint8Array, { publicKey }: NoteKey): boolean =>
  signature.length === SIGNATURE_BYTES &&
  ed25519.verify(signature, encoder.encode(text), publicKey, { zip215: false })

/** When a witness cosigned a text; undefined where it didn't. */
const cosignedAt = (text: string, lines: string, key: NoteKey): number | undefined => {
  for (const bytes of signaturesOf(lines, key)) {
    if (bytes.length !== TIME_BYTES + SIGNATURE_BYTES) continue
    const time = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0))
    if (isSigned(`cosignature/v1\ntime ${time}\n${text}`, bytes.subarray(TIME_BYTES), key)) return time
  }
  return undefined
}

/**
 * Reads a checkpoint, and checks who signed it. Keep it: with the next one and {@link verifyConsistency} it shows that nothing was
 * rewritten. @throws TypeError for keys that are none, RangeError for a quorum that can't be met
 */
export const readCheckpoint = (
  note: string,
  { origin, keys, witnesses = '', quorum }: ExpectedCheckpoint,
): CheckpointVerdict => {
  const refuse = (reason: CheckpointRefusal): CheckpointVerdict => ({ valid: false, reason })
  const trusted = readWitnesses(witnesses)
  const needed = quorum ?? trusted.size
  if (!Number.isInteger(needed) || needed < 0 || needed > trusted.size)
    throw new RangeError(`quorum must be 0 to ${trusted.size}, the number of witnesses.`)
  const { text = '', origin: named, size = '', root = '', lines = '' } = NOTE.exec(note)?.groups ?? {}
  if (text === '' || !Number.isSafeInteger(Number(size))) return refuse('CHECKPOINT_MALFORMED')
  if (named !== origin) return refuse('ORIGIN_MISMATCH')
  const isOurs = readKeys(keys, ED25519, 'ignored').some(
    (key) => key.name === origin && signaturesOf(lines, key).some((bytes) => isSigned(text, bytes, key)),
  )
  if (!isOurs) return refuse('CHECKPOINT_UNSIGNED')
  const cosigned = [...trusted].flatMap(([name, own]) => {
    const time = own.map((key) => cosignedAt(text, lines, key)).find((one) => one !== undefined)
    return time === undefined ? [] : [{ name, time }]
  })
  if (cosigned.length < needed) return refuse('WITNESSES_MISSING')
  return { valid: true, origin, size: Number(size), root: toHex(fromBase64(root)), witnesses: cosigned }
}
