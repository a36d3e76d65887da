/** Signing in with an identity of another provider. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // One of an issuer for an account.
  `CREATE TABLE account_identities (
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_at bigint NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (account, issuer)
  )`,
  // Sign-ins on their way through the provider; `account` and `session` where an identity is to be linked.
  `CREATE TABLE oidc_flows (
    digest bytea PRIMARY KEY,
    account text COLLATE "C",
    session text COLLATE "C",
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX oidc_flows_expires_at ON oidc_flows (expires_at)',
] as const

export const identitiesMigration = {
  name: '0018-identities',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
