/**
 * The field and Poseidon as the standard texts write them, in plain integers; slow.
 * @module
 */
import {
  FULL_ROUNDS,
  PARTIAL_ROUNDS,
  poseidonParameters,
} from '../../../src/bin/build-steps/poseidon-parameters.ts'
import { FIELD_MODULUS, type Field } from '../../../src/core/field.ts'

const { constants, matrix } = poseidonParameters()

const modulo = (x: bigint): bigint => x % FIELD_MODULUS

const fifthPower = (x: bigint): bigint => modulo(x ** 5n)

/** One permutation; the first element of the state afterwards. */
const permute = (capacity: bigint, a: bigint, b: bigint): bigint => {
  let state = [capacity, a, b]
  constants.forEach((added, round) => {
    const full = round < FULL_ROUNDS / 2 || round >= FULL_ROUNDS / 2 + PARTIAL_ROUNDS
    const sums = state.map((x, i) => modulo(x + (added[i] ?? 0n)))
    const outputs = sums.map((x, i) => (full || i === 0 ? fifthPower(x) : x))
    state = matrix.map((row) => modulo(row.reduce((sum, factor, i) => sum + factor * (outputs[i] ?? 0n), 0n)))
  })
  return state[0] ?? 0n
}

const canonical = (x: bigint): bigint => {
  if (x < 0n || x >= FIELD_MODULUS) throw new RangeError('not below the modulus r')
  return x
}

const fromBytes = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

/** 32 bytes, big-endian. */
export const toBytes = (x: bigint): Uint8Array => Buffer.from(x.toString(16).padStart(64, '0'), 'hex')

const elements = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) =>
    canonical(fromBytes(bytes.subarray(32 * i, 32 * i + 32))),
  )

const checkLength = (bytes: Uint8Array, unit: number): void => {
  if (bytes.length % unit !== 0) throw new RangeError(`no multiple of ${unit}`)
}

export const createReferenceField = (): Field => ({
  poseidon(tag, inputs) {
    if (!Number.isInteger(tag) || tag < 0 || tag >= 2 ** 29) throw new RangeError('the tag')
    if (inputs.length === 0) throw new RangeError('at least one input')
    const padded = [...inputs.map(canonical), ...(inputs.length % 2 ? [0n] : [])]
    let state = BigInt(tag)
    for (let i = 0; i < padded.length; i += 2) state = permute(state, padded[i] ?? 0n, padded[i + 1] ?? 0n)
    return state
  },
  poseidonPairs(tag, pairs) {
    checkLength(pairs, 64)
    const xs = elements(pairs)
    const hashes = Array.from({ length: xs.length / 2 }, (_, i) =>
      this.poseidon(tag, xs.slice(2 * i, 2 * i + 2)),
    )
    return Buffer.concat(hashes.map(toBytes))
  },
  multiply: (x, y) => modulo(canonical(x) * canonical(y)),
  multiplyBatch(xs, ys) {
    checkLength(xs, 32)
    if (xs.length !== ys.length) throw new RangeError("can't be multiplied")
    const second = elements(ys)
    return Buffer.concat(elements(xs).map((x, i) => toBytes(modulo(x * (second[i] ?? 0n)))))
  },
})
