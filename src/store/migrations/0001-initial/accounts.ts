/**
 * Organisations, accounts, sessions, API keys, merchants, terminals, alerts and keys.
 * @module
 */

export const ACCOUNTS = [
  `CREATE TABLE organisations (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    subscription text NOT NULL CHECK (subscription IN ('active', 'inactive')),
    rate_limit_per_minute integer CHECK (rate_limit_per_minute > 0),
    default_merchant text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
  )`,
  `CREATE TABLE accounts (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL UNIQUE,
    password_hash text NOT NULL,
    created_at bigint NOT NULL
  )`,
  `CREATE TABLE free_proof_grants (
    account text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    granted integer NOT NULL CHECK (granted > 0),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX free_proof_grants_organisation ON free_proof_grants (organisation)',
  `CREATE TABLE sessions (
    id text COLLATE "C" PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    account text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX sessions_expires_at ON sessions (expires_at)',
  'CREATE INDEX sessions_account ON sessions (account, id)',
  `CREATE TABLE merchants (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    name text NOT NULL,
    limits jsonb NOT NULL,
    created_at bigint NOT NULL
  )`,
  'CREATE INDEX merchants_organisation ON merchants (organisation, id)',
  `CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    digest bytea NOT NULL UNIQUE,
    sealed_midstate bytea NOT NULL,
    hint text NOT NULL,
    label text NOT NULL,
    scopes jsonb NOT NULL,
    merchant text COLLATE "C",
    terminal text COLLATE "C",
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
  )`,
  'CREATE INDEX api_keys_organisation ON api_keys (organisation, id)',
  'CREATE INDEX api_keys_terminal ON api_keys (terminal) WHERE terminal IS NOT NULL',
  // `proving_commitment`: what it is known by inside proofs; null for one that was made before, until it authenticates again.
  `CREATE TABLE terminals (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    merchant text COLLATE "C" NOT NULL,
    label text NOT NULL,
    secret_hash text NOT NULL,
    limits jsonb NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    proving_commitment text COLLATE "C"
  )`,
  'CREATE INDEX terminals_organisation ON terminals (organisation, id)',
  'CREATE INDEX terminals_proving_commitment ON terminals (organisation, proving_commitment)',
  `CREATE TABLE terminal_tokens (
    id text COLLATE "C" PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    terminal text COLLATE "C" NOT NULL,
    api_key text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX terminal_tokens_expires_at ON terminal_tokens (expires_at)',
  `CREATE TABLE security_alerts (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    severity text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    count bigint NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    UNIQUE (organisation, type, subject, day)
  )`,
  'CREATE INDEX security_alerts_organisation ON security_alerts (organisation, id)',
  `CREATE TABLE signing_keys (
    kid text COLLATE "C" PRIMARY KEY,
    purpose text COLLATE "C" NOT NULL,
    alg text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    public_jwk jsonb NOT NULL,
    sealed_private bytea NOT NULL,
    created_at bigint NOT NULL,
    UNIQUE (purpose, alg, version)
  )`,
  // Of the issuer, whose signatures circuits verify.
  `CREATE TABLE issuer_keys (
    kid text COLLATE "C" PRIMARY KEY,
    version integer NOT NULL UNIQUE,
    x text COLLATE "C" NOT NULL,
    y text COLLATE "C" NOT NULL,
    sealed_private bytea NOT NULL,
    created_at bigint NOT NULL,
    valid_until bigint
  )`,
  // Attempts to guess a password or secret, counted where all servers see them.
  `CREATE TABLE credential_attempts (
    bucket bytea PRIMARY KEY,
    attempts integer NOT NULL CHECK (attempts >= 0),
    ends_at bigint NOT NULL
  )`,
  'CREATE INDEX credential_attempts_ends_at ON credential_attempts (ends_at)',
] as const
