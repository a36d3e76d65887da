/** Every change to the schema, oldest first. Names are kept in the database and never change. @module */
import type { Knex } from 'knex'
import { initialMigration } from './0001-initial/initial.ts'
import { statusesMigration } from './0002-statuses.ts'
import { holdersMigration } from './0003-holders.ts'
import { challengesMigration } from './0004-challenges.ts'
import { amlSubscriptionsMigration } from './0005-aml-subscriptions.ts'
import { watchListProblems } from './0006-watch-list-problems.ts'
import { sdJwtsMigration } from './0007-sd-jwts.ts'
import { searchIndexMigration } from './0008-search-index.ts'

interface Migration {
  readonly name: string
  /** Earlier migrations that it is the sum of: a database that has them all has it. */
  readonly replaces?: readonly string[]
  up(knex: Knex): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [
  initialMigration,
  statusesMigration,
  holdersMigration,
  challengesMigration,
  amlSubscriptionsMigration,
  watchListProblems,
  sdJwtsMigration,
  searchIndexMigration,
]
