/** Verifies audit paths: RFC 9162 §2.1.3.2. @module */
import { nodeHash } from './merkle.ts'

/**
 * The root that a leaf and its audit path lead to.
 * @param hashes from the leaf upwards
 * @returns undefined when there are too few or too many for this place of a tree of `size` leaves
 */
export const foldInclusion = (
  leaf: Uint8Array,
  index: number,
  size: number,
  hashes: readonly Uint8Array[],
): Uint8Array | undefined => {
  if (!(index >= 0 && index < size)) return undefined
  let [place, last] = [index, size - 1]
  let node = leaf
  for (const hash of hashes) {
    if (last === 0) return undefined
    if (place % 2 === 1 || place === last) {
      node = nodeHash(hash, node)
      while (place % 2 === 0 && place !== 0) {
        place = Math.floor(place / 2)
        last = Math.floor(last / 2)
      }
    } else node = nodeHash(node, hash)
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? node : undefined
}
