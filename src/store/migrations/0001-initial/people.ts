/**
 * People who were checked, what was found, their credentials, and watch lists. What is known of a person is sealed under a key of
 * the person's own, whose destruction makes it unreadable.
 * @module
 */

export const PEOPLE = [
  `CREATE TABLE kyc_subjects (
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    sealed_key text COLLATE "C" NOT NULL,
    latest_entry bigint,
    conclusive_entry bigint,
    erased_at bigint,
    PRIMARY KEY (organisation, subject, generation)
  )`,
  `CREATE TABLE kyc_checks (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    sealed bytea NOT NULL,
    checked_at bigint NOT NULL
  )`,
  'CREATE INDEX kyc_checks_subject ON kyc_checks (organisation, subject, generation, entry_index)',
  `CREATE TABLE kyc_credentials (
    digest text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    element text COLLATE "C" NOT NULL
  )`,
  // What was loaded, a version for each change; the last one counts. `directory` is what was read of AML_LISTS, as a hash.
  `CREATE TABLE aml_snapshots (
    version bigint PRIMARY KEY,
    sha256 text COLLATE "C" NOT NULL,
    directory text COLLATE "C",
    lists jsonb NOT NULL,
    loaded_at bigint NOT NULL
  )`,
  // The entries of a list, as compressed JSON lines in parts. Written before the version that names them.
  `CREATE TABLE aml_contents (
    content text COLLATE "C" NOT NULL,
    part integer NOT NULL,
    bytes bytea NOT NULL,
    staged_at bigint NOT NULL,
    PRIMARY KEY (content, part)
  )`,
  // The last outcome of each type of check. `subject` is a keyed pseudonym; no names.
  `CREATE TABLE aml_outcomes (
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    check_type text COLLATE "C" NOT NULL,
    result text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    risk_score integer NOT NULL,
    list_version text COLLATE "C" NOT NULL,
    checked_at bigint NOT NULL,
    entry_index bigint NOT NULL,
    PRIMARY KEY (organisation, subject, check_type)
  )`,
] as const
