/**
 * One instance of the WebAssembly prover (assembly/prover-index.ts), and how its memory is handed out.
 * @module
 */
import { PROVER_WASM_BASE64 } from '../../../build/prover-wasm.ts'
import { compile, type Instance, instantiateModule } from '../../core/instance.ts'

type SumFunction = (
  result: number,
  count: number,
  table: number,
  bits: number,
  groups: number,
  scalars: number,
  numbers: number,
  room: number,
) => void
type PrepareFunction = (
  table: number,
  source: number,
  count: number,
  entries: number,
  doublings: number,
) => void

/** What assembly/prover-index.ts exports as functions; addresses and counts are numbers. */
interface ProverFunctions {
  prepareG1: PrepareFunction
  prepareG2: PrepareFunction
  sumG1: SumFunction
  sumG2: SumFunction
  blind(c: number, a: number, s: number, b: number, r: number): void
  writeG1(target: number, point: number): void
  writeG2(target: number, point: number): void
  readScalars(target: number, source: number, count: number): void
  readProducts(target: number, source: number, count: number, factor: number): void
  prepareRoots(roots: number, numbers: number, size: number): void
  evaluateRows(
    target: number,
    rows: number,
    bounds: number,
    coefficients: number,
    signals: number,
    witness: number,
  ): void
  quotient(scalars: number, values: number, size: number, roots: number): void
}

const LAYOUT = ['HEAP', 'G1_BYTES', 'G2_BYTES', 'POINT_BYTES', 'LARGEST_WINDOW_BITS'] as const
export type ProverInstance = Instance<ProverFunctions, (typeof LAYOUT)[number]>

const PAGE_BYTES = 65_536
/** What the module's own data needs. */
const FIRST_PAGES = 64
const MOST_PAGES = 65_536
const ALIGNMENT_BYTES = 64

let compiled: WebAssembly.Module | undefined

/** The compiled prover: decoded and compiled once. */
export const proverModule = (): WebAssembly.Module => {
  compiled ??= compile(PROVER_WASM_BASE64)
  return compiled
}

/** A new instance with memory of its own. */
export const instantiateProver = (module = proverModule()): ProverInstance => {
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES })
  return instantiateModule<ProverFunctions, (typeof LAYOUT)[number]>(module, LAYOUT, { memory })
}

/** Rounded up, so that what is put behind begins at a line of the cache. */
export const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES

export interface Allocator {
  /** @returns an address with so much room behind; memory grows as it must */
  reserve(bytes: number): number
  /** @returns the address of a copy */
  put(bytes: Uint8Array): number
  /** Frees again what `use` reserves. */
  briefly(use: () => void): void
}

/** Hands out the memory behind an instance's own data. */
export const createAllocator = ({ layout, memory }: ProverInstance): Allocator => {
  let top = layout.HEAP
  const reserve = (bytes: number): number => {
    const at = top
    top += aligned(bytes)
    const missing = top - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
    return at
  }
  return {
    reserve,
    put(bytes) {
      const at = reserve(bytes.length)
      new Uint8Array(memory.buffer).set(bytes, at)
      return at
    },
    briefly(use) {
      const mark = top
      use()
      top = mark
    },
  }
}
