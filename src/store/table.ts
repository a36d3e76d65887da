/**
 * Tables as values. A domain describes a table once: from that come the type of its rows, the list of its columns, and
 * the rows that the ledger is handed to write; the ledger turns all rows of a batch that go to one table into one
 * query. The migrations stay the truth about the database, and a test compares both.
 * @module
 */

/**
 * How the columns of two rows with the same key combine, also inside one batch: `sum` adds, `max`/`min` keep the
 * greater/lesser, `last` takes the newer row's value, `first` keeps the older.
 */
export type Combine = 'sum' | 'max' | 'min' | 'last' | 'first'

type Kind = 'text' | 'integer' | 'boolean' | 'bytes' | 'json'

/** A column whose values are T. `Filled`: the database's default fills it in. */
export interface Column<T, Filled extends boolean = false> {
  /** Carries the type alone. */
  readonly type?: { readonly of: T }
  readonly kind: Kind
  readonly isNullable: boolean
  readonly isKey: boolean
  readonly isFilled: Filled
  readonly combine: Combine | undefined
  null(): Column<T | null, Filled>
  /** Part of the primary key. */
  key(): Column<T, Filled>
  /** What becomes of it when a row meets another with the same key, which is an error where no column says so. */
  merge(how: Combine): Column<T, Filled>
  /** No row brings it: the database's default fills it in. */
  filled(): Column<T, true>
}

type Properties<Filled extends boolean> = Pick<
  Column<unknown, Filled>,
  'kind' | 'isNullable' | 'isKey' | 'isFilled' | 'combine'
>

const column = <T, Filled extends boolean>(properties: Properties<Filled>): Column<T, Filled> => ({
  ...properties,
  null: () => column({ ...properties, isNullable: true }),
  key: () => column({ ...properties, isKey: true }),
  merge: (combine) => column({ ...properties, combine }),
  filled: () => column({ ...properties, isFilled: true }),
})

const ofKind = <T>(kind: Kind): Column<T> =>
  column({ kind, isNullable: false, isKey: false, isFilled: false, combine: undefined })

export const text = <T extends string = string>(): Column<T> => ofKind('text')
/** smallint, integer or bigint, below 2^53. */
export const integer = (): Column<number> => ofKind('integer')
export const boolean = (): Column<boolean> => ofKind('boolean')
/** bytea. */
export const bytes = (): Column<Uint8Array> => ofKind('bytes')
/** jsonb. */
export const json = <T extends object>(): Column<T> => ofKind('json')

type Columns = Readonly<Record<string, Column<unknown, boolean>>>

type ValueOf<C> = C extends { readonly type?: infer Type }
  ? NonNullable<Type>['of' & keyof NonNullable<Type>]
  : never

type Values<C extends Columns> = { -readonly [Name in keyof C]: ValueOf<C[Name]> }

type WrittenValues<C extends Columns> = {
  -readonly [Name in keyof C as C[Name] extends Column<unknown, true> ? never : Name]: ValueOf<C[Name]>
}

/** A table that the ledger may write to. */
export interface Table {
  readonly name: string
  /** Those that a row brings. */
  readonly columns: readonly string[]
  /** For accumulating tables: the conflict key, and per column how two rows combine. */
  readonly merge?: {
    readonly key: readonly string[]
    readonly columns: Readonly<Partial<Record<string, Combine>>>
  }
}

/** A table with its definition. */
export interface DefinedTable<C extends Columns = Columns> extends Table {
  readonly definition: C
  /** A row to write; it carries exactly the table's columns. */
  row(values: WrittenValues<C>): Row<WrittenValues<C>>
}

/** What a row of a table holds when it is read. */
export type RowOf<T extends { readonly definition: Columns }> = Values<T['definition']>

/** A row to write. Uint8Array is written as bytea, Date as timestamptz, other objects and arrays as jsonb. */
export interface Row<R extends object = object> {
  readonly table: Table
  readonly values: R
}

/**
 * Defines a table.
 * @param conflict for accumulating tables whose rows meet by another unique key than the primary one
 */
export const table = <C extends Columns>(
  name: string,
  definition: C,
  conflict?: readonly (keyof C & string)[],
): DefinedTable<C> => {
  const columns = Object.entries(definition)
  const namesOf = (chosen: typeof columns): string[] => chosen.map(([column]) => column)
  const combining = columns.flatMap(([column, { combine }]) => (combine ? [[column, combine] as const] : []))
  const self: DefinedTable<C> = {
    name,
    definition,
    columns: namesOf(columns.filter(([, { isFilled }]) => !isFilled)),
    ...(combining.length > 0 && {
      merge: {
        key: conflict ?? namesOf(columns.filter(([, { isKey }]) => isKey)),
        columns: Object.fromEntries(combining),
      },
    }),
    row: (values) => ({ table: self, values }),
  }
  return self
}
