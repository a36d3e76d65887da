/** Reads on in a list whose pages may have no rows, and not be the last. @module */

/** Of a list that is searched: a server looks through ten thousand rows for each. */
const MAX_PAGES_WITHOUT_ROWS = 10

/** One page of a list, as routes answer it. */
export interface Paged {
  readonly nextCursor: string | null
}

export interface Rows<T> {
  readonly rows: readonly T[]
  /** What the next page is asked with; null at the end. */
  readonly next: string | null
}

/**
 * Reads a page, and those after it until one has rows, within bounds.
 * @param ask gets a page @param path with its query @param cursor of the page; undefined: the first
 * @returns no rows, and `next`, where more of the list has to be searched
 */
export const readRows = async <P extends Paged, T>(
  ask: (path: string) => Promise<P>,
  path: string,
  rowsOf: (page: P) => readonly T[],
  cursor?: string,
): Promise<Rows<T>> => {
  let next: string | null = cursor ?? null
  for (let pages = 0; pages < MAX_PAGES_WITHOUT_ROWS; pages++) {
    const mark = path.includes('?') ? '&' : '?'
    const page = await ask(next === null ? path : `${path}${mark}cursor=${encodeURIComponent(next)}`)
    const rows = rowsOf(page)
    if (rows.length > 0 || page.nextCursor === null) return { rows, next: page.nextCursor }
    next = page.nextCursor
  }
  return { rows: [], next }
}
