/**
 * Verifies Groth16 proofs under one key, on the thread that asks: one instance of the WebAssembly verifier
 * (assembly/verifier-index.ts), with tables of what depends on the key alone. Works in browsers and workers too.
 * @module
 */
import { VERIFIER_WASM_BASE64 } from '../../../build/verifier-wasm.ts'
import { FIELD_MODULUS } from '../../core/field.ts'
import { compile, type Instance, instantiateModule } from '../../core/instance.ts'
import {
  ELEMENT_BYTES,
  POINTS_BYTES,
  type ProofRefusal,
  type ProofVerdict,
  packElements,
  packKey,
  type VerificationKey,
} from '../proof-form.ts'
import { drawFactors, factorsOf } from './combination.ts'

/** What assembly/verifier-index.ts exports as functions; addresses and counts are numbers, truths 0 and 1. */
interface VerifierFunctions {
  keyBytes(inputs: number): number
  prepareKey(key: number, source: number, inputs: number): number
  readProof(index: number, source: number): number
  checkProof(index: number, key: number, scalars: number, inputs: number): number
  checkCombination(
    numbers: number,
    count: number,
    key: number,
    pairs: number,
    scalars: number,
    inputs: number,
  ): number
}

const LAYOUT = ['HEAP', 'MOST_PROOFS', 'OUTSIDE'] as const
type VerifierInstance = Instance<VerifierFunctions, (typeof LAYOUT)[number]>

const PAGE_BYTES = 65_536
/** What the module's own data needs. */
const FIRST_PAGES = 8
const MOST_PAGES = 65_536
const ALIGNMENT_BYTES = 64
const WORD_BYTES = 8
/** α, β, γ and δ. */
const KEY_POINTS_BYTES = 14 * ELEMENT_BYTES
/** Bytes of the two halves of a factor. */
const FACTOR_BYTES = 16
/** What the checks of the module answer. */
const HOLDS = 1
const OUTSIDE_OF_SUBGROUP = -1

const VALID: ProofVerdict = { valid: true }
const refuse = (reason: ProofRefusal): ProofVerdict => ({ valid: false, reason })

let compiled: WebAssembly.Module | undefined

/** The compiled verifier: decoded and compiled once. */
export const verifierModule = (): WebAssembly.Module => {
  compiled ??= compile(VERIFIER_WASM_BASE64)
  return compiled
}

const halves = <T>(list: readonly T[]): [T[], T[]] => {
  const middle = list.length >> 1
  return [list.slice(0, middle), list.slice(middle)]
}

export interface KeyVerifier {
  /** @param proof what packProof made of it */
  verify(proof: Uint8Array): ProofVerdict
  /**
   * Verifies many proofs, each for about half of the time that one takes alone: by random combinations of their equations. One that
   * doesn't hold is split, with other factors, until it is known which proofs don't.
   */
  verifyMany(proofs: readonly Uint8Array[]): ProofVerdict[]
}

/** Lays out an instance's memory: the key, what calls are given, and as much as that takes. */
const layOut = ({ call, layout, memory }: VerifierInstance, inputs: number) => {
  let top = layout.HEAP
  const reserve = (bytes: number): number => {
    const at = top
    top += Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return at
  }
  const places = {
    key: reserve(call.keyBytes(inputs)),
    source: reserve(KEY_POINTS_BYTES + 2 * ELEMENT_BYTES * (inputs + 1)),
    proof: reserve(POINTS_BYTES + ELEMENT_BYTES * inputs),
    numbers: reserve(layout.MOST_PROOFS),
    factors: reserve(FACTOR_BYTES * layout.MOST_PROOFS),
    // Those of the public signals, and twice the sum of the factors.
    scalars: reserve(ELEMENT_BYTES * (inputs + 2)),
  }
  const missing = top - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
  return places
}

/** The public signals of a packed proof. */
const signalsOf = (proof: Uint8Array): bigint[] => {
  const view = new DataView(proof.buffer, proof.byteOffset, proof.byteLength)
  return Array.from({ length: (proof.length - POINTS_BYTES) / ELEMENT_BYTES }, (_, i) => {
    let value = 0n
    for (let word = ELEMENT_BYTES - WORD_BYTES; word >= 0; word -= WORD_BYTES)
      value = (value << 64n) | view.getBigUint64(POINTS_BYTES + ELEMENT_BYTES * i + word, true)
    return value
  })
}

/**
 * Prepares for proofs under a key, which takes some ten milliseconds and about 60 KiB of memory for each public signal.
 * @throws RangeError for a key that readVerificationKey refuses, or of which a point lies outside of its subgroup
 */
export const createKeyVerifier = (key: VerificationKey, module = verifierModule()): KeyVerifier => {
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: MOST_PAGES })
  const instance: VerifierInstance = instantiateModule(module, LAYOUT, { memory })
  const { call, layout } = instance
  const inputs = key.IC.length - 1
  const places = layOut(instance, inputs)
  const bytes = new Uint8Array(memory.buffer)
  bytes.set(packKey(key), places.source)
  if (call.prepareKey(places.key, places.source, inputs) === 0)
    throw new RangeError('This is no verification key: a point lies outside of its curve or subgroup.')

  /** @returns whether the points lie on their curves */
  const read = (proof: Uint8Array, index: number): boolean => {
    if (proof.length !== POINTS_BYTES + ELEMENT_BYTES * inputs)
      throw new RangeError(`a packed proof of this key has ${inputs} public signals`)
    bytes.set(proof, places.proof)
    return call.readProof(index, places.proof) !== 0
  }

  /** Checks a proof that was read. */
  const check = (proof: Uint8Array, index: number): ProofVerdict => {
    bytes.set(proof.subarray(POINTS_BYTES), places.scalars)
    const result = call.checkProof(index, places.key, places.scalars, inputs)
    if (result === OUTSIDE_OF_SUBGROUP) return refuse('POINT_NOT_IN_SUBGROUP')
    return result === HOLDS ? VALID : refuse('PROOF_INVALID')
  }

  /** Checks the combination of proofs that were read, with new factors. */
  const combine = (proofs: readonly Uint8Array[], indices: readonly number[]): number => {
    const drawn = drawFactors(indices.length)
    const factors = factorsOf(drawn)
    const sums = Array.from({ length: inputs + 1 }, () => 0n)
    indices.forEach((index, i) => {
      const factor = factors[i] ?? 0n
      const signals = [...signalsOf(proofs[index] ?? new Uint8Array()), 1n]
      for (const [j, signal] of signals.entries()) sums[j] = (sums[j] ?? 0n) + factor * signal
    })
    const scalars = [...sums, sums.at(-1) ?? 0n].map((sum) => sum % FIELD_MODULUS)
    bytes.set(packElements(scalars), places.scalars)
    bytes.set(indices, places.numbers)
    bytes.set(new Uint8Array(drawn.buffer), places.factors)
    const { numbers, key: keyAt, factors: factorsAt, scalars: scalarsAt } = places
    return call.checkCombination(numbers, indices.length, keyAt, factorsAt, scalarsAt, inputs)
  }

  /** @param proofs at most as many as one combination takes */
  const verifyTogether = (proofs: readonly Uint8Array[]): ProofVerdict[] => {
    const verdicts = proofs.map((proof, i) => (read(proof, i) ? VALID : refuse('POINT_NOT_ON_CURVE')))
    /** @param isFalse whether one of them is known not to hold */
    const settle = (indices: readonly number[], isFalse: boolean): boolean => {
      const [first] = indices
      if (first === undefined) return true
      if (indices.length === 1) {
        const verdict = check(proofs[first] ?? new Uint8Array(), first)
        verdicts[first] = verdict
        return verdict.valid
      }
      const result = isFalse ? undefined : combine(proofs, indices)
      if (result === HOLDS) return true
      if (result === OUTSIDE_OF_SUBGROUP) {
        const isOutside = indices.map((_, i) => bytes[layout.OUTSIDE + i] === 1)
        for (const [i, index] of indices.entries())
          if (isOutside[i]) verdicts[index] = refuse('POINT_NOT_IN_SUBGROUP')
        settle(
          indices.filter((_, i) => !isOutside[i]),
          false,
        )
        return false
      }
      const [left, right] = halves(indices)
      const isLeftValid = settle(left, false)
      // What the other half doesn't explain, this one must.
      settle(right, isLeftValid)
      return false
    }
    settle(
      [...verdicts.keys()].filter((i) => verdicts[i]?.valid),
      false,
    )
    return verdicts
  }

  return {
    verify: (proof) => (read(proof, 0) ? check(proof, 0) : refuse('POINT_NOT_ON_CURVE')),
    verifyMany(proofs) {
      const groups = Array.from({ length: Math.ceil(proofs.length / layout.MOST_PROOFS) }, (_, i) =>
        proofs.slice(layout.MOST_PROOFS * i, layout.MOST_PROOFS * (i + 1)),
      )
      return groups.flatMap(verifyTogether)
    },
  }
}
