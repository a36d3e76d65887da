/**
 * k-anonymous counts. Days are divided by type, and types by hour; what has too few subjects is merged with the next
 * smallest until the merged part has enough. Each division refines the one before, and what is merged for one k is part
 * of what is merged for a greater k: so the difference of two answers is again made of whole groups that were
 * released, and never of a smaller one.
 * @module
 */

/** What one subject did in one hour with one type of entry. */
export interface Cell {
  /** Hours since 1970-01-01T00Z. */
  readonly hour: number
  readonly type: string
  /** Pseudonym. */
  readonly subject: string
  readonly entries: number
}

/** How far a day is divided. */
export type Division = 'day' | 'type' | 'hour'

export interface Group {
  /** Days since 1970-01-01. */
  readonly day: number
  /** Hours since 1970-01-01T00Z; undefined: the day, or what is left of it. */
  readonly hour?: number
  /** Undefined: several. */
  readonly type?: string
  readonly merged: boolean
  readonly entries: number
  /** Distinct subjects, at least k. */
  readonly subjects: number
}

export interface Released {
  readonly groups: readonly Group[]
  /** Days with fewer than k subjects. */
  readonly suppressed: number
}

const HOURS_PER_DAY = 24

const distinct = (cells: readonly Cell[]): number => new Set(cells.map(({ subject }) => subject)).size
const total = (cells: readonly Cell[]): number => cells.reduce((sum, { entries }) => sum + entries, 0)

const groupBy = <K>(cells: readonly Cell[], keyOf: (cell: Cell) => K): Map<K, Cell[]> => {
  const groups = new Map<K, Cell[]>()
  for (const cell of cells) {
    const key = keyOf(cell)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [cell])
    else group.push(cell)
  }
  return groups
}

interface Divided<K> {
  readonly own: readonly (readonly [K, readonly Cell[]])[]
  /** Empty when every part stands by itself. */
  readonly merged: readonly Cell[]
}

/** Divides cells that have at least k subjects together, so that each part has. */
const divide = <K extends string | number>(
  cells: readonly Cell[],
  keyOf: (cell: Cell) => K,
  k: number,
): Divided<K> => {
  const parts = [...groupBy(cells, keyOf)]
    .map(([key, part]) => ({ key, part, subjects: distinct(part) }))
    .sort((a, b) => a.subjects - b.subjects || (a.key < b.key ? -1 : 1))
  const merged: Cell[] = []
  const subjects = new Set<string>()
  let taken = 0
  for (const { part, subjects: count } of parts) {
    if (count >= k && (taken === 0 || subjects.size >= k)) break
    for (const cell of part) {
      merged.push(cell)
      subjects.add(cell.subject)
    }
    taken++
  }
  return { own: parts.slice(taken).map(({ key, part }) => [key, part] as const), merged }
}

const toGroup = (
  day: number,
  cells: readonly Cell[],
  more: Partial<Pick<Group, 'hour' | 'type' | 'merged'>>,
): Group => ({ day, merged: false, ...more, entries: total(cells), subjects: distinct(cells) })

const releaseType = (day: number, type: string, cells: readonly Cell[], k: number): Group[] => {
  const { own, merged } = divide(cells, ({ hour }) => hour, k)
  const groups = own
    .map(([hour, part]) => toGroup(day, part, { type, hour }))
    .sort((a, b) => (a.hour ?? 0) - (b.hour ?? 0))
  return merged.length > 0 ? [...groups, toGroup(day, merged, { type, merged: true })] : groups
}

/** One day. @returns undefined when it has fewer than k subjects */
const releaseDay = (
  day: number,
  cells: readonly Cell[],
  k: number,
  division: Division,
): Group[] | undefined => {
  if (distinct(cells) < k) return undefined
  if (division === 'day') return [toGroup(day, cells, {})]
  const { own, merged } = divide(cells, ({ type }) => type, k)
  const groups = own
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([type, part]) =>
      division === 'type' ? [toGroup(day, part, { type })] : releaseType(day, type, part, k),
    )
  return merged.length > 0 ? [...groups, toGroup(day, merged, { merged: true })] : groups
}

/** Groups of at least k distinct subjects each, the earliest day first. */
export const release = (cells: readonly Cell[], k: number, division: Division): Released => {
  const days = [...groupBy(cells, ({ hour }) => Math.floor(hour / HOURS_PER_DAY))].sort(([a], [b]) => a - b)
  const released = days.map(([day, part]) => releaseDay(day, part, k, division))
  return {
    groups: released.flatMap((groups) => groups ?? []),
    suppressed: released.filter((groups) => groups === undefined).length,
  }
}
