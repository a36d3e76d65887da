/**
 * Jaro-Winkler similarity (W. E. Winkler, "String Comparator Metrics and Enhanced Decision Rules in the Fellegi-Sunter
 * Model of Record Linkage", 1990). Works on UTF-16 units, without allocating.
 * @module
 */

const PREFIX_WEIGHT = 0.1
const MAX_PREFIX = 4
/** Longer texts are compared by their beginnings. */
const MAX_CHARACTERS = 64

const matchedA = new Uint8Array(MAX_CHARACTERS)
const matchedB = new Uint8Array(MAX_CHARACTERS)

/** Marks the characters that agree within the window. @returns how many */
const markMatches = (a: string, b: string, la: number, lb: number): number => {
  matchedA.fill(0, 0, la)
  matchedB.fill(0, 0, lb)
  const window = Math.max(0, (Math.max(la, lb) >> 1) - 1)
  let matches = 0
  for (let i = 0; i < la; i++) {
    const unit = a.charCodeAt(i)
    const end = Math.min(lb - 1, i + window)
    for (let j = Math.max(0, i - window); j <= end; j++) {
      if (matchedB[j] || b.charCodeAt(j) !== unit) continue
      matchedA[i] = matchedB[j] = 1
      matches++
      break
    }
  }
  return matches
}

/** How many of the marked characters are not in the same order. */
const countOutOfOrder = (a: string, b: string, la: number): number => {
  let outOfOrder = 0
  for (let i = 0, j = 0; i < la; i++) {
    if (!matchedA[i]) continue
    while (!matchedB[j]) j++
    if (a.charCodeAt(i) !== b.charCodeAt(j)) outOfOrder++
    j++
  }
  return outOfOrder
}

/** @returns 0 (nothing in common) to 1 (equal); symmetric */
export const jaroWinkler = (a: string, b: string): number => {
  if (a === b) return 1
  // The shorter one first: the greedy marking then goes through as few characters as it can.
  const [first, second] = a.length < b.length || (a.length === b.length && a < b) ? [a, b] : [b, a]
  const la = Math.min(first.length, MAX_CHARACTERS)
  const lb = Math.min(second.length, MAX_CHARACTERS)
  if (la === 0) return 0
  const matches = markMatches(first, second, la, lb)
  if (matches === 0) return 0
  const transpositions = countOutOfOrder(first, second, la) / 2
  const jaro = (matches / la + matches / lb + (matches - transpositions) / matches) / 3
  let prefix = 0
  while (prefix < MAX_PREFIX && prefix < la && first.charCodeAt(prefix) === second.charCodeAt(prefix))
    prefix++
  return jaro + prefix * PREFIX_WEIGHT * (1 - jaro)
}
