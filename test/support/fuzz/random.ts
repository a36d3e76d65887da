/** Numbers that follow from a seed, for inputs that anybody can make again. @module */

export interface Random {
  /** 0 to `below` − 1. */
  nat(below: number): number
  pick<T>(from: readonly T[]): T
  /** True once in so many times. */
  oneIn(times: number): boolean
}

/** Xorshift (Marsaglia, "Xorshift RNGs", 13-17-5). */
export const createRandom = (seed: number): Random => {
  let state = seed | 0 || 1
  const nat = (below: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
  return {
    nat,
    pick: <T>(from: readonly T[]) => from[nat(from.length)] as T,
    oneIn: (times) => nat(times) === 0,
  }
}
