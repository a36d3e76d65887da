/**
 * What answers by itself: pods, what they charged, their domains; Hermes routes and what they answered.
 * @module
 */

export const ANSWERS = [
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
  // Targets may hold credentials, so they are sealed; `binding_key` is derived from the token behind `manage_digest`.
  `CREATE TABLE hermes_routes (
    id text COLLATE "C" PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    organisation text COLLATE "C" NOT NULL,
    owned boolean NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    destination bytea NOT NULL,
    binding_key bytea NOT NULL,
    ask_digest bytea UNIQUE CHECK (length(ask_digest) = 32),
    manage_digest bytea NOT NULL UNIQUE CHECK (length(manage_digest) = 32),
    private_egress boolean NOT NULL,
    created_at bigint NOT NULL
  )`,
  'CREATE INDEX hermes_routes_user ON hermes_routes (user_id, id)',
  `CREATE TABLE hermes_deletions (
    route text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    deleted_at bigint NOT NULL
  )`,
  `CREATE TABLE hermes_stats (
    route text COLLATE "C" PRIMARY KEY,
    yes bigint NOT NULL,
    no bigint NOT NULL,
    errors bigint NOT NULL,
    latency_ms bigint NOT NULL,
    last_used_at bigint NOT NULL
  )`,
] as const
