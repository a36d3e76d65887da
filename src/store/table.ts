/**
 * Rows as values. A domain describes its table once and hands the ledger rows to write; the ledger turns all
 * rows of a batch that go to one table into one statement.
 * @module
 */

/**
 * How the columns of two rows with the same key combine, also inside one batch: `sum` adds, `max`/`min` keep the
 * greater/lesser, `last` takes the newer row's value, `first` keeps the older.
 */
export type Combine = 'sum' | 'max' | 'min' | 'last' | 'first'

/** A table that the ledger may write to. */
export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** For accumulating tables: the conflict key, and per column how two rows combine. */
  readonly merge?: {
    readonly key: readonly string[]
    readonly columns: Readonly<Partial<Record<string, Combine>>>
  }
}

/** A row to write. Uint8Array is written as bytea, Date as timestamptz, other objects and arrays as jsonb. */
export interface Row<R extends object = object> {
  readonly table: Table
  readonly values: R
}

/** Declares a table; every row must carry exactly these columns. */
export const table = <R extends object>(
  name: string,
  columns: readonly (keyof R & string)[],
  merge?: {
    readonly key: readonly (keyof R & string)[]
    readonly columns: Readonly<{ [C in keyof R & string]?: Combine }>
  },
): Table & { row(values: R): Row<R> } => {
  const self: Table & { row(values: R): Row<R> } = {
    name,
    columns,
    ...(merge && { merge }),
    row: (values) => ({ table: self, values }),
  }
  return self
}
