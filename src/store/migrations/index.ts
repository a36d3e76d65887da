/** Every change to the schema, oldest first. Names are kept in the database and never change. @module */
import type { Knex } from 'knex'
import { initialMigration } from './0001-initial/initial.ts'

interface Migration {
  readonly name: string
  /** Earlier migrations that it is the sum of: a database that has them all has it. */
  readonly replaces?: readonly string[]
  up(knex: Knex): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [initialMigration]
