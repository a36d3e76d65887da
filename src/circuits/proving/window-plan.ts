/**
 * How multi-scalar multiplications with tables are laid out: wide windows save additions and need more buckets, and
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

/** A sum to be laid out. */
export interface SumSize {
  /** Bases in the table. */
  readonly count: number
  /** About how many of the scalars are not small. */
  readonly full: number
  readonly pointBytes: number
  /** What an addition costs, beside one in G1. */
  readonly additionCost: number
}

/** A way to lay out one sum or several. */
interface Option {
  readonly plans: readonly WindowPlan[]
  readonly bytes: number
  readonly cost: number
}

export const windowsOf = (bits: number): number => Math.ceil(SCALAR_BITS / bits)

/** Additions for scalars of which `full` fill all windows. */
const additions = (bits: number, groups: number, full: number): number => {
  const buckets = 2 ** (bits - 1)
  // Each bucket goes into a row and a column; these are summed up one by one.
  const lines = 2 ** (bits >> 1) + buckets / 2 ** (bits >> 1)
  return full * windowsOf(bits) + groups * (2 * buckets + PROJECTIVE_ADDITION * (2 * lines + bits))
}

/** Without those that another one beats: what takes more bytes costs less. */
const withoutWorse = (options: readonly Option[]): Option[] => {
  const kept: Option[] = []
  for (const option of options.toSorted((x, y) => x.bytes - y.bytes || x.cost - y.cost))
    if (option.cost < (kept.at(-1)?.cost ?? Number.POSITIVE_INFINITY)) kept.push(option)
  return kept
}

/** Every way to lay out a sum that is worth its bytes; the first has no multiples. */
const optionsOf = (
  { count, full, pointBytes, additionCost }: SumSize,
  largestBits: number,
): readonly Option[] => {
  const options: Option[] = []
  for (let bits = SMALLEST_BITS; bits <= largestBits; bits++)
    for (let groups = 1; groups <= windowsOf(bits); groups++) {
      const entries = Math.ceil(windowsOf(bits) / groups)
      const cost = additionCost * additions(bits, groups, full)
      options.push({ plans: [{ bits, groups, entries }], bytes: entries * count * pointBytes, cost })
    }
  return withoutWorse(options)
}

/**
 * The plans for sums of one proof with the fewest additions in all whose tables fit the budget together; where none fit,
 * those without multiples.
 * @param largestBits that there is room for
 */
export const planSums = (
  sums: readonly SumSize[],
  budgetBytes: number,
  largestBits: number,
): readonly WindowPlan[] => {
  let ways: readonly Option[] = [{ plans: [], bytes: 0, cost: 0 }]
  for (const sum of sums) {
    const options = optionsOf(sum, largestBits)
    if (options.length === 0) throw new RangeError(`no windows of ${SMALLEST_BITS} to ${largestBits} bits`)
    const joined = ways.flatMap((way) =>
      options.map(({ plans, bytes, cost }) => ({
        plans: [...way.plans, ...plans],
        bytes: way.bytes + bytes,
        cost: way.cost + cost,
      })),
    )
    const [smallest, ...others] = withoutWorse(joined)
    ways = smallest === undefined ? [] : [smallest, ...others.filter(({ bytes }) => bytes <= budgetBytes)]
  }
  // What takes most bytes costs least.
  return ways.at(-1)?.plans ?? []
}
