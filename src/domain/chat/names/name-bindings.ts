/** Who may use a name, and whom it is bound to afterwards. Decided under the head's lock. @module */
import { fail, failBeyond } from '../../../errors.ts'
import { hex, type Known, type PostUnit } from '../posts/lane-units.ts'
import type { NameRow } from '../store.ts'

/** A name that another address used unsigned so recently is not free to bind. */
export const UNSIGNED_USE_COUNTS_MS = 30 * 24 * 60 * 60 * 1000
/** Names that a key, or an address, binds are counted over so long. */
export const NEW_NAMES_WINDOW_MS = 24 * 60 * 60 * 1000
const MS_PER_SECOND = 1000
/** Times of use are noted to this precision, so that most posts need not write them. */
export const USE_PRECISION_MS = 60_000

/** Whether an address other than this one used the name unsigned lately. */
const usedByOthers = (name: NameRow, address: Buffer | undefined, at: number): boolean => {
  const isLate = (time: number | null): boolean => time !== null && at - time < UNSIGNED_USE_COUNTS_MS
  const byLast = name.unsigned_poster !== null && isLate(name.unsigned_at)
  const lastIsOther =
    address === undefined || name.unsigned_poster === null || !address.equals(name.unsigned_poster)
  return (byLast && lastIsOther) || isLate(name.others_at)
}

const freshName = (skeleton: string): NameRow => ({
  skeleton,
  last_at: 0,
  fingerprint: null,
  bound_at: null,
  bound_from: null,
  unsigned_poster: null,
  unsigned_at: null,
  others_at: null,
})

/** The name after an unsigned use. */
const usedUnsigned = (name: NameRow, address: Buffer, at: number): NameRow => {
  const isSame = name.unsigned_poster !== null && address.equals(name.unsigned_poster)
  if (isSame && name.unsigned_at !== null && at - name.unsigned_at < USE_PRECISION_MS) return name
  // Whoever used it last was the last of all but the one who uses it now.
  const others_at = isSame ? name.others_at : name.unsigned_at
  return { ...name, unsigned_poster: address, unsigned_at: at, others_at }
}

const isUnchanged = (a: NameRow, b: NameRow): boolean =>
  a.last_at === b.last_at &&
  a.fingerprint === b.fingerprint &&
  a.unsigned_at === b.unsigned_at &&
  a.others_at === b.others_at

/** @throws AppError rate_limited for one who has bound as many names as a day allows */
const refuseGreedy = (unit: PostUnit, known: Known, at: number, namesPerDay: number): void => {
  const { envelope, address } = unit
  for (const holder of [envelope?.fingerprint, address && hex(address)]) {
    const times = (holder && known.bindings.get(holder)) || []
    const recent = times.filter((time) => at - time < NEW_NAMES_WINDOW_MS).sort((a, b) => b - a)
    if (recent.length < namesPerDay) continue
    // One more may be bound once this one has left the window; never, where none may be.
    const blocking = recent[namesPerDay - 1] ?? at
    const resetSeconds = Math.ceil((blocking + NEW_NAMES_WINDOW_MS - at) / MS_PER_SECOND)
    const state = { limit: namesPerDay, remaining: 0, resetSeconds }
    const message = `At most ${namesPerDay} names can be bound in a day.`
    failBeyond(state, NEW_NAMES_WINDOW_MS / MS_PER_SECOND, at, message)
  }
}

/**
 * The name as this post leaves it, and whether it is bound to the key that signed the post.
 * @param namesPerDay names that a key, or an address, may bind in a day; Infinity: not limited
 * @throws AppError name_claimed, rate_limited
 */
export const useName = (
  unit: PostUnit,
  known: Known,
  at: number,
  namesPerDay: number,
): { readonly name: NameRow; readonly verified: boolean } => {
  const { skeleton, envelope, address } = unit
  const stored = known.names.get(skeleton) ?? freshName(skeleton)
  const name = { ...stored, last_at: at - stored.last_at >= USE_PRECISION_MS ? at : stored.last_at }
  if (name.fingerprint !== null)
    return name.fingerprint === envelope?.fingerprint ? { name, verified: true } : fail('name_claimed')
  if (envelope === undefined)
    return { name: address ? usedUnsigned(name, address, at) : name, verified: false }
  if (usedByOthers(name, address, at)) return { name, verified: false }
  refuseGreedy(unit, known, at, namesPerDay)
  const bound = { fingerprint: envelope.fingerprint, bound_at: at, bound_from: address ?? null }
  return { name: { ...name, ...bound }, verified: true }
}

/** Notes what {@link useName} made of a name. @returns the row to write, unless nothing changed; and whether it is new */
export const noteName = (
  name: NameRow,
  { names, bindings }: Known,
): { readonly row?: NameRow; readonly isNew: boolean } => {
  const before = names.get(name.skeleton)
  if (before !== undefined && isUnchanged(before, name)) return { isNew: false }
  names.set(name.skeleton, name)
  if (name.bound_at !== null && before?.fingerprint !== name.fingerprint) {
    for (const holder of [name.fingerprint, name.bound_from && hex(name.bound_from)])
      if (holder) bindings.set(holder, [...(bindings.get(holder) ?? []), name.bound_at])
  }
  return { row: name, isNew: before === undefined }
}
