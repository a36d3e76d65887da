/**
 * Who makes which sum of a proof that several threads make together: a word for each sum in memory that they share. It
 * says nothing of the witness.
 * @module
 */

/** A, B in G1, B in G2 and C. */
export const SUM_COUNT = 4
/** The word behind those of the sums: whether nobody else may begin one. */
const ENDED = SUM_COUNT

export type TakenSums = Int32Array<SharedArrayBuffer>

export const createTakenSums = (): TakenSums =>
  new Int32Array(new SharedArrayBuffer((SUM_COUNT + 1) * Int32Array.BYTES_PER_ELEMENT))

/** @returns whether the sum is the caller's to make; once for each */
export const reserveSum = (taken: TakenSums, sum: number): boolean =>
  Atomics.compareExchange(taken, sum, 0, 1) === 0

/** Lets whoever helps finish the sum that they began, and begin no other. */
export const endHelp = (taken: TakenSums): void => {
  Atomics.store(taken, ENDED, 1)
}

export const isHelpEnded = (taken: TakenSums): boolean => Atomics.load(taken, ENDED) === 1
