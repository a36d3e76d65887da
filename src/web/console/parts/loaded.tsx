/** What a page reads from the service: while it is asked for, when it is there, and when it can't be had. @module */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { UnreachableError } from '../../http.ts'
import { ServiceError } from '../service.ts'
import { ask } from '../session.ts'

export interface Reading<T> {
  /** Undefined until it is there; what was read before stays while it is read again. */
  readonly value?: T
  /** Why it can't be had, for people. */
  readonly problem?: string
  /** Reads it again. */
  again(): Promise<void>
}

/** @returns what is wrong, for people @throws whatever else it is */
const wordsOf = (error: unknown): string => {
  if (error instanceof ServiceError || error instanceof UnreachableError) return error.message
  throw error
}

/** Does what `load` does, such as a check in the browser. @param key does it anew when it changes */
export const useWork = <T,>(key: string, load: () => Promise<T>): Reading<T> => {
  const [read, setRead] = useState<{ key: string; value?: T; problem?: string }>({ key })
  const again = useCallback(async () => {
    try {
      const value = await load()
      setRead({ key, value })
    } catch (error) {
      const problem = wordsOf(error)
      setRead((before) => (before.key === key ? { ...before, problem } : { key, problem }))
    }
  }, [key])
  useEffect(() => {
    void again()
  }, [again])
  return read.key === key ? { ...read, again } : { again }
}

/** Reads a route. @param path with its query */
export const useReading = <T,>(path: string): Reading<T> => useWork(path, () => ask<T>('GET', path))

/** One page of a list, as routes answer it. */
interface Paged {
  readonly nextCursor: string | null
}

/** Reads a list page by page. */
export interface PagedReading<T> extends Reading<readonly T[]> {
  /** Reads on, where there is more. */
  readonly more?: () => Promise<void>
}

/**
 * Reads a list whose pages have a cursor.
 * @param path with its query @param rowsOf the rows of a page
 */
export const usePages = <P extends Paged, T>(
  path: string,
  rowsOf: (page: P) => readonly T[],
): PagedReading<T> => {
  const first = useReading<P>(path)
  const [rest, setRest] = useState<{ first?: P; rows: readonly T[]; next: string | null }>({
    rows: [],
    next: null,
  })
  const [problem, setProblem] = useState<string | undefined>()
  if (first.value === undefined) return first as Reading<never>
  const page = first.value
  // What was read on belongs to the first page that it goes on from.
  const read = rest.first === page ? rest : { rows: [], next: page.nextCursor }
  const more = async (): Promise<void> => {
    try {
      const cursor = `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(read.next ?? '')}`
      const added = await ask<P>('GET', path + cursor)
      setProblem(undefined)
      setRest({ first: page, rows: [...read.rows, ...rowsOf(added)], next: added.nextCursor })
    } catch (error) {
      setProblem(wordsOf(error))
    }
  }
  return {
    value: [...rowsOf(page), ...read.rows],
    problem: first.problem ?? problem,
    again: first.again,
    more: read.next === null ? undefined : more,
  }
}

interface LoadedProps<T> {
  readonly of: Reading<T>
  children(value: T): ComponentChildren
}

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
    {of.value !== undefined ? children(of.value) : of.problem === undefined && <p role="status">Loading…</p>}
  </>
)

/** Reads on below a list. */
export const More = ({ of }: { readonly of: PagedReading<unknown> }) =>
  of.more !== undefined && (
    <p>
      <button type="button" class="plain" onClick={of.more}>
        Show more
      </button>
    </p>
  )
