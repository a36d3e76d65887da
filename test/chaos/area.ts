/** What each area of the load has, and what it is given. */
import type { Database } from '../../src/store/database.ts'
import type { TestResponse } from '../support/client.ts'
import type { Asked, Asking } from './asking.ts'
import type { Model, Operation } from './model.ts'
import type { Random } from './random.ts'

/** Whose requests they are. */
export interface Shop {
  readonly organisationId: string
  readonly merchantId: string
  readonly apiKey: string
}

export interface Context {
  readonly model: Model
  readonly ask: Asking['ask']
  readonly random: Random
  readonly shop: Shop
  /** Where clients reach the service. */
  url(): string
  /** The servers by themselves. */
  servers(): readonly string[]
  /** As `ask`, one of the servers. */
  askAt(server: string): Asking['ask']
}

export interface Area {
  readonly name: string
  /** How many do the next step at the same time, with a pause after each. */
  readonly clients: number
  readonly pauseMs: number
  /** Something that a client does, to its end. */
  step(): Promise<void>
  /** Waits, when nothing more is asked, for what follows from what was. */
  settle?(): Promise<void>
  /**
   * Compares what is stored with what was acknowledged.
   * @param isEnd whether nothing is under way any more
   */
  check?(database: Database, isEnd: boolean): Promise<void>
  /** Ends what the area has open. */
  close?(): Promise<void>
}

/** A request by the shop's key. @param key an Idempotency-Key */
export const byShop = <T>(
  { ask, shop }: Pick<Context, 'ask' | 'shop'>,
  operation: Operation,
  path: string,
  { body, answers = [200], key }: Pick<Asked, 'body'> & { answers?: readonly number[]; key?: string },
): Promise<TestResponse<T>> =>
  ask<T>(operation, 'POST', path, {
    key: shop.apiKey,
    body,
    answers,
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  })

/** Rows of a table of the shop, in full. */
export const rowsOf = async <R extends object>(
  database: Database,
  table: string,
  columns: string,
  organisation: string,
): Promise<R[]> =>
  (await database.query<R>(`SELECT ${columns} FROM ${table} WHERE organisation = $1`, [organisation])).rows
