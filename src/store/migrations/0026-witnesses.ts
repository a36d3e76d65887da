/** What witnesses said of checkpoints, and which server asks them. @module */
import type { Knex } from 'knex'

const WITNESSES = [
  // The last checkpoint that each witness has cosigned, by the name of the log and the URL of the witness.
  `CREATE TABLE ledger_cosignatures (
    origin text COLLATE "C" NOT NULL,
    witness text COLLATE "C" NOT NULL,
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    lines text NOT NULL,
    cosigned_at bigint NOT NULL,
    PRIMARY KEY (origin, witness)
  )`,
  // One row for each name of the log: the newest checkpoint that the policy accepts, and the server that asks for the next.
  `CREATE TABLE ledger_witnessed (
    origin text COLLATE "C" PRIMARY KEY,
    size bigint CHECK (size >= 0),
    root bytea CHECK (length(root) = 32),
    note text,
    witnessed_at bigint,
    holder text COLLATE "C",
    held_until bigint NOT NULL
  )`,
]

export const witnessesMigration = {
  name: '0026-witnesses',
  async up(knex: Knex): Promise<void> {
    for (const statement of WITNESSES) await knex.raw(statement)
  },
}
