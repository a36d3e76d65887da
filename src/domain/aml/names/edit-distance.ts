/**
 * Distance of two words in letters that were typed, heard or read wrongly: Damerau's (1964, adjacent letters exchanged), in which
 * frequent errors cost less. Without allocating.
 * @module
 */

/** Longer words are compared by their beginnings. */
const MAX_CHARACTERS = 40
const CODES = 128

const VOWELS = 'aeiouy'
const COST_VOWEL = 0.5
const COST_ALIKE = 0.6
const COST_SAME_SOUND = 0.3
const COST_LOST_VOWEL = 0.7
const COST_LOST_H = 0.5
const COST_LOST = 0.9
const COST_DOUBLED = 0.3
const COST_EXCHANGED = 0.7

/** Cost of one letter for another, by code of both. */
const substitutions = new Float64Array(CODES * CODES).fill(1)
const setCost = (pairs: string, cost: number): void => {
  for (const [a, b] of pairs.split(' ')) {
    const [first, second] = [(a as string).charCodeAt(0), (b as string).charCodeAt(0)]
    substitutions[first * CODES + second] = substitutions[second * CODES + first] = cost
  }
}
for (const a of VOWELS) setCost([...VOWELS].map((b) => a + b).join(' '), COST_VOWEL)
setCost('il bv dt gk bp mn fv hn rn cg ao 0o 1l 1i 5s 8b gq', COST_ALIKE)
setCost('iy jy ij ck kq sz vw cs uw ou ei', COST_SAME_SOUND)
for (let code = 0; code < CODES; code++) substitutions[code * CODES + code] = 0

const substitution = (a: number, b: number): number =>
  a === b ? 0 : a < CODES && b < CODES ? (substitutions[a * CODES + b] as number) : 1

const VOWEL_CODES = new Uint8Array(CODES)
for (const vowel of VOWELS) VOWEL_CODES[vowel.charCodeAt(0)] = 1
const H = 'h'.charCodeAt(0)

const SIZE = MAX_CHARACTERS + 1
const table = new Float64Array(SIZE * SIZE)
/** Of each letter of both words. */
const lossesA = new Float64Array(SIZE)
const lossesB = new Float64Array(SIZE)

/** Of the letter at `i`, which the other word lacks. */
const lossOf = (word: string, i: number, vowelCost: number): number => {
  const code = word.charCodeAt(i)
  if (i > 0 && code === word.charCodeAt(i - 1)) return COST_DOUBLED
  if (code < CODES && VOWEL_CODES[code] === 1) return vowelCost
  return code === H ? COST_LOST_H : COST_LOST
}

/** The first row and the first column: words that are lost whole. */
const begin = (a: string, la: number, b: string, lb: number, lostVowel: number): void => {
  table[0] = 0
  for (let i = 1; i <= la; i++) {
    lossesA[i] = lossOf(a, i - 1, lostVowel)
    table[i * SIZE] = (table[(i - 1) * SIZE] as number) + (lossesA[i] as number)
  }
  for (let j = 1; j <= lb; j++) {
    lossesB[j] = lossOf(b, j - 1, lostVowel)
    table[j] = (table[j - 1] as number) + (lossesB[j] as number)
  }
}

/**
 * @param most more than this need not be told exactly
 * @param lostVowel cost of a vowel that one of the words lacks
 * @returns about the count of wrong letters, or any number above `most`; symmetric
 */
export const editDistance = (
  a: string,
  b: string,
  most = Number.POSITIVE_INFINITY,
  lostVowel = COST_LOST_VOWEL,
): number => {
  const la = Math.min(a.length, MAX_CHARACTERS)
  const lb = Math.min(b.length, MAX_CHARACTERS)
  begin(a, la, b, lb, lostVowel)
  let leastBefore = 0
  for (let i = 1; i <= la; i++) {
    const ca = a.charCodeAt(i - 1)
    const before = i > 1 ? a.charCodeAt(i - 2) : -1
    const lossA = lossesA[i] as number
    let leastInRow = table[i * SIZE] as number
    for (let j = 1; j <= lb; j++) {
      const cb = b.charCodeAt(j - 1)
      const at = i * SIZE + j
      let least = (table[at - SIZE - 1] as number) + substitution(ca, cb)
      const lost = (table[at - SIZE] as number) + lossA
      if (lost < least) least = lost
      const gained = (table[at - 1] as number) + (lossesB[j] as number)
      if (gained < least) least = gained
      if (cb === before && j > 1 && ca === b.charCodeAt(j - 2) && ca !== cb) {
        const exchanged = (table[at - 2 * SIZE - 2] as number) + COST_EXCHANGED
        if (exchanged < least) least = exchanged
      }
      table[at] = least
      if (least < leastInRow) leastInRow = least
    }
    // An exchange goes over one row, so that a way to the end meets one of any two.
    if (leastInRow > most && leastBefore > most) return leastInRow
    leastBefore = leastInRow
  }
  return table[la * SIZE + lb] as number
}
