/** What a list is narrowed to. It stands in the address, so that it can be kept and sent to others. @module */

import type { ComponentChildren } from 'preact'
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
  return (
    <form
      key={url}
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault()
        const values = new FormData(event.currentTarget)
        const given = Object.fromEntries(names.map((name) => [name, String(values.get(name) ?? '').trim()]))
        route(path + queryOf(given, names))
      }}
    >
      {children}
      <p class="actions">
        <button type="submit" class="plain">
          Filter
        </button>
        {url !== path && <a href={path}>Clear the filters</a>}
      </p>
    </form>
  )
}
