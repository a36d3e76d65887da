/**
 * Poseidon hashes of many things at once, on the threads that make and verify proofs: what is asked, and what a thread does. Node only.
 * @module
 */
import { FIELD_BYTES, type Field } from '../../core/field.ts'

/** Every `width` elements are hashed by themselves, then what came out, `levels` times in all. */
export interface HashesAsked {
  /** One of `POSEIDON_TAGS`. */
  readonly tag: number
  readonly width: number
  readonly levels: number
  /** 32 bytes each, big-endian. */
  readonly elements: Uint8Array
}

const elementAt = (bytes: Buffer, i: number): bigint =>
  BigInt(`0x${bytes.toString('hex', i * FIELD_BYTES, (i + 1) * FIELD_BYTES)}`)

const hashEach = (field: Field, tag: number, width: number, bytes: Buffer): Uint8Array => {
  const hashes = Buffer.alloc(bytes.length / width)
  for (let at = 0; at < hashes.length; at += FIELD_BYTES) {
    const first = (at / FIELD_BYTES) * width
    const inputs = Array.from({ length: width }, (_, i) => elementAt(bytes, first + i))
    hashes.write(
      field
        .poseidon(tag, inputs)
        .toString(16)
        .padStart(2 * FIELD_BYTES, '0'),
      at,
      'hex',
    )
  }
  return hashes
}

/**
 * @returns 32 bytes a hash, big-endian
 * @throws RangeError for a length that is no multiple of `width` elements, or an element that isn't canonical
 */
export const hashAsked = (field: Field, { tag, width, levels, elements }: HashesAsked): Uint8Array => {
  let made = elements
  for (let level = 0; level < levels; level++) {
    if (made.length % (width * FIELD_BYTES) !== 0)
      throw new RangeError(`${made.length} bytes are no multiple of ${width} elements`)
    const bytes = Buffer.from(made.buffer, made.byteOffset, made.length)
    made = width === 2 ? field.poseidonPairs(tag, made) : hashEach(field, tag, width, bytes)
  }
  return made
}
