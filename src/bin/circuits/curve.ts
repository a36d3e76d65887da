/**
 * The curve of snarkjs, which sets keys up and computes pairings. Works in browsers and workers too.
 * @module
 */
import { curves } from 'snarkjs'

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
