/**
 * A nullifier set over JavaScript's own `Set`.
 * @module
 */

const text = (entry: Uint8Array): string => entry.join()

export interface ReferenceSet {
  has(entry: Uint8Array): boolean
  add(entry: Uint8Array): boolean
  readonly size: number
}

export const createReferenceSet = (): ReferenceSet => {
  const entries = new Set<string>()
  return {
    has: (entry) => entries.has(text(entry)),
    add(entry) {
      const before = entries.size
      return entries.add(text(entry)).size > before
    },
    get size() {
      return entries.size
    },
  }
}
