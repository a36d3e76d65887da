/** How the service's keys follow one another: a new one is published first and signs later. @module */
import { KEYS_MAX_AGE_SECONDS } from '../protocol/key-sets.ts'

const MS_PER_SECOND = 1000
/** For servers that still remember the keys of before, and clocks that differ. */
export const MARGIN_MS = 60_000
/** A new key is published for so long before it signs, so that nobody who keeps key sets as long as they may meets an unknown one. */
export const PUBLISHED_AHEAD_MS = KEYS_MAX_AGE_SECONDS * MS_PER_SECOND + MARGIN_MS
/** How long servers remember the keys: so soon they notice a rotation, and that a key was ended. */
export const KEY_MEMORY_MS = 1000

interface Successive {
  readonly version: number
  /** Unix ms: until then it is only published. Null: it signs as soon as it is there. */
  readonly signs_from: number | null
}

/**
 * The one that signs: the newest whose time has come. A server whose clock is behind may find that none's has; then the oldest.
 * @param keys those of one kind that were not ended
 */
export const signingOf = <K extends Successive>(keys: readonly K[], now: number): K | undefined => {
  const ordered = keys.toSorted((a, b) => a.version - b.version)
  return ordered.findLast(({ signs_from }) => signs_from === null || signs_from <= now) ?? ordered[0]
}
