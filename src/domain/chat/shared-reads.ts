/** Reads that many ask for at once, asked of the database once. @module */

/**
 * Equal reads that come while one runs wait for it and share the next. None joins a read that has begun, so each sees
 * everything that was committed before it was asked for.
 * @returns a function that runs `read`, or shares it with others of the same key
 */
export const createSharedReads = <R>() => {
  const reads = new Map<string, { readonly current: Promise<R>; next?: Promise<R> }>()

  const start = (key: string, read: () => Promise<R>): Promise<R> => {
    const flight: { readonly current: Promise<R>; next?: Promise<R> } = { current: read() }
    reads.set(key, flight)
    const land = () => {
      if (flight.next === undefined) reads.delete(key)
    }
    flight.current.then(land, land)
    return flight.current
  }

  return (key: string, read: () => Promise<R>): Promise<R> => {
    const flight = reads.get(key)
    if (flight === undefined) return start(key, read)
    const begin = () => start(key, read)
    flight.next ??= flight.current.then(begin, begin)
    return flight.next
  }
}
