/** Trees and their proofs by the definitions of RFC 9162, over leaves that are counted. */
import { hash } from 'node:crypto'
import { nodeHash } from '../../../src/ledger/tree/merkle.ts'

export const leafOf = (index: number): Uint8Array => hash('sha256', `leaf ${index}`, 'buffer')
const splitOf = (size: number): number => 2 ** Math.floor(Math.log2(size - 1))

/** RFC 9162 §2.1.1, by definition. */
export const rootOf = (start: number, size: number): Uint8Array =>
  size === 1
    ? leafOf(start)
    : nodeHash(rootOf(start, splitOf(size)), rootOf(start + splitOf(size), size - splitOf(size)))

/** RFC 9162 §2.1.3.1, by definition. */
export const inclusionProof = (index: number, start: number, size: number): Uint8Array[] => {
  if (size === 1) return []
  const k = splitOf(size)
  return index < k
    ? [...inclusionProof(index, start, k), rootOf(start + k, size - k)]
    : [...inclusionProof(index - k, start + k, size - k), rootOf(start, k)]
}

/** RFC 9162 §2.1.4.1, by definition. */
export const consistencyProof = (m: number, start: number, size: number, isWhole = true): Uint8Array[] => {
  if (m === size) return isWhole ? [] : [rootOf(start, size)]
  const k = splitOf(size)
  return m <= k
    ? [...consistencyProof(m, start, k, isWhole), rootOf(start + k, size - k)]
    : [...consistencyProof(m - k, start + k, size - k, false), rootOf(start, k)]
}
