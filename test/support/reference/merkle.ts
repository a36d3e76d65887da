/** The Merkle tree as RFC 6962 §2.1 writes it down: recursive, slow, and independent of the product's. */
import { createHash } from 'node:crypto'

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** MTH({d(0)}) = SHA-256(0x00 || d(0)). */
export const leafHash = (data: Uint8Array): Buffer => sha256(Buffer.of(0), data)

/** MTH(D[n]) over leaf hashes, k being the largest power of two smaller than n. */
export const rootOf = (leaves: readonly Uint8Array[]): Buffer => {
  const [first] = leaves
  if (first === undefined) return sha256()
  if (leaves.length === 1) return Buffer.from(first)
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)))
}
