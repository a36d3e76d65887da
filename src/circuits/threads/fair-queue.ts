/** A queue that serves its owners in turn, so that whoever asks for much waits for it alone. @module */

export interface FairQueue<T> {
  /** How many items wait, of all owners. */
  size(): number
  /** How many items of this owner wait. */
  sizeOf(owner: string): number
  /** How many of the waiting items go before one that this owner would add now. */
  ahead(owner: string): number
  /** Adds an item behind those of its owner. */
  add(owner: string, item: T): void
  /** Takes the oldest item of the first owner in turn that may have it, who then has the last turn of all. */
  take(mayHave?: (owner: string) => boolean): T | undefined
  /** Takes up to `most` items that fit, from each owner in turn, the oldest first. */
  takeFitting(most: number, fits: (item: T) => boolean): T[]
  /** Takes an item back. Its owner keeps the turn for the next one. */
  remove(owner: string, item: T): void
  /** Takes all of them. */
  clear(): T[]
}

/** Makes an empty queue. */
export const createFairQueue = <T>(): FairQueue<T> => {
  /** In the order of their turns; an owner without items has none. */
  const owners = new Map<string, T[]>()
  let size = 0
  const sizeOf = (owner: string): number => owners.get(owner)?.length ?? 0
  /** Takes one item of an owner, who then has the last turn of all. */
  const takeFrom = (owner: string, items: T[], index: number): T[] => {
    const taken = items.splice(index, 1)
    owners.delete(owner)
    if (items.length > 0) owners.set(owner, items)
    size -= taken.length
    return taken
  }
  return {
    size: () => size,
    sizeOf,
    ahead(owner) {
      const own = sizeOf(owner)
      const theirs = [...owners].filter(([other]) => other !== owner).map(([, items]) => items.length)
      return theirs.reduce((sum, items) => sum + Math.min(items, own + 1), own)
    },
    add(owner, item) {
      const items = owners.get(owner)
      if (items === undefined) owners.set(owner, [item])
      else items.push(item)
      size += 1
    },
    take(mayHave = () => true) {
      for (const [owner, items] of owners) if (mayHave(owner)) return takeFrom(owner, items, 0)[0]
      return undefined
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
