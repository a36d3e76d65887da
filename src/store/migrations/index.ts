/** Every change to the schema, oldest first. Names are kept in the database and never change. @module */
import type { Knex } from 'knex'
import { ledgerMigration } from './0001-ledger.ts'
import { accountsMigration } from './0002-accounts.ts'
import { paymentsMigration } from './0003-payments.ts'

interface Migration {
  readonly name: string
  up(knex: Knex): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [ledgerMigration, accountsMigration, paymentsMigration]
