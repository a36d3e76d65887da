/**
 * Seals anew, under the newest key, what was sealed under earlier ones: batch by batch, while servers read and write. A row
 * that changes meanwhile is left to whoever changed it, who sealed it under the newest key. Cut short, it begins again and finds
 * less to do.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../store/database.ts'
import { type Place, type Sealing, SealingError, sealedVersion } from './sealing.ts'

/** A column whose values are sealed, as those who seal them say. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly purpose: string
  /** The primary key: columns and their types. */
  readonly key: readonly (readonly [name: string, type: 'text' | 'integer' | 'bigint'])[]
  /** The row as its place names it; default: its key, where that is one column. */
  readonly rowOf?: (...key: string[]) => string
  /** The bytes are kept as base64url. */
  readonly isText?: true
}

/** How far a column is. */
export interface Progress {
  readonly table: string
  readonly column: string
  /** Rows that were looked at. */
  readonly seen: number
  /** Of these, those that were sealed anew. */
  readonly sealed: number
  /** Of these, those that were under an earlier key, whether or not somebody else changed them first. */
  readonly stale: number
  /** Rows of this batch whose value does not open, by their key: they stay as they are. */
  readonly unopened: readonly string[]
  readonly isDone: boolean
}

const BATCH_ROWS = 200

type Row = Readonly<Record<string, unknown>>

interface Changed {
  readonly key: readonly string[]
  readonly old: Uint8Array
  readonly fresh: Uint8Array
}

const readBatch = async (
  database: Pick<Database, 'query'>,
  { table, column, key }: SealedColumn,
  after: readonly string[] | undefined,
): Promise<Row[]> => {
  const names = key.map(([name]) => name)
  const from = after && `WHERE (${names.join()}) > (${key.map(([, type], i) => `$${i + 1}::${type}`).join()})`
  const { rows } = await database.query<Row>(
    `SELECT ${names.map((name) => `${name}::text AS ${name}`).join()}, ${column} AS sealed_value FROM ${table} AS r
     ${from ?? ''} ORDER BY ${names.map((name) => `r.${name}`).join()} LIMIT ${BATCH_ROWS}`,
    after ?? [],
  )
  return rows
}

const writeBatch = async (
  database: Pick<Database, 'query'>,
  { table, column, key, isText }: SealedColumn,
  changed: readonly Changed[],
): Promise<number> => {
  if (changed.length === 0) return 0
  const types = [...key.map(([, type]) => type), ...Array(2).fill(isText ? 'text' : 'bytea')]
  const stored = (bytes: Uint8Array) => (isText ? Buffer.from(bytes).toString('base64url') : bytes)
  const { rowCount } = await database.query(
    `UPDATE ${table} AS t SET ${column} = u.fresh
     FROM unnest(${types.map((type, i) => `$${i + 1}::${type}[]`).join()}) AS u (${key.map((_, i) => `k${i}`).join()}, old, fresh)
     WHERE ${key.map(([name], i) => `t.${name} = u.k${i}`).join(' AND ')} AND t.${column} = u.old`,
    [
      ...key.map((_, i) => changed.map((row) => row.key[i])),
      changed.map(({ old }) => stored(old)),
      changed.map(({ fresh }) => stored(fresh)),
    ],
  )
  return rowCount
}

/** Bytes of a stored value; undefined for none, which is also what erasure leaves. */
const bytesOf = (value: unknown): Uint8Array | undefined => {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64url') : value
  return bytes instanceof Uint8Array && bytes.length > 0 ? bytes : undefined
}

/** @returns undefined where the value does not open @throws Error when it is not sealed under the version that it should be */
const sealAnew = (
  sealing: Pick<Sealing, 'seal' | 'open'>,
  version: number,
  purpose: string,
  place: Place,
  old: Uint8Array,
): Uint8Array | undefined => {
  let plain: Uint8Array
  try {
    plain = sealing.open(purpose, place, old)
  } catch (error) {
    if (error instanceof SealingError) return undefined
    throw error
  }
  const fresh = sealing.seal(purpose, place, plain)
  if (sealedVersion(fresh) === version) return fresh
  throw new Error(`Key ${sealedVersion(fresh)} seals, not ${version}: nothing would ever be sealed anew.`)
}

/**
 * @param version that `sealing` seals with
 * @yields after each batch
 * @throws Error when `sealing` seals with another version
 */
export async function* reseal(
  database: Pick<Database, 'query'>,
  sealing: Pick<Sealing, 'seal' | 'open'>,
  version: number,
  columns: readonly SealedColumn[],
): AsyncGenerator<Progress> {
  for (const sealedColumn of columns) {
    const { table, column, purpose, key, rowOf = (...values: string[]) => values.join() } = sealedColumn
    let after: readonly string[] | undefined
    let [seen, sealed, stale, isDone] = [0, 0, 0, false]
    while (!isDone) {
      const rows = await readBatch(database, sealedColumn, after)
      const unopened: string[] = []
      const changed = rows.flatMap((row): Changed[] => {
        const old = bytesOf(row.sealed_value)
        if (old === undefined || sealedVersion(old) === version) return []
        const values = key.map(([name]) => String(row[name]))
        const place = { table, column, row: rowOf(...values) }
        const fresh = sealAnew(sealing, version, purpose, place, old)
        if (fresh === undefined) unopened.push(values.join())
        return fresh === undefined ? [] : [{ key: values, old, fresh }]
      })
      sealed += await writeBatch(database, sealedColumn, changed)
      seen += rows.length
      stale += changed.length
      isDone = rows.length < BATCH_ROWS
      const last = rows.at(-1)
      after = last && key.map(([name]) => String(last[name]))
      yield { table, column, seen, sealed, stale, unopened, isDone }
    }
  }
}

interface Rounds {
  /** How long servers may still commit what they sealed under an earlier key; 0 where there are none. */
  readonly settleMs: number
  onProgress(progress: Progress): void
  /** Before each wait. */
  onSettle(): void
}

/**
 * Seals anew until nothing is left to do, and nothing came in a wait for what servers had sealed before, but not yet committed.
 * @returns what does not open, as `table.column key`
 */
export const resealAll = async (
  database: Pick<Database, 'query'>,
  sealing: Pick<Sealing, 'seal' | 'open'>,
  version: number,
  columns: readonly SealedColumn[],
  { settleMs, onProgress, onSettle }: Rounds,
): Promise<string[]> => {
  let unopened: string[] = []
  const round = async (): Promise<number> => {
    unopened = []
    let found = 0
    for await (const progress of reseal(database, sealing, version, columns)) {
      onProgress(progress)
      if (progress.isDone) found += progress.stale
      unopened.push(...progress.unopened.map((row) => `${progress.table}.${progress.column} ${row}`))
    }
    return found
  }
  /** @returns whether there was anything to do */
  const untilClean = async (): Promise<boolean> => {
    let rounds = 0
    while ((await round()) > 0) rounds++
    return rounds > 0
  }
  await untilClean()
  if (settleMs === 0) return unopened
  do {
    onSettle()
    await pause(settleMs)
  } while (await untilClean())
  return unopened
}
