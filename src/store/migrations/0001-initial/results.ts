/**
 * Signed results, what organisations use by UTC day, proofs and nullifiers, and policies. Neither data, salts nor witnesses are
 * kept; a nullifier that was spent is a claim in the ledger.
 * @module
 */

export const RESULTS = [
  // `decision` is null where nothing was asked; `asked` too, for policies, and for results of before.
  `CREATE TABLE verifications (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    leaf_hash bytea NOT NULL CHECK (length(leaf_hash) = 32),
    decision text COLLATE "C" CHECK (decision IN ('YES', 'NO')),
    reason text COLLATE "C",
    digest text COLLATE "C" NOT NULL,
    circuit_id text COLLATE "C" NOT NULL,
    proof_id text COLLATE "C",
    jws text COLLATE "C" NOT NULL,
    jws_hash bytea NOT NULL UNIQUE CHECK (length(jws_hash) = 32),
    issued_at bigint NOT NULL,
    expires_at bigint,
    asked jsonb
  )`,
  'CREATE INDEX verifications_organisation ON verifications (organisation, id)',
  'CREATE INDEX verifications_proof ON verifications (proof_id) WHERE proof_id IS NOT NULL',
  `CREATE TABLE verification_revocations (
    verification text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    revoked_at bigint NOT NULL
  )`,
  `CREATE TABLE usage_days (
    organisation text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    category text COLLATE "C" NOT NULL,
    results bigint NOT NULL,
    proofs bigint NOT NULL,
    proof_bytes bigint NOT NULL,
    PRIMARY KEY (organisation, day, category)
  )`,
  // `proof` is zk1, with the public signals; `context` is {statement, nonce}; null where it isn't known what the proof's ctx binds.
  `CREATE TABLE proofs (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    circuit_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    proof text COLLATE "C" NOT NULL,
    public_signals jsonb NOT NULL,
    context jsonb,
    created_at bigint NOT NULL,
    expires_at bigint
  )`,
  'CREATE INDEX proofs_digest ON proofs (organisation, digest, id)',
  // Whoever revoked it: a nullifier counts everywhere.
  `CREATE TABLE revoked_nullifiers (
    circuit_id text COLLATE "C" NOT NULL,
    nullifier text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    revoked_at bigint NOT NULL,
    PRIMARY KEY (circuit_id, nullifier)
  )`,
  // Which organisation issued what a nullifier belongs to; written as a thing is issued, and holds nothing else that would lead to it.
  // `consent` is null for what isn't a consent, `expires_at` for consents; both for what was issued before.
  `CREATE TABLE issued_nullifiers (
    circuit_id text COLLATE "C" NOT NULL,
    nullifier text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    consent text COLLATE "C",
    expires_at bigint,
    PRIMARY KEY (circuit_id, nullifier)
  )`,
  'CREATE INDEX issued_nullifiers_expires_at ON issued_nullifiers (expires_at) WHERE expires_at IS NOT NULL',
  `CREATE TABLE policies (
    organisation text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    rules jsonb NOT NULL,
    entry_index bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organisation, name, version)
  )`,
] as const
