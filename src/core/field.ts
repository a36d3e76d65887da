/**
 * The BN254 scalar field and Poseidon over it: a WebAssembly module of its own, so that terminals need not load it. Works
 * the same in Node, browsers and workers; imports nothing.
 * @module
 */
import { FIELD_WASM_BASE64 } from '../../build/field-wasm.ts'
import { compile, type InstanceOptions, instantiateModule } from './instance.ts'

export { POSEIDON_TAGS } from './poseidon-tags.ts'

/** r, the order of BN254's groups: elements are the integers 0 ≤ x < r. */
export const FIELD_MODULUS = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

/** Bytes of an element, big-endian. */
export const FIELD_BYTES = 32

/** Tags stand in one limb. */
const LARGEST_TAG = 2 ** 29 - 1
const PAIR_BYTES = 2 * FIELD_BYTES

/** What assembly/field-index.ts exports as functions; addresses and counts are numbers. */
export interface FieldFunctions {
  firstNotCanonical(address: number, count: number): number
  fieldMultiply(count: number): void
  multiplyMany(z: number, x: number, y: number, count: number): void
  multiplyMany4(z: number, x: number, y: number, groups: number): void
  poseidonBegin(tag: number): void
  poseidonAbsorb(pairs: number): void
  poseidonEnd(): void
  poseidonPairs(tag: number, count: number): void
}

const LAYOUT = ['FIELD_INPUT', 'FIELD_OUTPUT', 'FIELD_ELEMENTS', 'FIELD_PRODUCTS', 'FIRST', 'SECOND'] as const

/** One field serves one thread: its calls share fixed buffers and don't overlap. */
export interface Field {
  /**
   * Poseidon with three state elements (circomlib parameters). The state starts from the tag; each pair of inputs, the
   * last one padded with 0, is taken in by one permutation: circomlib's `PoseidonEx(2, 1)` chained by `initialState`.
   * The number of inputs is fixed for each tag, so padding can't be mistaken for an input.
   * @param tag 0 ≤ tag < 2^29, one of `POSEIDON_TAGS`
   * @throws RangeError for another tag, no input, or an input that isn't canonical
   */
  poseidon(tag: number, inputs: readonly bigint[]): bigint
  /**
   * `poseidon(tag, [a, b])` of many pairs.
   * @param pairs 64 bytes a pair, two big-endian elements
   * @returns 32 bytes a pair, big-endian
   * @throws RangeError for a length that is no multiple of 64, and as {@link poseidon}
   */
  poseidonPairs(tag: number, pairs: Uint8Array): Uint8Array
  /** x · y mod r. @throws RangeError when one isn't canonical */
  multiply(x: bigint, y: bigint): bigint
  /**
   * x[i] · y[i] mod r.
   * @param xs 32 bytes an element, big-endian
   * @param ys as many
   * @throws RangeError for lengths that differ or are no multiple of 32, and for an element that isn't canonical
   */
  multiplyBatch(xs: Uint8Array, ys: Uint8Array): Uint8Array
}

let compiled: WebAssembly.Module | undefined

/** The compiled field module: decoded and compiled once. It can be posted to workers. */
export const fieldModule = (): WebAssembly.Module => {
  compiled ??= compile(FIELD_WASM_BASE64)
  return compiled
}

/** A new instance of the field module with its own memory. */
export const instantiateField = (options: InstanceOptions = {}) =>
  instantiateModule<FieldFunctions, (typeof LAYOUT)[number]>(options.module ?? fieldModule(), LAYOUT, options)

const notCanonical = (method: string, i: number): never => {
  throw new RangeError(`${method}: element ${i} isn't below the modulus r of the field`)
}

/** Bytes of an element. @throws RangeError when it isn't 0 ≤ x < r */
const writeElement = (view: DataView, at: number, x: bigint, method: string, i: number): void => {
  if (x < 0n || x >= FIELD_MODULUS) notCanonical(method, i)
  view.setBigUint64(at, x >> 192n)
  view.setBigUint64(at + 8, BigInt.asUintN(64, x >> 128n))
  view.setBigUint64(at + 16, BigInt.asUintN(64, x >> 64n))
  view.setBigUint64(at + 24, BigInt.asUintN(64, x))
}

const readElement = (view: DataView, at: number): bigint =>
  (view.getBigUint64(at) << 192n) |
  (view.getBigUint64(at + 8) << 128n) |
  (view.getBigUint64(at + 16) << 64n) |
  view.getBigUint64(at + 24)

const checkTag = (method: string, tag: number): void => {
  if (!Number.isInteger(tag) || tag < 0 || tag > LARGEST_TAG) {
    throw new RangeError(`${method}: the tag ${tag} isn't an integer from 0 to ${LARGEST_TAG}`)
  }
}

const checkLength = (method: string, bytes: number, unit: number): void => {
  if (bytes % unit !== 0) throw new RangeError(`${method}: ${bytes} bytes are no multiple of ${unit}`)
}

/** A field of its own: 64 KiB of memory, ready at once, with no file or network access. */
export const createField = (options: InstanceOptions = {}): Field => {
  const { call, layout, memory } = instantiateField(options)
  const room = layout.FIELD_ELEMENTS
  const inputView = new DataView(memory.buffer, layout.FIELD_INPUT, room * FIELD_BYTES)
  const outputView = new DataView(memory.buffer, layout.FIELD_OUTPUT, room * FIELD_BYTES)
  const input = new Uint8Array(memory.buffer, layout.FIELD_INPUT, room * FIELD_BYTES)
  const output = new Uint8Array(memory.buffer, layout.FIELD_OUTPUT, room * FIELD_BYTES)

  /** Puts elements into INPUT from slot `slot` on; `first` is the number of the first one, for the message. */
  const give = (method: string, slot: number, elements: Uint8Array, first: number): void => {
    input.set(elements, slot * FIELD_BYTES)
    const address = layout.FIELD_INPUT + slot * FIELD_BYTES
    const wrong = call.firstNotCanonical(address, elements.length / FIELD_BYTES)
    if (wrong >= 0) notCanonical(method, first + wrong)
  }

  return {
    poseidon(tag, inputs) {
      checkTag('poseidon', tag)
      if (inputs.length === 0) throw new RangeError('poseidon: at least one input is needed')
      call.poseidonBegin(tag)
      for (let from = 0; from < inputs.length; from += room) {
        const count = Math.min(room, inputs.length - from)
        for (let i = 0; i < count; i++) {
          writeElement(inputView, i * FIELD_BYTES, inputs[from + i] ?? 0n, 'poseidon', from + i)
        }
        if (count % 2) input.fill(0, count * FIELD_BYTES, (count + 1) * FIELD_BYTES)
        call.poseidonAbsorb(Math.ceil(count / 2))
      }
      call.poseidonEnd()
      return readElement(outputView, 0)
    },

    poseidonPairs(tag, pairs) {
      checkTag('poseidonPairs', tag)
      checkLength('poseidonPairs', pairs.length, PAIR_BYTES)
      const hashes = new Uint8Array(pairs.length / 2)
      for (let from = 0; from < pairs.length; from += input.length) {
        const piece = pairs.subarray(from, from + input.length)
        give('poseidonPairs', 0, piece, from / FIELD_BYTES)
        call.poseidonPairs(tag, piece.length / PAIR_BYTES)
        hashes.set(output.subarray(0, piece.length / 2), from / 2)
      }
      return hashes
    },

    multiply(x, y) {
      writeElement(inputView, 0, x, 'multiply', 0)
      writeElement(inputView, layout.FIELD_PRODUCTS * FIELD_BYTES, y, 'multiply', 1)
      call.fieldMultiply(1)
      return readElement(outputView, 0)
    },

    multiplyBatch(xs, ys) {
      checkLength('multiplyBatch', xs.length, FIELD_BYTES)
      if (xs.length !== ys.length) {
        throw new RangeError(`multiplyBatch: ${xs.length} bytes can't be multiplied with ${ys.length}`)
      }
      const products = new Uint8Array(xs.length)
      const step = layout.FIELD_PRODUCTS * FIELD_BYTES
      for (let from = 0; from < xs.length; from += step) {
        const piece = xs.subarray(from, from + step)
        give('multiplyBatch', 0, piece, from / FIELD_BYTES)
        give('multiplyBatch', layout.FIELD_PRODUCTS, ys.subarray(from, from + step), from / FIELD_BYTES)
        call.fieldMultiply(piece.length / FIELD_BYTES)
        products.set(output.subarray(0, piece.length), from)
      }
      return products
    },
  }
}
