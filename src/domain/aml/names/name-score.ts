/**
 * How well two names agree: their words are paired whatever their order, each pair counts by how alike and how rare its
 * words are.
 * @module
 */

/** A word of either name beside a word (or two that were written as one) of the other. */
export interface TokenPair {
  /** Positions in the first name: one word, or two that stand beside each other. */
  readonly first: readonly number[]
  readonly second: readonly number[]
  readonly similarity: number
}

export interface WeightedName {
  /** Weight of each word, above 0. */
  readonly weights: readonly number[]
  /** Whether a word by itself can mean somebody: no initial and no particle. */
  readonly telling: readonly boolean[]
}

/** What words take away that only the longer name has: a name without its middle name is nearly the name. */
const EXTRA_WORDS_SHARE = 0.25
/** One word alone is no name, however rare, when the other name has more. */
export const ONE_WORD_SCORE = 80
/** An initial and a family name are for review at most. */
const INITIAL_EVIDENCE = 0.5
const INITIAL_SCORE = 90
/** Initials and particles alone say nothing, unless the other name has nothing else either. */
const NO_WORD_SCORE = 50
/** Words that differ count against a name more than in proportion. */
const DIFFERENCE_FACTOR = 1.15

const sum = (values: readonly number[], positions: readonly number[]): number =>
  positions.reduce((total, i) => total + (values[i] as number), 0)

const isFree = (used: ReadonlySet<number>, positions: readonly number[]): boolean =>
  positions.every((i) => !used.has(i))

/**
 * The best pairs first, each word in one pair at most. Ties go to the pair that comes first in the first name, then in
 * the second, so that the outcome does not depend on the order in which pairs were found.
 */
const choosePairs = (first: WeightedName, pairs: readonly TokenPair[]): TokenPair[] => {
  const value = (pair: TokenPair): number => pair.similarity * sum(first.weights, pair.first)
  const inOrder = pairs.toSorted(
    (a, b) =>
      b.similarity - a.similarity ||
      value(b) - value(a) ||
      (a.first[0] as number) - (b.first[0] as number) ||
      (a.second[0] as number) - (b.second[0] as number),
  )
  const usedFirst = new Set<number>()
  const usedSecond = new Set<number>()
  return inOrder.filter((pair) => {
    if (!isFree(usedFirst, pair.first) || !isFree(usedSecond, pair.second)) return false
    for (const i of pair.first) usedFirst.add(i)
    for (const i of pair.second) usedSecond.add(i)
    return true
  })
}

const countTelling = ({ telling }: WeightedName, positions: readonly number[]): number =>
  positions.filter((i) => telling[i]).length

const all = (name: WeightedName): number[] => name.weights.map((_, i) => i)

/** Words that say who is meant; two that were written as one count as two, an initial that fits as half of one. */
const evidenceOf = (first: WeightedName, second: WeightedName, pair: TokenPair): number => {
  const [a, b] = [countTelling(first, pair.first), countTelling(second, pair.second)]
  if (a > 0 && b > 0) return Math.max(a, b)
  return a + b > 0 ? INITIAL_EVIDENCE : 0
}

/** Initials add to words and are nothing by themselves. */
const sumEvidence = (parts: readonly number[]): number =>
  parts.some((part) => part >= 1) ? parts.reduce((total, part) => total + part, 0) : 0

/**
 * @param most telling words of the name that has more of them
 * @param hasEqual whether any word is in both
 */
const limitOf = (evidence: number, most: number, hasEqual: boolean): number => {
  if (most === 0) return hasEqual ? 100 : NO_WORD_SCORE
  if (evidence >= Math.min(2, most)) return 100
  if (evidence < 1) return NO_WORD_SCORE
  return evidence > 1 ? INITIAL_SCORE : ONE_WORD_SCORE
}

/**
 * @param pairs every pair of words that are alike
 * @returns 0 to 100 with one decimal; 100 only where every word of both is paired with its equal
 */
export const scoreNames = (
  first: WeightedName,
  second: WeightedName,
  pairs: readonly TokenPair[],
): number => {
  const chosen = choosePairs(first, pairs)
  if (chosen.length === 0) return 0
  const pairedFirst = chosen.flatMap((pair) => pair.first)
  const pairedSecond = chosen.flatMap((pair) => pair.second)
  const totals = [sum(first.weights, all(first)), sum(second.weights, all(second))] as const
  const covered = [
    sum(first.weights, pairedFirst) / totals[0],
    sum(second.weights, pairedSecond) / totals[1],
  ] as const
  const [shorter, longer] = totals[0] <= totals[1] ? covered : [covered[1], covered[0]]
  const weightOf = (pair: TokenPair): number =>
    sum(first.weights, pair.first) + sum(second.weights, pair.second)
  const weight = chosen.reduce((total, pair) => total + weightOf(pair), 0)
  const unlike = chosen.reduce((total, pair) => total + weightOf(pair) * (1 - pair.similarity), 0) / weight
  const likeness = Math.max(0, 1 - DIFFERENCE_FACTOR * unlike)
  const score = 100 * likeness * shorter * (1 - EXTRA_WORDS_SHARE * (1 - longer))
  const evidence = sumEvidence(chosen.map((pair) => evidenceOf(first, second, pair)))
  const most = Math.max(countTelling(first, all(first)), countTelling(second, all(second)))
  const hasEqual = chosen.some(({ similarity }) => similarity === 1)
  const limit = limitOf(evidence, most, hasEqual)
  const bounded = Math.min(score, limit)
  return Math.floor(bounded * 10 + 1e-6) / 10
}
