/** A map for a million texts. @module */

const PARTS = 256

/** The same on every run; which part a text is in matters to nobody. */
const partOf = (text: string): number => {
  let state = text.length
  for (let i = 0; i < text.length; i++) state = (Math.imul(state, 31) + text.charCodeAt(i)) | 0
  return (state ^ (state >>> 8) ^ (state >>> 16)) & (PARTS - 1)
}

/**
 * Like a `Map`, but in parts: a `Map` that has to grow copies all that it holds at once, which for a million texts keeps everybody
 * waiting for a tenth of a second.
 */
export class WideMap<Value> {
  readonly #parts = Array.from({ length: PARTS }, () => new Map<string, Value>())
  #size = 0

  get size(): number {
    return this.#size
  }

  #part(key: string): Map<string, Value> {
    return this.#parts[partOf(key)] as Map<string, Value>
  }

  get(key: string): Value | undefined {
    return this.#part(key).get(key)
  }

  has(key: string): boolean {
    return this.#part(key).has(key)
  }

  set(key: string, value: Value): void {
    const part = this.#part(key)
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
  }

  delete(key: string): void {
    if (this.#part(key).delete(key)) this.#size--
  }

  /** In no particular order, but the same at each run. */
  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const part of this.#parts) yield* part
  }
}
