/** Jaro-Winkler as its definition reads, with lists. Of two texts the shorter is gone through first, or the lesser. @module */

/** Window ⌊max/2⌋ − 1, prefix of 4 at most, weight 0.1. */
export const referenceJaroWinkler = (x: string, y: string): number => {
  const [a = '', b = ''] = [x, y].toSorted((p, q) => p.length - q.length || (p < q ? -1 : 1))
  if (a === '') return b === '' ? 1 : 0
  const reach = Math.max(0, Math.floor(b.length / 2) - 1)
  const taken: number[] = []
  const common = [...a].filter((letter, i) => {
    const at = [...b].findIndex(
      (other, j) => other === letter && Math.abs(i - j) <= reach && !taken.includes(j),
    )
    if (at >= 0) taken.push(at)
    return at >= 0
  })
  if (common.length === 0) return 0
  const other = taken.toSorted((p, q) => p - q).map((j) => b[j])
  const transpositions = common.filter((letter, i) => letter !== other[i]).length / 2
  const m = common.length
  const jaro = (m / a.length + m / b.length + (m - transpositions) / m) / 3
  let prefix = 0
  while (prefix < 4 && prefix < a.length && a[prefix] === b[prefix]) prefix++
  return jaro + 0.1 * prefix * (1 - jaro)
}
