/**
 * Rows as values. A domain describes its table once and hands the ledger rows to write; the ledger turns all
 * rows of a batch that go to one table into one statement.
 * @module
 */

/** What a column may hold. Bytes are written as bytea, Date as timestamptz, objects as jsonb. */
export type ColumnValue = string | number | bigint | boolean | null | Uint8Array | Date | object

/** A table that the ledger may write to. `onConflict` is SQL behind the INSERT, for rows that add up (counts). */
export interface Table<R extends object = object> {
  readonly name: string
  readonly columns: readonly (keyof R & string)[]
  /**
   * For accumulating tables: the conflict key, and per column how two rows combine (also inside one batch).
   * `sum` adds, `max`/`min` keep the greater/lesser, `last` takes the newer row's value, `first` keeps the older.
   */
  readonly merge?: {
    readonly key: readonly (keyof R & string)[]
    readonly columns: Readonly<Partial<Record<keyof R & string, 'sum' | 'max' | 'min' | 'last' | 'first'>>>
  }
}

export interface Row<R extends object = object> {
  readonly table: Table<R>
  readonly values: R
}

/** Declares a table; every row must carry exactly these columns. */
export const table = <R extends object>(
  name: string,
  columns: readonly (keyof R & string)[],
  merge?: Table<R>['merge'],
): Table<R> & { row(values: R): Row<R> } => {
  const self = {
    name,
    columns,
    ...(merge && { merge }),
    row: (values: R): Row<R> => ({ table: self, values }),
  }
  return self
}
