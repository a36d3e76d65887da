/** Reads on in a list whose pages may have no rows, and not be the last. @module */

/** Of a list that is searched: a server looks through ten thousand rows for each. */
const MAX_PAGES_WITHOUT_ROWS = 10

/** One page of a list, as routes answer it; those that agents ask as well write names in another way. */
export type Paged = ({ readonly nextCursor: string | null } | { readonly next_cursor: string | null }) & {
  /** False while older rows are still being read in the background: some may be missing. */
  readonly complete?: boolean
}

export interface Rows<T> {
  readonly rows: readonly T[]
  /** What the next page is asked with; null at the end. */
  readonly next: string | null
  /** Whether none is missing, of all pages that were read. */
  readonly complete: boolean
}

const cursorOf = (page: Paged): string | null => ('nextCursor' in page ? page.nextCursor : page.next_cursor)

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
  let complete = true
  for (let pages = 0; pages < MAX_PAGES_WITHOUT_ROWS; pages++) {
    const mark = path.includes('?') ? '&' : '?'
    const page = await ask(next === null ? path : `${path}${mark}cursor=${encodeURIComponent(next)}`)
    const rows = rowsOf(page)
    next = cursorOf(page)
    complete &&= page.complete !== false
    if (rows.length > 0 || next === null) return { rows, next, complete }
  }
  return { rows: [], next, complete }
}
