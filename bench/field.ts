/**
 * The field and Poseidon beside wasmcurves, circomlibjs and poseidon-lite, each used in its fastest way.
 * @module
 */
import { buildPoseidon } from 'circomlibjs'
import { poseidon2 } from 'poseidon-lite/poseidon2'
import bn128 from 'wasmcurves/build/bn128_wasm.js'
import { createField, FIELD_BYTES, FIELD_MODULUS, instantiateField } from '../src/core/field.ts'
import { createComparison, inTurn } from './support/comparison.ts'
import { report } from './support/interleaved.ts'

const field = createField()
const { rows, compare } = createComparison()

/** Elements spread over the field, the same at each run. */
const elements = (count: number, seed: bigint): bigint[] =>
  Array.from({ length: count }, (_, i) => (seed + BigInt(i)) ** 97n % FIELD_MODULUS)

const littleEndian = (x: bigint): Uint8Array =>
  Buffer.from(x.toString(16).padStart(2 * FIELD_BYTES, '0'), 'hex').reverse()

const ELEMENTS = 64
const PAGES = 32

/**
 * wasmcurves' own loop inside its module: out[i] = in[i] · key, then key = key · step. So it makes two products an
 * element; that it costs no more than a bare loop over its multiplication was measured once (70.2 and 70.3 ns).
 */
const wasmcurves = () => {
  const memory = new WebAssembly.Memory({ initial: PAGES })
  const module = new WebAssembly.Module(Buffer.from(bn128.code, 'base64'))
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const multiplyAll = exports.frm_batchApplyKey as (
    from: number,
    count: number,
    key: number,
    step: number,
    to: number,
  ) => void
  const bytes = new Uint8Array(memory.buffer)
  const [from, key, step, to] = [1, 2, 3, 4].map((i) => (PAGES - i) * 65_536) as [
    number,
    number,
    number,
    number,
  ]
  return { bytes, from, key, step, to, run: () => multiplyAll(from, ELEMENTS, key, step, to) }
}

/** Both sides must make the same products: plain values times a key in Montgomery form are plain. */
const checkPeer = (peer: ReturnType<typeof wasmcurves>, xs: readonly bigint[]): void => {
  const one = 2n ** 256n % FIELD_MODULUS
  const [y = 0n] = elements(1, 77n)
  xs.forEach((x, i) => {
    peer.bytes.set(littleEndian(x), peer.from + FIELD_BYTES * i)
  })
  peer.bytes.set(littleEndian((y * one) % FIELD_MODULUS), peer.key)
  peer.bytes.set(littleEndian(one), peer.step)
  peer.run()
  xs.forEach((x, i) => {
    const at = peer.to + FIELD_BYTES * i
    const product = littleEndian(field.multiply(x, y))
    if (Buffer.compare(peer.bytes.subarray(at, at + FIELD_BYTES), product) !== 0)
      throw new Error('wasmcurves makes another product')
  })
}

const multiplication = (): void => {
  const { call, layout, memory } = instantiateField()
  const xs = elements(ELEMENTS, 5n)
  const peer = wasmcurves()
  checkPeer(peer, xs)
  const limbs = new Uint32Array(memory.buffer)
  for (const address of [layout.FIRST, layout.SECOND]) {
    xs.forEach((x, n) => {
      for (let i = 0; i < 9; i++)
        limbs[address / 4 + 9 * n + i] = Number(BigInt.asUintN(29, x >> BigInt(29 * i)))
    })
  }
  const { FIRST, SECOND } = layout
  // The peer makes two products an element, so ours makes two passes.
  const twice = (pass: () => void) => () => {
    pass()
    pass()
  }
  compare(
    'field multiplication, one at a time',
    twice(() => call.multiplyMany(FIRST, FIRST, SECOND, ELEMENTS)),
    [{ name: 'wasmcurves', run: peer.run, goal: 1.8 }],
    2 * ELEMENTS,
  )
  compare(
    'field multiplication, four at a time',
    twice(() => call.multiplyMany4(FIRST, FIRST, SECOND, ELEMENTS / 4)),
    [{ name: 'wasmcurves', run: peer.run, goal: 2.4 }],
    2 * ELEMENTS,
  )
}

/** So many that a run is shorter than a slice of the scheduler. */
const PAIRS = 16

const poseidon = async (): Promise<void> => {
  const peer = await buildPoseidon()
  const xs = elements(2 * PAIRS, 1000n)
  const pairs = Array.from({ length: PAIRS }, (_, i) => xs.slice(2 * i, 2 * i + 2))
  // circomlibjs gets elements that stand in its own form already.
  const prepared = pairs.map((pair) => pair.map((x) => peer.F.e(x)))
  const bytes = Buffer.concat(xs.map((x) => littleEndian(x).reverse()))
  pairs.forEach((pair, i) => {
    const hash = field.poseidon(0, pair)
    if (peer.F.toObject(peer(prepared[i] ?? [])) !== hash || poseidon2(pair) !== hash)
      throw new Error('a peer makes another hash')
  })
  const [ours, theirs, lite] = [inTurn(pairs), inTurn(prepared), inTurn(pairs)]
  compare('Poseidon of two elements', () => field.poseidon(0, ours()), [
    { name: 'circomlibjs', run: () => peer(theirs()), goal: 2.7 },
    { name: 'poseidon-lite', run: () => poseidon2(lite()), goal: 8 },
  ])
  const all = () => {
    for (const pair of prepared) peer(pair)
  }
  compare(
    `Poseidon of ${PAIRS} pairs, each`,
    () => field.poseidonPairs(0, bytes),
    [{ name: 'circomlibjs', run: all, goal: 2.7 }],
    PAIRS,
  )
}

multiplication()
await poseidon()
report(rows)
