/**
 * What each terminal is known by inside proofs. Null for a terminal that was made earlier, until it authenticates
 * again. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `ALTER TABLE terminals ADD COLUMN proving_commitment text COLLATE "C"`,
  `CREATE INDEX terminals_proving_commitment ON terminals (organisation, proving_commitment)`,
] as const

export const terminalProvingMigration = {
  name: '0011-terminal-proving',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
