/**
 * Which subtrees a Merkle proof is made of: audit paths and consistency proofs of RFC 6962 §2.1.1 and §2.1.2
 * (RFC 9162 §2.1.3, §2.1.4), as ranges of leaves and as the perfect subtrees these fall into. Pure arithmetic;
 * sizes up to 2^53. Runs in browsers too.
 * @module
 */

/** Leaves `from` up to, but not including, `to`. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The leaves `index` · 2^`height` up to, but not including, (`index` + 1) · 2^`height`. */
export interface Subtree {
  readonly height: number
  readonly index: number
}

/** The greatest power of two that is smaller than n, for n > 1. */
const splitOf = (n: number): number => {
  let power = 1
  while (power * 2 < n) power *= 2
  return power
}

/**
 * Ranges whose hashes make the audit path of a leaf, from the leaf upwards; RFC 6962 §2.1.1.
 * @throws RangeError unless 0 ≤ index < size
 */
export const inclusionRanges = (index: number, size: number): Range[] => {
  if (!(index >= 0 && index < size)) throw new RangeError(`A tree of ${size} leaves has no leaf ${index}.`)
  const path: Range[] = []
  let from = 0
  let to = size
  while (to - from > 1) {
    const middle = from + splitOf(to - from)
    if (index < middle) {
      path.push({ from: middle, to })
      to = middle
    } else {
      path.push({ from, to: middle })
      from = middle
    }
  }
  return path.reverse()
}

/**
 * Ranges whose hashes prove that the tree of `earlier` leaves is the beginning of the tree of `later` ones; RFC 6962
 * §2.1.2. Nothing is needed for an empty tree, nor for two of one size.
 * @throws RangeError unless 0 ≤ earlier ≤ later
 */
export const consistencyRanges = (earlier: number, later: number): Range[] => {
  if (!(earlier >= 0 && earlier <= later))
    throw new RangeError(`${earlier} leaves don't become ${later} by appending.`)
  if (earlier === 0) return []
  const path: Range[] = []
  let from = 0
  let to = later
  while (earlier < to) {
    const middle = from + splitOf(to - from)
    if (earlier <= middle) {
      path.push({ from: middle, to })
      to = middle
    } else {
      path.push({ from, to: middle })
      from = middle
    }
  }
  // The verifier knows the root of the earlier tree, but not of a part of it.
  if (from > 0) path.push({ from, to })
  return path.reverse()
}

/** The perfect subtrees that a range of the tree falls into, from the left: at most log2 of its length. */
export const subtreesOf = ({ from, to }: Range): Subtree[] => {
  const subtrees: Subtree[] = []
  for (let start = from; start < to; ) {
    let height = 0
    let length = 1
    while (length * 2 <= to - start) {
      length *= 2
      height++
    }
    subtrees.push({ height, index: start / length })
    start += length
  }
  return subtrees
}
