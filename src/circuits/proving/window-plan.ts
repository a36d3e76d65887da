/**
 * How a multi-scalar multiplication with tables is laid out: wide windows save additions and need more buckets, and
 * tables of fewer windows need less memory and more sets of buckets.
 * @module
 */

/** Bits of a scalar, and one for the carry of the highest signed digit. */
const SCALAR_BITS = 255
const SMALLEST_BITS = 4

/** What steps cost, in additions of two points within a batch. */
const PROJECTIVE_ADDITION = 3.5

export interface WindowPlan {
  readonly bits: number
  /** Sets of buckets, each for every `groups`th window. */
  readonly groups: number
  /** Multiples of a base in the table, each 2^(bits · groups) times the one before. */
  readonly entries: number
}

export const windowsOf = (bits: number): number => Math.ceil(SCALAR_BITS / bits)

/** Additions for scalars of which `full` fill all windows. */
const additions = (bits: number, groups: number, full: number): number => {
  const buckets = 2 ** (bits - 1)
  // Each bucket goes into a row and a column; these are summed up one by one.
  const lines = 2 ** (bits >> 1) + buckets / 2 ** (bits >> 1)
  return full * windowsOf(bits) + groups * (2 * buckets + PROJECTIVE_ADDITION * (2 * lines + bits))
}

/**
 * The plan with the fewest additions whose table fits the budget; where none fits, one without multiples.
 * @param count bases in the table
 * @param full about how many of the scalars are not small
 * @param largestBits that there is room for
 */
export const planWindows = (
  count: number,
  full: number,
  pointBytes: number,
  budgetBytes: number,
  largestBits: number,
): WindowPlan => {
  let best: WindowPlan | undefined
  let least = Number.POSITIVE_INFINITY
  for (let bits = SMALLEST_BITS; bits <= largestBits; bits++)
    for (let groups = 1; groups <= windowsOf(bits); groups++) {
      const entries = Math.ceil(windowsOf(bits) / groups)
      if (entries > 1 && entries * count * pointBytes > budgetBytes) continue
      const cost = additions(bits, groups, full)
      if (cost >= least) continue
      least = cost
      best = { bits, groups, entries }
    }
  if (best === undefined) throw new RangeError(`no windows of ${SMALLEST_BITS} to ${largestBits} bits`)
  return best
}
