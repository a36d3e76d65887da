/**
 * The journal, to the byte. A frame is what one durable write carries: the records of all payments that waited for it.
 *
 * | offset | bytes | |
 * |---|---|---|
 * | 0 | 4 | `AJF1` |
 * | 4 | 4 | sequence number from 0, u32 LE: a lost or repeated frame is seen |
 * | 8 | 4 | length of the payload, u32 LE |
 * | 12 | 4 | CRC-32 (ISO 3309) over bytes 4..12 and the payload, u32 LE |
 * | 16 | | payload: one byte of kind, then JSON records in UTF-8 (1) or a snapshot of the nullifier set (2) |
 *
 * The first frame names the terminal, so a journal is never without one. It also says with how many frames it was written: what a
 * rewrite made stands there whole, so that of these none is a write that was cut short.
 * @module
 */
import { isObject } from '../../protocol/json-object.ts'
import { STORED_BYTES } from '../../protocol/payment-proof.ts'
import { TerminalError } from '../errors.ts'
import type { Contents, JournalRecord } from './records.ts'

const MAGIC = 0x31464a41
const HEADER_BYTES = 16
const CHECKED_FROM = 4
const CRC_AT = 12
const KIND_RECORDS = 1
const KIND_NULLIFIERS = 2
/** Kind of what the first frame says beside its records: how many frames were written at once, itself included. */
const WRITTEN = 'written'

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})

/** Carries a CRC-32 (ISO 3309, not yet inverted) on over more bytes. */
const crc32 = (before: number, bytes: Uint8Array): number => {
  let crc = before
  for (let i = 0; i < bytes.length; i++) {
    crc = (CRC_TABLE[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8)
  }
  return crc
}

const checksum = (frame: Uint8Array): number =>
  ~crc32(crc32(-1, frame.subarray(CHECKED_FROM, CRC_AT)), frame.subarray(HEADER_BYTES)) >>> 0

const seal = (frame: Uint8Array, sequence: number, kind: number): Uint8Array => {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  view.setUint32(0, MAGIC, true)
  view.setUint32(4, sequence, true)
  view.setUint32(8, frame.length - HEADER_BYTES, true)
  frame[HEADER_BYTES] = kind
  view.setUint32(CRC_AT, checksum(frame), true)
  return frame
}

const jsonFrame = (sequence: number, records: readonly object[]): Uint8Array => {
  const json = new TextEncoder().encode(JSON.stringify(records))
  const frame = new Uint8Array(HEADER_BYTES + 1 + json.length)
  frame.set(json, HEADER_BYTES + 1)
  return seal(frame, sequence, KIND_RECORDS)
}

/** A frame of records. @param sequence number of frames before it */
export const recordsFrame = (sequence: number, records: readonly JournalRecord[]): Uint8Array =>
  jsonFrame(sequence, records)

/** The frame with which a journal begins. @param frames how many are written at once, this one included */
export const firstFrame = (records: readonly JournalRecord[], frames: number): Uint8Array =>
  jsonFrame(0, [{ kind: WRITTEN, frames }, ...records])

/** A frame that holds a snapshot of the nullifier set. */
export const nullifiersFrame = (sequence: number, snapshot: Uint8Array): Uint8Array => {
  const frame = new Uint8Array(HEADER_BYTES + 1 + snapshot.length)
  frame.set(snapshot, HEADER_BYTES + 1)
  return seal(frame, sequence, KIND_NULLIFIERS)
}

/** No frame that holds a payment is shorter. */
const LEAST_PAYMENT_BYTES = recordsFrame(0, [
  {
    kind: 'payment',
    transactionId: '',
    proof: ''.padEnd(Math.ceil((STORED_BYTES * 4) / 3)),
    amount: 1,
    currency: 'GBP',
    timestamp: 0,
    ownId: true,
  },
]).length

/** What one frame says. */
interface Frame {
  readonly sequence: number
  /** Offset behind it. */
  readonly end: number
  readonly nullifiers?: Uint8Array
  readonly records: readonly JournalRecord[]
  /** How many frames were written at once; absent in others than the first, and in journals of earlier versions. */
  readonly written?: number
}

interface Written {
  readonly kind: typeof WRITTEN
  readonly frames?: unknown
}

/** What a payload says; undefined where nobody here wrote it. */
const readRecords = (payload: Uint8Array): Pick<Frame, 'records' | 'written'> | undefined => {
  let records: unknown
  try {
    records = JSON.parse(new TextDecoder().decode(payload))
  } catch {
    return undefined
  }
  const isRecord = (one: unknown): boolean => isObject(one) && typeof one.kind === 'string'
  if (!Array.isArray(records) || !records.every(isRecord)) return undefined
  const all = records as readonly (JournalRecord | Written)[]
  const frames = all.find((one) => one.kind === WRITTEN)?.frames
  return {
    records: all.filter((one) => one.kind !== WRITTEN),
    ...(Number.isSafeInteger(frames) && { written: Number(frames) }),
  }
}

/** The frame at `offset`, or undefined when what stands there is none or is not whole. */
const readFrame = (bytes: Uint8Array, offset: number): Frame | undefined => {
  if (offset + HEADER_BYTES >= bytes.length) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, HEADER_BYTES)
  const end = offset + HEADER_BYTES + view.getUint32(8, true)
  if (view.getUint32(0, true) !== MAGIC || end > bytes.length || end <= offset + HEADER_BYTES)
    return undefined
  if (checksum(bytes.subarray(offset, end)) !== view.getUint32(CRC_AT, true)) return undefined
  const sequence = view.getUint32(4, true)
  const kind = bytes[offset + HEADER_BYTES]
  const payload = bytes.subarray(offset + HEADER_BYTES + 1, end)
  if (kind === KIND_NULLIFIERS) return { sequence, end, nullifiers: payload, records: [] }
  const read = kind === KIND_RECORDS ? readRecords(payload) : undefined
  return read && { sequence, end, ...read }
}

/** Offset of the first whole frame at or behind `from`, or undefined. */
const nextFrame = (bytes: Uint8Array, from: number): number | undefined => {
  for (let at = bytes.indexOf(MAGIC & 0xff, from); at >= 0; at = bytes.indexOf(MAGIC & 0xff, at + 1)) {
    if (readFrame(bytes, at)) return at
  }
  return undefined
}

/** A journal as it was read. */
export interface ReadJournal {
  readonly contents: Contents
  /** Bytes up to the end of the last whole frame; what follows is torn and to be cut off. */
  readonly wholeBytes: number
  /** The sequence number that comes next. */
  readonly nextSequence: number
}

/**
 * Reads a journal. Whatever stands behind the last whole frame is a write that power or a crash cut short; nobody
 * was told that it happened, so it is left out.
 * @throws TerminalError journal_damaged when anything before that can't be read, or anything of what was written at once
 */
export const readJournal = (bytes: Uint8Array): ReadJournal => {
  const records: JournalRecord[] = []
  let nullifiers: Uint8Array | undefined
  let offset = 0
  let sequence = 0
  /** What a rewrite makes is on the disk before it takes the place of the journal, so that no power cut tears it. */
  let written = 1
  for (let frame = readFrame(bytes, 0); frame; frame = readFrame(bytes, offset)) {
    if (frame.sequence !== sequence) {
      throw new TerminalError(
        'journal_damaged',
        `The journal is damaged: frame ${frame.sequence} stands at byte ${offset}, where ${sequence} belongs.`,
      )
    }
    if (sequence === 0) written = frame.written ?? written
    if (frame.nullifiers) nullifiers = frame.nullifiers
    for (const record of frame.records) records.push(record)
    offset = frame.end
    sequence++
  }
  if (sequence === 0 || sequence < written || nextFrame(bytes, offset) !== undefined) {
    throw new TerminalError('journal_damaged', `The journal is damaged at byte ${offset} of ${bytes.length}.`)
  }
  return { contents: { nullifiers, records }, wholeBytes: offset, nextSequence: sequence }
}

/** What could be read out of a damaged journal. */
export interface Salvage {
  readonly contents: Contents
  readonly frames: number
  /** Bytes that belong to no whole frame. */
  readonly lostBytes: number
  /** A snapshot of used cards was, or may have been, among what is lost. */
  readonly nullifiersLost: boolean
  /** Payments were, or may have been, among what is lost, and with them that their cards are used. */
  readonly paymentsLost: boolean
}

/** @param bytes that stand there @param frames how many are missing there, as far as can be told */
const mayHoldPayment = (bytes: number, frames: number): boolean =>
  bytes >= LEAST_PAYMENT_BYTES || bytes < frames * HEADER_BYTES

/** Takes every whole frame out of a damaged journal, wherever it stands. Never throws. */
export const salvageJournal = (bytes: Uint8Array): Salvage => {
  const found = new Map<number, Frame>()
  let keptBytes = 0
  let paymentsLost = false
  let [end, expected] = [0, 0]
  for (let at = nextFrame(bytes, 0); at !== undefined; ) {
    const frame = readFrame(bytes, at)
    if (!frame) break
    paymentsLost ||= mayHoldPayment(at - end, frame.sequence - expected)
    ;[end, expected] = [frame.end, frame.sequence + 1]
    if (!found.has(frame.sequence)) {
      found.set(frame.sequence, frame)
      keptBytes += frame.end - at
    }
    at = nextFrame(bytes, frame.end)
  }
  const frames = [...found.values()].sort((a, b) => a.sequence - b.sequence)
  const nullifiers = frames.find((frame) => frame.nullifiers)?.nullifiers
  const lostBytes = bytes.length - keptBytes
  const written = found.get(0)?.written
  const isAnyLost =
    lostBytes > 0 || found.size < (written ?? 1) || frames.some((frame) => frame.sequence !== 0)
  return {
    contents: { nullifiers, records: frames.flatMap((frame) => frame.records) },
    frames: frames.length,
    lostBytes,
    // A snapshot is always the second frame, of those that are written at once; a journal without one has records there, or nothing.
    nullifiersLost: nullifiers === undefined && !found.has(1) && written !== 1 && isAnyLost,
    paymentsLost: paymentsLost || mayHoldPayment(bytes.length - end, (written ?? 1) - expected),
  }
}
