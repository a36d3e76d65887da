/**
 * Agents and devices of organisations, the public keys by which they are known, badges, and what became of agents.
 * @module
 */

export const AGENTS = [
  // `state_version` counts the changes of status and trust. `expires_at`: when what it may do ends.
  `CREATE TABLE agents (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    name text NOT NULL,
    description text,
    url text,
    provider text,
    status text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'revoked')),
    state_version integer NOT NULL,
    trust_level text COLLATE "C" NOT NULL
      CHECK (trust_level IN ('registered', 'key_verified', 'domain_verified')),
    trust_reasons jsonb NOT NULL,
    kid text COLLATE "C" NOT NULL,
    jwk jsonb NOT NULL,
    pq_kid text COLLATE "C",
    pq_jwk jsonb,
    key_directory_url text,
    agent_card_url text,
    capabilities jsonb NOT NULL,
    sealed_principal bytea,
    limits jsonb,
    expires_at bigint,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL
  )`,
  'CREATE INDEX agents_organisation ON agents (organisation, id)',
  `CREATE TABLE devices (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    name text NOT NULL,
    description text,
    status text COLLATE "C" NOT NULL CHECK (status IN ('active', 'revoked')),
    kid text COLLATE "C" NOT NULL,
    pq_kid text COLLATE "C",
    created_at bigint NOT NULL,
    revoked_at bigint
  )`,
  'CREATE INDEX devices_organisation ON devices (organisation, id)',
  `CREATE TABLE registered_keys (
    organisation text COLLATE "C" NOT NULL,
    kid text COLLATE "C" NOT NULL,
    jwk jsonb NOT NULL,
    owner_type text COLLATE "C" NOT NULL CHECK (owner_type IN ('agent', 'device')),
    owner_id text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organisation, kid)
  )`,
  `CREATE TABLE agent_badges (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE TABLE agent_events (
    agent text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN
      ('enrol', 'activate', 'suspend', 'resume', 'revoke', 'check_domain', 'verify', 'authorise')),
    outcome text COLLATE "C" NOT NULL,
    reasons jsonb NOT NULL,
    authorisation text COLLATE "C",
    action text,
    amount_minor bigint,
    currency text COLLATE "C",
    happened_at bigint NOT NULL,
    PRIMARY KEY (agent, entry_index)
  )`,
] as const
