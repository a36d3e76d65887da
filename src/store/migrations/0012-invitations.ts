/** Invitations to join an organisation. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // A row goes when its invitation is used or revoked; `inviter` is an account or an API key.
  `CREATE TABLE invitations (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    digest bytea NOT NULL UNIQUE,
    email text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    inviter text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX invitations_organisation ON invitations (organisation, id)',
  'CREATE INDEX invitations_expires_at ON invitations (expires_at)',
] as const

export const invitationsMigration = {
  name: '0012-invitations',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
