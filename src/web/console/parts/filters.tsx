/** What a list is narrowed to. It stands in the address, so that it can be kept and sent to others. @module */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/** The filters of the address, by the names of the query parameters of the list's route. @returns '' or `?…` */
export const queryOf = (query: Readonly<Record<string, string>>, names: readonly string[]): string => {
  const given = names.flatMap((name) => (query[name] ? [[name, query[name]]] : []))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

interface FiltersProps {
  /** Names of the fields, which are those of the query parameters. */
  readonly names: readonly string[]
  readonly children: ComponentChildren
}

/** A form whose fields become the query of the address; empty ones are left out. */
export const Filters = ({ names, children }: FiltersProps) => {
  const { path, url, route } = useLocation()
  const button = useRef<HTMLButtonElement>(null)
  const isUsed = useRef(false)
  // The form begins anew, and what had the focus is gone with the one before.
  useEffect(() => {
    if (isUsed.current) button.current?.focus()
    isUsed.current = false
  }, [url])
  const use = (): void => {
    isUsed.current = true
  }
  return (
    <form
      key={url}
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault()
        use()
        const values = new FormData(event.currentTarget)
        const given = Object.fromEntries(names.map((name) => [name, String(values.get(name) ?? '').trim()]))
        route(path + queryOf(given, names))
      }}
    >
      {children}
      <p class="actions">
        <button type="submit" class="plain" ref={button}>
          Filter
        </button>
        {url !== path && (
          <a href={path} onClick={use}>
            Clear the filters
          </a>
        )}
      </p>
    </form>
  )
}
