/** A short memory of look-ups, so that hot paths ask the database once a second instead of once a request. @module */
import type { Clock } from '../clock.ts'

export interface Recent<V> {
  /** The value of a key: remembered, being loaded, or loaded now. Failures are not remembered. */
  get(key: string): Promise<V>
  forget(key: string): void
  /** Forgets all keys. */
  clear(): void
}

interface Remembered<V> {
  readonly value: Promise<V>
  /** Unix ms. */
  readonly at: number
}

/**
 * @param options.ttlMs how long a value is remembered, counted from the start of its look-up, so that a change
 *   holds everywhere no later than that
 * @param options.maxEntries beyond it the oldest are forgotten
 */
export const createRecent = <V>(options: {
  readonly ttlMs: number
  readonly maxEntries: number
  readonly clock: Clock
  load(key: string): Promise<V>
}): Recent<V> => {
  const { ttlMs, maxEntries, clock, load } = options
  const entries = new Map<string, Remembered<V>>()
  return {
    get(key) {
      const now = clock.now()
      const known = entries.get(key)
      if (known !== undefined && now - known.at < ttlMs && now >= known.at) return known.value
      // A real promise: knex's query builders pass for one, but run their query again at every await.
      const entry = { value: Promise.resolve(load(key)), at: now }
      // Deleted first: a Map keeps insertion order, and the first key is then the one looked up longest ago.
      entries.delete(key)
      if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? '')
      entries.set(key, entry)
      entry.value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key)
      })
      return entry.value
    },
    forget(key) {
      entries.delete(key)
    },
    clear: () => entries.clear(),
  }
}
