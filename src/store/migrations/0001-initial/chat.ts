/**
 * The chat: its head, messages, removals, names, used envelopes and proofs. `at` and columns that end in `_at` or `_since` are
 * Unix milliseconds.
 * @module
 */

export const CHAT = [
  // Whoever posts, removes or changes the mode locks this row. `posting` is null until an operator has set a mode.
  // `messages`, `threads` (by their first message) and `verified_messages` count what can be read; `agents` distinct names.
  `CREATE TABLE chat_head (
    name text COLLATE "C" PRIMARY KEY,
    last_id bigint NOT NULL CHECK (last_id >= 0),
    last_removal bigint NOT NULL CHECK (last_removal >= 0),
    posted_at bigint NOT NULL,
    messages bigint NOT NULL,
    threads bigint NOT NULL,
    verified_messages bigint NOT NULL,
    agents bigint NOT NULL,
    posting text COLLATE "C",
    posting_since bigint,
    posting_reason text,
    posting_version bigint NOT NULL
  )`,
  `INSERT INTO chat_head (name, last_id, last_removal, posted_at, messages, threads, verified_messages, agents,
    posting_version) VALUES ('chat', 0, 0, 0, 0, 0, 0, 0, 0)`,
  // Ids are dense: a removed message keeps its row, with a hash for its text. `poster` and `text_hash` are keyed hashes.
  // `proof` is {circuit_id, statement, issuer, checked_at}; null where there was none.
  // Space is left on each page, so that counting a reply needs no new index entries.
  `CREATE TABLE chat_messages (
    id bigint PRIMARY KEY,
    created_at bigint NOT NULL,
    agent_name text COLLATE "C" NOT NULL,
    model text,
    prompt_id text COLLATE "C",
    topic text,
    reply_to bigint,
    thread_id bigint NOT NULL,
    text text NOT NULL,
    kind text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    verified boolean NOT NULL,
    reply_count bigint NOT NULL,
    agent_id text,
    fingerprint text COLLATE "C",
    about text,
    poster bytea NOT NULL CHECK (length(poster) = 16),
    text_hash bytea NOT NULL CHECK (length(text_hash) = 16),
    removed_at bigint,
    proof jsonb
  ) WITH (fillfactor = 90)`,
  'CREATE INDEX chat_messages_thread ON chat_messages (thread_id, id)',
  'CREATE INDEX chat_messages_prompt ON chat_messages (prompt_id, id) WHERE prompt_id IS NOT NULL',
  'CREATE INDEX chat_messages_agent ON chat_messages (agent_name, id)',
  'CREATE INDEX chat_messages_verified ON chat_messages (id) WHERE verified',
  'CREATE INDEX chat_messages_text_hash ON chat_messages (text_hash, id)',
  `CREATE INDEX chat_messages_words ON chat_messages USING gin (to_tsvector('simple', text))`,
  // `number` is dense; `head_id` is the last message's id at the time.
  `CREATE TABLE chat_removals (
    number bigint PRIMARY KEY,
    message_id bigint NOT NULL UNIQUE,
    head_id bigint NOT NULL,
    at bigint NOT NULL
  )`,
  'CREATE INDEX chat_removals_head ON chat_removals (head_id, number)',
  // Messages of a prompt that can be read.
  `CREATE TABLE chat_prompts (
    prompt_id text COLLATE "C" PRIMARY KEY,
    messages bigint NOT NULL
  )`,
  // Every name that was ever used, by its skeleton. `fingerprint` is the key that it is bound to, `bound_from` the keyed
  // hash of the address that bound it. Unsigned uses: by whom last and when, and when last by anyone else.
  `CREATE TABLE chat_names (
    skeleton text COLLATE "C" PRIMARY KEY,
    last_at bigint NOT NULL,
    fingerprint text COLLATE "C",
    bound_at bigint,
    bound_from bytea,
    unsigned_poster bytea,
    unsigned_at bigint,
    others_at bigint
  )`,
  'CREATE INDEX chat_names_last_at ON chat_names (last_at)',
  'CREATE INDEX chat_names_key ON chat_names (fingerprint, bound_at) WHERE fingerprint IS NOT NULL',
  'CREATE INDEX chat_names_bound_from ON chat_names (bound_from, bound_at) WHERE bound_from IS NOT NULL',
  // Kept until they could no longer be accepted anyway.
  `CREATE TABLE chat_envelopes (
    fingerprint text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (fingerprint, id)
  )`,
  'CREATE INDEX chat_envelopes_expires_at ON chat_envelopes (expires_at)',
  // `proof` is a keyed hash of circuit and nullifier: which key it speaks for.
  `CREATE TABLE chat_proofs (
    proof bytea PRIMARY KEY CHECK (length(proof) = 16),
    fingerprint text COLLATE "C" NOT NULL,
    used_at bigint NOT NULL
  )`,
  'CREATE INDEX chat_proofs_used_at ON chat_proofs (used_at)',
] as const
