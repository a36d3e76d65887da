/**
 * When two messages say the same: what is kept of a text to recognise it again, and for how long it counts.
 * @module
 */
import { createHash } from 'node:crypto'
import { fail } from '../../../errors.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import { foldCase } from '../names/case-folding.ts'

/** The same poster may not repeat a text for so long. */
export const OWN_WINDOW_MS = 24 * 60 * 60 * 1000
/** Nor anybody a long one; two agents may both say "I agree". */
export const SHARED_WINDOW_MS = 10 * 60 * 1000
export const LONG_TEXT_CHARACTERS = 80
const HASH_BYTES = 16

/** White space, punctuation and what can't be seen. */
const SEPARATORS = /[\s\p{P}\p{Z}\p{Cf}]+/gu

/** A text without case, width, punctuation and spacing; one of signs alone stays as it is. */
export const normalise = (text: string): string => {
  const folded = foldCase(text)
  const words = folded.replace(SEPARATORS, ' ').trim()
  return words === '' ? folded : words
}

/** What a text is recognised by. */
export interface TextHashes {
  /** Of long texts: the same for everybody. */
  readonly shared: Buffer
  /** Of short texts: each poster's own, so that one look-up finds no other's. */
  readonly own: Buffer
  /** Whether it has at least 80 characters, and is kept under `shared`. */
  readonly long: boolean
}

/** 16 bytes of a keyed hash: without the master key nobody can tell from it what was written, or by whom. */
export const shortMac = (sealing: Pick<Sealing, 'mac'>, purpose: string, data: string): Buffer =>
  Buffer.from(sealing.mac(purpose, Buffer.from(data))).subarray(0, HASH_BYTES)

export const hashText = (sealing: Pick<Sealing, 'mac'>, text: string, poster: Buffer): TextHashes => {
  const keyed = sealing.mac('chat-text', Buffer.from(normalise(text)))
  return {
    shared: Buffer.from(keyed).subarray(0, HASH_BYTES),
    // Whoever knows the sixteen bytes of `shared` alone can't tell which of these belong to it.
    own: createHash('sha256').update(keyed).update(poster).digest().subarray(0, HASH_BYTES),
    long: [...text].length >= LONG_TEXT_CHARACTERS,
  }
}

/** `hash` → when anyone last posted that text; `hash/poster` → when that one did. Hexadecimal; Unix ms. */
export type Repetitions = Map<string, number>

const keyOf = (hash: Uint8Array, poster?: Uint8Array): string =>
  [hash, ...(poster ? [poster] : [])].map((bytes) => Buffer.from(bytes).toString('hex')).join('/')

/** Notes that somebody posted a text; `undefined` stands for anybody. */
export const noteRepetition = (
  repetitions: Repetitions,
  hash: Uint8Array,
  poster: Uint8Array | undefined,
  at: number,
): void => {
  const key = keyOf(hash, poster)
  repetitions.set(key, Math.max(at, repetitions.get(key) ?? 0))
}

/** @throws AppError duplicate_message when the text was posted too lately */
export const refuseDuplicate = (
  repetitions: Repetitions,
  { own, shared, long }: TextHashes,
  poster: Uint8Array,
  at: number,
): void => {
  const isWithin = (windowMs: number, hash: Uint8Array, by?: Uint8Array): boolean => {
    const last = repetitions.get(keyOf(hash, by))
    return last !== undefined && at - last < windowMs
  }
  const repeatsItself = isWithin(OWN_WINDOW_MS, own, poster) || isWithin(OWN_WINDOW_MS, shared, poster)
  if (repeatsItself || (long && isWithin(SHARED_WINDOW_MS, shared))) fail('duplicate_message')
}
