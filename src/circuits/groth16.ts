/**
 * Proofs by snarkjs on the thread that asks for them. Works in browsers and workers too.
 * @module
 */
import { curves, groth16 } from 'snarkjs'
import type { SnarkProof } from '../protocol/zk1.ts'
import type { WitnessInput } from './circuit.ts'
import { computeWitness } from './witness.ts'

export interface Proved {
  readonly proof: SnarkProof
  readonly publicSignals: string[]
}

declare global {
  /** Where snarkjs looks for a curve before it builds one, with threads of its own, at each call. */
  var curve_bn128: object | null | undefined
}

let building: Promise<void> | undefined

/** Builds the curve once, without threads that somebody would have to end. Takes about 150 ms. */
export const prepareCurve = async (): Promise<void> => {
  building ??= curves.getCurveFromName('bn128', { singleThread: true }).then(
    (curve) => {
      globalThis.curve_bn128 = curve
    },
    (error: unknown) => {
      // Memory may have been short; the next one tries again.
      building = undefined
      throw error
    },
  )
  await building
}

export interface ProvingArtifacts {
  readonly zkey: Uint8Array
  /** Witness program made by circom. */
  readonly wasm: Uint8Array
}

/** @returns a function that makes proofs of one circuit; it throws WitnessError where no witness exists */
export const createProofMaker = async ({
  zkey,
  wasm,
}: ProvingArtifacts): Promise<(input: WitnessInput) => Promise<Proved>> => {
  await prepareCurve()
  // A copy, since shared memory can't be compiled from.
  const module = await WebAssembly.compile(new Uint8Array(wasm))
  return async (input) => {
    const witness = await computeWitness(module, input)
    return groth16.prove({ type: 'mem', data: zkey }, { type: 'mem', data: witness })
  }
}
