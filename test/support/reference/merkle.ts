/** The Merkle tree as RFC 6962 §2.1 writes it down: recursive, slow, and independent of the product's. */
import { createHash } from 'node:crypto'

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** MTH({d(0)}) = SHA-256(0x00 || d(0)). */
export const leafHash = (data: Uint8Array): Buffer => sha256(Buffer.of(0), data)

/** What stands above two subtrees: SHA-256(0x01 || left || right). */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right)

/** MTH(D[n]) over leaf hashes, k being the largest power of two smaller than n. */
export const rootOf = (leaves: readonly Uint8Array[]): Buffer => {
  const [first] = leaves
  if (first === undefined) return sha256()
  if (leaves.length === 1) return Buffer.from(first)
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return nodeHash(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)))
}

const splitOf = (n: number): number => {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** PATH(m, D[n]) of RFC 6962 §2.1.1. */
export const inclusionPath = (m: number, leaves: readonly Uint8Array[]): Buffer[] => {
  if (leaves.length === 1) return []
  const k = splitOf(leaves.length)
  return m < k
    ? [...inclusionPath(m, leaves.slice(0, k)), rootOf(leaves.slice(k))]
    : [...inclusionPath(m - k, leaves.slice(k)), rootOf(leaves.slice(0, k))]
}

/** SUBPROOF(m, D[n], b) of RFC 6962 §2.1.2. */
const subproof = (m: number, leaves: readonly Uint8Array[], known: boolean): Buffer[] => {
  if (m === leaves.length) return known ? [] : [rootOf(leaves)]
  const k = splitOf(leaves.length)
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), known), rootOf(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), rootOf(leaves.slice(0, k))]
}

/** PROOF(m, D[n]) of RFC 6962 §2.1.2; nothing for an empty tree. */
export const consistencyProof = (m: number, leaves: readonly Uint8Array[]): Buffer[] =>
  m === 0 ? [] : subproof(m, leaves, true)
