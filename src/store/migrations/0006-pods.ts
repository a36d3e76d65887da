/**
 * Pods, what they charged, their verifications by UTC day, and the domains that were bound to them.
 * Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE pods (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    name text NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'SUSPENDED', 'ARCHIVED')),
    charge_minor bigint NOT NULL CHECK (charge_minor >= 0),
    currency text COLLATE "C" NOT NULL,
    rules jsonb,
    logic jsonb,
    key_digest bytea NOT NULL UNIQUE CHECK (length(key_digest) = 32),
    created_at bigint NOT NULL
  )`,
  'CREATE INDEX pods_organisation ON pods (organisation, id)',
  `CREATE TABLE pod_charges (
    verification text COLLATE "C" PRIMARY KEY,
    pod text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    currency text COLLATE "C" NOT NULL,
    charged_at bigint NOT NULL
  )`,
  'CREATE INDEX pod_charges_pod ON pod_charges (pod, charged_at)',
  `CREATE TABLE pod_days (
    pod text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    verifications bigint NOT NULL,
    successes bigint NOT NULL,
    charged_minor bigint NOT NULL,
    PRIMARY KEY (pod, day)
  )`,
  // `proven`: whether the names pointed here when DNS last said something of them. `absent_since`: since when looks
  // have not seen the records, because they are gone or because nobody could tell.
  `CREATE TABLE pod_domains (
    domain text COLLATE "C" PRIMARY KEY,
    pod text COLLATE "C" NOT NULL,
    bound_at bigint NOT NULL,
    proven boolean NOT NULL,
    check_at bigint NOT NULL,
    absent_since bigint
  )`,
  'CREATE INDEX pod_domains_pod ON pod_domains (pod, bound_at)',
  'CREATE INDEX pod_domains_check_at ON pod_domains (check_at)',
] as const

export const podsMigration = {
  name: '0006-pods',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
