/**
 * What is issued: tokens, hybrid tokens, tickets and consents, and what became of them. What they say, and what circuits need of
 * them, is sealed. A consent is superseded by later ones of the same subject, controller and purpose, in the order of the ledger.
 * @module
 */

export const ISSUED = [
  `CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    single_use boolean NOT NULL,
    jws_hash bytea NOT NULL CHECK (length(jws_hash) = 32),
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX tokens_organisation ON tokens (organisation, id)',
  `CREATE TABLE token_uses (
    token text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    used_at bigint NOT NULL
  )`,
  `CREATE TABLE token_revocations (
    token text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    reason text,
    revoked_at bigint NOT NULL
  )`,
  `CREATE TABLE hybrid_tokens (
    organisation text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    policy_bits smallint NOT NULL CHECK (policy_bits BETWEEN 1 AND 3),
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (organisation, id)
  )`,
  `CREATE TABLE hybrid_token_revocations (
    organisation text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    reason text,
    revoked_at bigint NOT NULL,
    PRIMARY KEY (organisation, token)
  )`,
  `CREATE TABLE tickets (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    circuit_id text COLLATE "C",
    single_use boolean NOT NULL,
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    UNIQUE (organisation, digest)
  )`,
  `CREATE TABLE ticket_spends (
    ticket text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    spent_at bigint NOT NULL
  )`,
  `CREATE TABLE consents (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    controller_hash bytea NOT NULL CHECK (length(controller_hash) = 32),
    answer text COLLATE "C" NOT NULL,
    receipt_hash bytea NOT NULL CHECK (length(receipt_hash) = 32),
    sealed bytea NOT NULL,
    recorded_at bigint NOT NULL,
    expires_at bigint
  )`,
  'CREATE INDEX consents_series ON consents (organisation, subject, controller_hash, entry_index)',
  `CREATE TABLE consent_purposes (
    consent text COLLATE "C" NOT NULL,
    purpose_hash bytea NOT NULL CHECK (length(purpose_hash) = 32),
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    controller_hash bytea NOT NULL,
    entry_index bigint NOT NULL,
    recorded_at bigint NOT NULL,
    PRIMARY KEY (consent, purpose_hash)
  )`,
  `CREATE INDEX consent_purposes_current
    ON consent_purposes (organisation, subject, purpose_hash, controller_hash, entry_index)`,
  `CREATE TABLE consent_withdrawals (
    consent text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    sealed_reason bytea,
    withdrawn_at bigint NOT NULL
  )`,
] as const
