/** What a page reads from the service: while it is asked for, when it is there, and when it can't be had. @module */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { rethrowFault, wordsOf } from '../service.ts'
import { ask } from '../session.ts'
import { type Paged, type Rows, readRows } from './read-rows.ts'
import { number } from './text.tsx'

export interface Reading<T> {
  /** Undefined until it is there; what was read before stays while it is read again. */
  readonly value?: T
  /** Why it can't be had, for people. */
  readonly problem?: string
  /** Reads it again. */
  again(): Promise<void>
}

/** Does what `load` does, such as a check in the browser. @param key does it anew when it changes */
export const useWork = <T,>(key: string, load: () => Promise<T>): Reading<T> => {
  const [read, setRead] = useState<{ key: string; value?: T; problem?: string }>({ key })
  const asked = useRef(0)
  const newest = useRef(key)
  newest.current = key
  const again = useCallback(async () => {
    if (newest.current !== key) return
    const number = ++asked.current
    // An answer that comes after one to a later question is of no use any more.
    const isNewest = (): boolean => number === asked.current
    try {
      const value = await load()
      if (isNewest()) setRead({ key, value })
    } catch (error) {
      const problem = wordsOf(error)
      if (isNewest()) setRead((before) => (before.key === key ? { ...before, problem } : { key, problem }))
      rethrowFault(error)
    }
  }, [key])
  useEffect(() => {
    void again()
  }, [again])
  return read.key === key ? { ...read, again } : { again }
}

/** Reads a route. @param path with its query */
export const useReading = <T,>(path: string): Reading<T> => useWork(path, () => ask<T>('GET', path))

/** Reads a list page by page. */
export interface PagedReading<T> extends Reading<readonly T[]> {
  /** Whether older rows are still being read by the service, so that some may be missing. */
  readonly isPartial?: boolean
  /** Reads on, where there is more. */
  readonly more?: () => Promise<void>
  /** Whether it was read on since. */
  readonly isReadOn?: boolean
}

/** What was read on, and the first rows that it goes on from. */
interface Rest<T> extends Rows<T> {
  readonly first: Rows<T>
  readonly problem?: string
}

/**
 * Reads a list whose pages have a cursor. Read again, it is as long as it was: whoever did something far down finds it there.
 * @param path with its query @param rowsOf the rows of a page
 */
export const usePages = <P extends Paged, T>(
  path: string,
  rowsOf: (page: P) => readonly T[],
): PagedReading<T> => {
  const shown = useRef({ path, count: 0 })
  if (shown.current.path !== path) shown.current = { path, count: 0 }
  const readFrom = (cursor?: string): Promise<Rows<T>> =>
    readRows((address) => ask<P>('GET', address), path, rowsOf, cursor)
  const readWhatIsShown = async (): Promise<Rows<T>> => {
    const { count } = shown.current
    let added = await readFrom()
    const rows = [...added.rows]
    let { complete } = added
    while (added.next !== null && added.rows.length > 0 && rows.length < count) {
      added = await readFrom(added.next)
      rows.push(...added.rows)
      complete &&= added.complete
    }
    return { rows, next: added.next, complete }
  }
  const { value: first, problem, again } = useWork(path, readWhatIsShown)
  const [rest, setRest] = useState<Rest<T> | undefined>()
  if (first === undefined) return { problem, again }
  const read: Rest<T> = rest?.first === first ? rest : { ...first, first, rows: [] }
  const { next } = read
  const value = [...first.rows, ...read.rows]
  shown.current.count = value.length
  return {
    value,
    problem: problem ?? read.problem,
    again,
    isPartial: !read.complete,
    isReadOn: read === rest,
    ...(next !== null && {
      async more() {
        try {
          const added = await readFrom(next)
          const complete = read.complete && added.complete
          setRest({ first, rows: [...read.rows, ...added.rows], next: added.next, complete })
        } catch (error) {
          setRest({ ...read, problem: wordsOf(error) })
          rethrowFault(error)
        }
      },
    }),
  }
}

interface LoadedProps<T> {
  readonly of: Reading<T>
  children(value: T): ComponentChildren
}

/** A list of which nothing was found yet, and which goes on. */
const goesOn = (of: Reading<unknown>): boolean =>
  Array.isArray(of.value) && of.value.length === 0 && 'more' in of && of.more !== undefined

export const Loaded = <T,>({ of, children }: LoadedProps<T>) => (
  <>
    {of.problem !== undefined && (
      <div class="notice" data-tone="bad" role="alert">
        <p>{of.problem}</p>
        <button type="button" class="plain" onClick={of.again}>
          Try again
        </button>
      </div>
    )}
    {'isPartial' in of && of.isPartial && (
      <div class="notice" data-tone="warn" role="status">
        <p>Older ones are still being read by the service, after an upgrade: more may come.</p>
        <button type="button" class="plain" onClick={of.again}>
          Look again
        </button>
      </div>
    )}
    {goesOn(of) ? (
      <p role="status">Nothing like this among the newest, which were searched. There are older ones.</p>
    ) : of.value !== undefined ? (
      children(of.value)
    ) : (
      of.problem === undefined && <p role="status">Loading…</p>
    )}
  </>
)

/** Takes the focus, which was lost with the button, before the heading does. */
const End = ({ rows }: { readonly rows: number }) => {
  const end = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => {
    if (document.activeElement === document.body) end.current?.focus()
  }, [])
  return (
    <p tabIndex={-1} ref={end} class="quiet">
      The list ends here, with {number(rows)}.
    </p>
  )
}

/** Reads on below a list. */
export const More = ({ of: { value = [], more, isReadOn } }: { readonly of: PagedReading<unknown> }) =>
  more !== undefined ? (
    <p>
      <button type="button" class="plain" onClick={more}>
        Show more
      </button>
    </p>
  ) : (
    isReadOn && <End rows={value.length} />
  )
