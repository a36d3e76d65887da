/** Names of an index that are worth comparing with one that is asked for. @module */
import type { Parts, Weights } from './name-index.ts'
import { agreementOf, countBits, leastShareFor, likenessOf } from './name-score.ts'
import { type AskedWords, MIN_JOINED_SIMILARITY } from './read-names.ts'
import type { WordsAlike } from './vocabulary.ts'

/** Memory for each name of the index. */
const SCRATCH_BYTES = 16
/** Names that are looked at between two pauses. */
const NAMES_PER_STEP = 20_000
/** Weights are kept with the precision of 32 bits. */
const ROUNDING = 0.1

/** What the words of a name weigh at most and at least, where it is not known exactly. */
export interface WeightBounds {
  readonly most: readonly number[]
  readonly least: readonly number[]
}

/**
 * Names that may reach a score: it is at most what the shares of both names' weight give that may be paired, and as much of that as
 * their best pair is alike.
 * @param least of the scores that are looked for
 */
export const createPromising = (
  { byWord, isPerson, readings: names }: Parts,
  { inNames, totals, initials }: Weights,
  least: number,
) => {
  const leastShare = leastShareFor(least - ROUNDING)
  /** Words that may be paired: of the asked name as bits by their position, of the listed one their weight. */
  const askedSide = new Int32Array(names)
  const listedSide = new Float32Array(names)
  /** How alike the most alike words are. */
  const best = new Float32Array(names)
  const touched = new Int32Array(names)
  let count = 0

  const add = (name: number, asked: number, listed: number, similarity: number): void => {
    if (askedSide[name] === 0) touched[count++] = name
    askedSide[name] = (askedSide[name] as number) | asked
    listedSide[name] = (listedSide[name] as number) + listed
    if (similarity > (best[name] as number)) best[name] = similarity
  }
  /** All names that have a word which is like one, or like several, of the asked name. @param lowest similarity that counts */
  function* addAll(
    { ids, similarities }: WordsAlike,
    { kind, bits, factor, lowest }: { kind: 0 | 1; bits: number; factor: number; lowest: number },
  ): Generator<void, void> {
    let looked = 0
    for (let k = 0; k < ids.length; k++) {
      const [id, similarity] = [ids[k] as number, similarities[k] as number]
      if (similarity < lowest) continue
      const holders = byWord.of(id)
      const weight = inNames[kind][id] as number
      for (let i = 0; i < holders.length; i++) {
        const name = holders[i] as number
        if (isPerson[name] === kind) add(name, bits, weight, factor * similarity)
      }
      looked += holders.length
      if (looked < NAMES_PER_STEP) continue
      looked = 0
      yield
    }
  }
  /** The largest share that the asked name may have: what is paired weighs as much as it may, and all else as little. */
  const shareOf = (bits: number, { most, least: lowest }: WeightBounds, more: number): number => {
    let [paired, rest] = [0, 0]
    for (let i = 0; i < most.length; i++)
      if (((bits >> i) & 1) === 1) paired += most[i] as number
      else rest += lowest[i] as number
    return Math.min(1, (paired + more) / (paired + rest))
  }
  const mayReach = (name: number, bounds: WeightBounds, askedInitials: number): boolean => {
    // Initials find no names, but each may stand for a word of the other name, whose weight is 1 at most.
    const more = askedInitials + (initials[name] as number)
    const theirs = Math.min(1, ((listedSide[name] as number) + more) / (totals[name] as number))
    const ours = shareOf(askedSide[name] as number, bounds, more)
    const larger = Math.max(ours, theirs)
    if (larger < leastShare) return false
    const likeness = more > 0 ? 1 : likenessOf(1 - (best[name] as number))
    return likeness * agreementOf(larger, Math.min(ours, theirs)) >= least - ROUNDING
  }
  /** Leaves nothing behind for the next search. @returns how many were taken, with those before */
  const takeSome = (
    from: number,
    to: number,
    before: number,
    bounds: WeightBounds,
    askedInitials: number,
  ): number => {
    let taken = before
    for (let i = from; i < to; i++) {
      const name = touched[i] as number
      if (mayReach(name, bounds, askedInitials)) touched[taken++] = name
      askedSide[name] = 0
      listedSide[name] = 0
      best[name] = 0
    }
    return taken
  }
  function* take(bounds: WeightBounds, askedInitials: number): Generator<void, Int32Array> {
    let taken = 0
    for (let from = 0; from < count; from += NAMES_PER_STEP) {
      taken = takeSome(from, Math.min(count, from + NAMES_PER_STEP), taken, bounds, askedInitials)
      yield
    }
    count = 0
    return touched.subarray(0, taken)
  }

  return {
    /**
     * To be run to its end before the next one begins; it may pause where it yields.
     * @param bounds of the weights of the asked name's words
     * @returns numbers of names
     */
    *search(
      asked: AskedWords,
      bounds: WeightBounds,
      joined: ReadonlySet<number>,
    ): Generator<void, Int32Array> {
      const kind = asked.isPerson ? 1 : 0
      for (const [i, alike] of asked.alike.entries())
        yield* addAll(alike, { kind, bits: 1 << i, factor: 1, lowest: 0 })
      for (const { bits, factor, alike } of asked.joined)
        yield* addAll(alike, { kind, bits, factor, lowest: MIN_JOINED_SIMILARITY })
      const all = (1 << asked.count) - 1
      for (const name of joined) if (isPerson[name] === kind) add(name, all, totals[name] as number, 1)
      return yield* take(bounds, countBits(asked.initials))
    },
    bytes: SCRATCH_BYTES * names,
  }
}
