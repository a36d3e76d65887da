/** Lists as plain tables. On a phone each row becomes a block whose cells carry the titles of their columns. @module */
import type { ComponentChildren } from 'preact'

export interface Column<T> {
  readonly title: string
  cell(row: T): ComponentChildren
}

interface TableProps<T> {
  /** What the rows are, for people who don't see the heading above. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  /** Shown in place of a table without rows: says what to do. */
  readonly empty: ComponentChildren
  keyOf(row: T): string
}

export const Table = <T,>({ caption, columns, rows, empty, keyOf }: TableProps<T>) =>
  rows.length === 0 ? (
    <div class="empty">{empty}</div>
  ) : (
    <table>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title }) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, cell }) => (
              <td key={title} data-title={title}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )

interface ActButtonProps {
  /** Of the row, for people who don't see which one it is in. */
  readonly name: string
  readonly danger?: boolean
  readonly children: ComponentChildren
  act(): void
}

/** What can be done with a row. */
export const ActButton = ({ name, danger = false, children, act }: ActButtonProps) => (
  <button type="button" class={danger ? 'plain danger' : 'plain'} onClick={act}>
    {children}
    <span class="unseen"> {name}</span>
  </button>
)
