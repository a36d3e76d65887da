/**
 * A queue that serves its owners in rounds, so that whoever asks for much waits for it alone. Whoever comes in the middle of a round goes before
 * those who have had their turn in it, where plain round robin would let them in first. A round ends when all have had theirs, or after
 * so many turns, since others may come without end.
 * @module
 */

/** Most turns of a round. After them, all who wait are as if they had had none, in the order in which they came or were served. */
const ROUND_TURNS = 8

export interface FairQueue<T> {
  /** How many items wait, of all owners. */
  size(): number
  /** How many items of this owner wait. */
  sizeOf(owner: string): number
  /** How many of the waiting items go before one that this owner would add now, at most. */
  ahead(owner: string): number
  /** Adds an item behind those of its owner. */
  add(owner: string, item: T): void
  /** Adds an item that was taken before those of its owner. */
  putBack(owner: string, item: T): void
  /** Takes the oldest item of the first owner that may have one and had no turn in this round, else of the first that may have one. */
  take(mayHave?: (owner: string) => boolean): T | undefined
  /** Takes up to `most` items that fit, from each owner in turn, the oldest first. All of them have had a turn then. */
  takeFitting(most: number, fits: (item: T) => boolean): T[]
  /** Takes an item back. Its owner keeps the turn for the next one. */
  remove(owner: string, item: T): void
  /** Takes all of them. */
  clear(): T[]
}

/** Makes an empty queue. @param roundTurns most turns of a round */
export const createFairQueue = <T>(roundTurns = ROUND_TURNS): FairQueue<T> => {
  /** Those that wait, in the order in which they came or were served. */
  const owners = new Map<string, T[]>()
  /** Those who have had a turn in this round, whether they wait or not. */
  const served = new Set<string>()
  let turns = 0
  let size = 0
  const sizeOf = (owner: string): number => owners.get(owner)?.length ?? 0
  const put = (owner: string, item: T, where: 'push' | 'unshift'): void => {
    const items = owners.get(owner)
    if (items === undefined) owners.set(owner, [item])
    else items[where](item)
    size += 1
  }
  const takeFrom = (owner: string, items: T[], index: number): T[] => {
    const taken = items.splice(index, 1)
    owners.delete(owner)
    if (items.length > 0) owners.set(owner, items)
    served.add(owner)
    size -= taken.length
    return taken
  }
  const beginRound = (): void => {
    served.clear()
    turns = 0
  }
  const nextOwner = (mayHave: (owner: string) => boolean): string | undefined => {
    let first: string | undefined
    for (const owner of owners.keys()) {
      if ((first !== undefined && served.has(owner)) || !mayHave(owner)) continue
      if (!served.has(owner)) return owner
      first = owner
    }
    if (first !== undefined) beginRound()
    return first
  }
  return {
    size: () => size,
    sizeOf,
    ahead(owner) {
      const own = sizeOf(owner)
      const theirs = [...owners].filter(([other]) => other !== owner).map(([, items]) => items.length)
      return theirs.reduce((sum, items) => sum + Math.min(items, own + 1), own)
    },
    add: (owner, item) => put(owner, item, 'push'),
    putBack: (owner, item) => put(owner, item, 'unshift'),
    take(mayHave = () => true) {
      if (turns >= roundTurns) beginRound()
      const owner = nextOwner(mayHave)
      if (owner === undefined) return undefined
      turns += 1
      return takeFrom(owner, owners.get(owner) ?? [], 0)[0]
    },
    takeFitting(most, fits) {
      const taken: T[] = []
      for (let before = -1; before < taken.length && taken.length < most; ) {
        before = taken.length
        for (const [owner, items] of [...owners]) {
          const index = taken.length < most ? items.findIndex(fits) : -1
          if (index >= 0) taken.push(...takeFrom(owner, items, index))
        }
      }
      return taken
    },
    remove(owner, item) {
      const items = owners.get(owner) ?? []
      const index = items.indexOf(item)
      if (index < 0) return
      items.splice(index, 1)
      if (items.length === 0) owners.delete(owner)
      size -= 1
    },
    clear() {
      const items = [...owners.values()].flat()
      owners.clear()
      size = 0
      return items
    },
  }
}

/** Makes what runs at most `most` tasks at a time. While others wait, their owners take turns. */
export const createFairLimit = (most: number) => {
  const queue = createFairQueue<() => void>()
  let running = 0
  return async <T>(owner: string, task: () => Promise<T>): Promise<T> => {
    if (running < most) running += 1
    else await new Promise<void>((begin) => queue.add(owner, begin))
    try {
      return await task()
    } finally {
      // Whoever is next gets this place.
      const begin = queue.take()
      if (begin === undefined) running -= 1
      else begin()
    }
  }
}
