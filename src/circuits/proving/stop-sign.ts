/** Tells a thread to give up the proof that it makes: one word of memory that it shares with whoever asked for the proof. @module */

export type StopSign = Int32Array<SharedArrayBuffer>

export const createStopSign = (): StopSign =>
  new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

export const stop = (sign: StopSign): void => {
  Atomics.store(sign, 0, 1)
}

export const isStopped = (sign: StopSign): boolean => Atomics.load(sign, 0) === 1
