/**
 * How well two names agree: their words are paired whatever their order, each pair counts by how alike and how rare its
 * words are, and what is left over, out of order or of another legal form takes away from that.
 * @module
 */
import type { FormAgreement } from './legal-forms.ts'
import { MAX_NAME_TOKENS } from './name-tokens.ts'

/** A word of a name, or several that may be written as one. */
export interface Place {
  /** In the order in which they are joined. */
  readonly positions: readonly number[]
  /** The same as bits. */
  readonly bits: number
}

export const placeOf = (positions: readonly number[]): Place => ({
  positions,
  bits: positions.reduce((bits, i) => bits | (1 << i), 0),
})

/** Of one word, by its position. */
export const WORD_PLACES: readonly Place[] = Array.from({ length: MAX_NAME_TOKENS }, (_, i) => placeOf([i]))

/** A word of either name beside a word (or several that were written as one) of the other. */
export interface TokenPair {
  readonly first: readonly number[]
  readonly second: readonly number[]
  readonly similarity: number
}

/** Words as bits by their position, of which there are `count`. */
export interface WeightedName {
  readonly count: number
  /** Weight of each word, above 0. */
  readonly weights: ArrayLike<number>
  /** Words that by themselves can mean somebody: no initial, no particle, and nothing that many companies are called. */
  readonly telling: number
  /** Words of one letter or syllable, whose order counts. */
  readonly ordered: number
}

export interface NameScore {
  /** 0 to 100 with one decimal; 100 only where every word of both is paired with its equal and nothing speaks against it. */
  readonly score: number
  /** Of the words that agree: among equal scores, more is better. */
  readonly evidence: number
  /** How many initials or syllables stand in another order; the family name may stand at either end. */
  readonly outOfOrder: number
}

/** What words take away that only the longer name has: a name without its middle name is nearly the name. */
const EXTRA_WORDS_SHARE = 0.15
/** Where both names have words that the other lacks, they count for more than their share. */
const CONFLICT_POWER = 1.2
/** One word alone is no name, however rare, when the other name has more. */
export const ONE_WORD_SCORE = 80
/** But many companies are called by one of two, which is enough for review where it is as rare as this, both sides together. */
const COMPANY_WORD_SCORE = 90
const COMPANY_WORD_WEIGHT = 1.4
/** A name that lacks a word which says who is meant is for review at most. */
const LACKING_SCORE = 94.9
/** An initial and a family name are for review at most. */
const INITIAL_EVIDENCE = 0.5
const INITIAL_SCORE = 90
/** Initials and particles alone say nothing, unless the other name has nothing else either. */
const NO_WORD_SCORE = 50
/** What differences of words that are alike take away, in proportion to them. */
const DIFFERENCE_FACTOR = 1.02
const OUT_OF_ORDER_POINTS = 9
const MAX_OUT_OF_ORDER_POINTS = 27
const FORM_POINTS: Readonly<Record<FormAgreement, number>> = {
  same: 0,
  missing: 1,
  translated: 1.5,
  differs: 10,
}

/**
 * What names reach by how much of them is paired.
 * @param more share of the weight of the name of which more is paired
 * @param less of the other one
 * @returns 0 to 100
 */
export const agreementOf = (more: number, less: number): number =>
  100 * more ** CONFLICT_POWER * (1 - EXTRA_WORDS_SHARE * (1 - less))

/** How alike paired words are together. @param unlike how unlike they are, 0 to 1 */
export const likenessOf = (unlike: number): number => Math.max(0, 1 - DIFFERENCE_FACTOR * unlike)

/** What the larger of both shares must be for {@link agreementOf} to reach an agreement. */
export const leastShareFor = (agreement: number): number => (agreement / 100) ** (1 / CONFLICT_POWER)

export const countBits = (bits: number): number => {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

const sumAt = (values: ArrayLike<number>, positions: readonly number[]): number => {
  let total = 0
  for (let i = 0; i < positions.length; i++) total += values[positions[i] as number] as number
  return total
}

const sumOf = ({ weights, count }: WeightedName): number => {
  let total = 0
  for (let i = 0; i < count; i++) total += weights[i] as number
  return total
}

/**
 * @param most telling words of the name that has more of them
 * @param hasEqual whether any word is in both
 * @param oneOfTwoScore what one word of two reaches
 */
const limitOf = (evidence: number, most: number, hasEqual: boolean, oneOfTwoScore: number): number => {
  if (most === 0) return hasEqual ? 100 : NO_WORD_SCORE
  if (evidence >= Math.min(2, most)) return 100
  if (evidence < 1) return NO_WORD_SCORE
  if (evidence > 1) return INITIAL_SCORE
  return most === 2 ? oneOfTwoScore : ONE_WORD_SCORE
}

/** The name that is asked for, which is a person's or a company's. */
type AskedName = WeightedName & { readonly isPerson: boolean }

const firstOf = (place: Place): number => place.positions[0] as number

interface Pair {
  first: Place
  second: Place
  similarity: number
  /** What its words weigh, and that by how alike they are. */
  weight: number
  value: number
}

/**
 * Of two pairs of the same likeness and weight the one whose words stand in the same place, then the one that comes first in the
 * first name, then in the second, so that the outcome does not depend on the order in which pairs were found.
 */
const isBetter = (a: Pair, b: Pair): boolean => {
  if (a.similarity !== b.similarity) return a.similarity > b.similarity
  if (a.value !== b.value) return a.value > b.value
  const shift =
    Math.abs(firstOf(a.first) - firstOf(a.second)) - Math.abs(firstOf(b.first) - firstOf(b.second))
  const order = shift || firstOf(a.first) - firstOf(b.first) || firstOf(a.second) - firstOf(b.second)
  return order < 0
}

/**
 * Pairs of words of two names, and what they come to. For one name that is asked for, many thousands may have to be compared: one
 * scorer serves them all, one after the other, and allocates nothing for each.
 */
export class NameScorer implements NameScore {
  score = 0
  evidence = 0
  outOfOrder = 0
  readonly #pairs: Pair[] = []
  #count = 0
  readonly #chosen: Pair[] = []
  readonly #places = new Int8Array(MAX_NAME_TOKENS)

  /** Forgets the pairs of the names before. */
  clear(): void {
    this.#count = 0
  }

  /** @param similarity above 0, up to 1 */
  add(first: Place, second: Place, similarity: number): void {
    const pair = this.#pairs[this.#count]
    if (pair === undefined) this.#pairs.push({ first, second, similarity, weight: 0, value: 0 })
    else {
      pair.first = first
      pair.second = second
      pair.similarity = similarity
    }
    this.#count++
  }

  /** Those that made the score, best first. */
  pairs(): TokenPair[] {
    return this.#chosen.map(({ first, second, similarity }) => ({
      first: first.positions,
      second: second.positions,
      similarity,
    }))
  }

  /** Sets the score from the pairs. @param form how the legal forms agree; undefined where neither name has one */
  run(first: AskedName, second: WeightedName, form: FormAgreement | undefined): void {
    this.#choose(first, second)
    this.score = this.evidence = this.outOfOrder = 0
    const chosen = this.#chosen
    if (chosen.length === 0) return
    let [ours, theirs, weight, unlike] = [0, 0, 0, 0]
    for (let i = 0; i < chosen.length; i++) {
      const pair = chosen[i] as Pair
      ours += sumAt(first.weights, pair.first.positions)
      theirs += sumAt(second.weights, pair.second.positions)
      weight += pair.weight
      unlike += pair.weight * (1 - pair.similarity)
    }
    const a = ours / sumOf(first)
    const b = theirs / sumOf(second)
    const likeness = likenessOf(unlike / weight)
    this.#countOutOfOrder(first, second)
    const disorder = Math.min(MAX_OUT_OF_ORDER_POINTS, OUT_OF_ORDER_POINTS * this.outOfOrder)
    const taken = disorder + (form === undefined ? 0 : FORM_POINTS[form])
    const agreed = likeness * agreementOf(Math.max(a, b), Math.min(a, b)) - taken
    const bounded = Math.max(0, Math.min(agreed, this.#limit(first, second)))
    this.score = Math.floor(bounded * 10 + 1e-6) / 10
    this.evidence = weight * likeness
  }

  /** The best pairs first, each word in one pair at most. */
  #choose(first: WeightedName, second: WeightedName): void {
    const pairs = this.#pairs
    for (let i = 0; i < this.#count; i++) {
      const pair = pairs[i] as Pair
      pair.weight = sumAt(first.weights, pair.first.positions) + sumAt(second.weights, pair.second.positions)
      pair.value = pair.similarity * pair.weight
    }
    this.#chosen.length = 0
    let usedFirst = 0
    let usedSecond = 0
    for (;;) {
      let best: Pair | undefined
      for (let i = 0; i < this.#count; i++) {
        const pair = pairs[i] as Pair
        if ((pair.first.bits & usedFirst) !== 0 || (pair.second.bits & usedSecond) !== 0) continue
        if (best === undefined || isBetter(pair, best)) best = pair
      }
      if (best === undefined) return
      usedFirst |= best.first.bits
      usedSecond |= best.second.bits
      this.#chosen.push(best)
    }
  }

  /**
   * By the words that say who is meant: two that were written as one count as two, an initial that fits as half of one, and as nothing
   * without a word.
   */
  #limit(first: AskedName, second: WeightedName): number {
    let evidence = 0
    let [lackedByFirst, lackedBySecond] = [second.telling, first.telling]
    let oneOfTwoScore = ONE_WORD_SCORE
    let hasWord = false
    let hasEqual = false
    for (let i = 0; i < this.#chosen.length; i++) {
      const pair = this.#chosen[i] as Pair
      const a = countBits(first.telling & pair.first.bits)
      const b = countBits(second.telling & pair.second.bits)
      if (a > 0 && b > 0) hasWord = true
      if (a > 0 && b > 0 && !first.isPerson && pair.weight >= COMPANY_WORD_WEIGHT)
        oneOfTwoScore = COMPANY_WORD_SCORE
      lackedBySecond &= ~pair.first.bits
      lackedByFirst &= ~pair.second.bits
      evidence += a > 0 && b > 0 ? Math.max(a, b) : a + b > 0 ? INITIAL_EVIDENCE : 0
      if (pair.similarity === 1) hasEqual = true
    }
    const most = Math.max(countBits(first.telling), countBits(second.telling))
    const limit = limitOf(hasWord ? evidence : 0, most, hasEqual, oneOfTwoScore)
    return (lackedByFirst | lackedBySecond) === 0 ? limit : Math.min(limit, LACKING_SCORE)
  }

  #countOutOfOrder(first: WeightedName, second: WeightedName): void {
    if (first.ordered === 0 || second.ordered === 0) return
    /** Places in the second name, by that in the first. */
    const places = this.#places.fill(-1)
    for (let i = 0; i < this.#chosen.length; i++) {
      const pair = this.#chosen[i] as Pair
      const a = firstOf(pair.first)
      const b = firstOf(pair.second)
      if (((first.ordered >> a) & (second.ordered >> b) & 1) === 1) places[a] = b
    }
    let [drops, count, start, last] = [0, 0, -1, -1]
    for (let i = 0; i < places.length; i++) {
      const place = places[i] as number
      if (place < 0) continue
      if (count++ === 0) start = place
      else if (place < last) drops++
      last = place
    }
    const isRotation = drops === 1 && last < start && count > 2
    this.outOfOrder = isRotation ? 0 : drops
  }
}
