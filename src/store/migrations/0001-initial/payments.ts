/**
 * Payments, the operator's acceptance of late ones, and the last stamp seen of each terminal.
 * @module
 */

export const PAYMENTS = [
  `CREATE TABLE payments (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    channel text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    merchant text COLLATE "C",
    origin text COLLATE "C" NOT NULL,
    proof bytea,
    amount_minor bigint,
    currency text COLLATE "C",
    assurance text COLLATE "C" NOT NULL,
    stamped_at bigint,
    received_at bigint NOT NULL,
    first_payment text COLLATE "C",
    first_transaction_id text COLLATE "C",
    first_origin text COLLATE "C",
    payment_method text COLLATE "C",
    customer_id text
  )`,
  // Accepted payments are many and are found by id; only those that need somebody's attention are listed.
  `CREATE INDEX payments_to_attend ON payments (organisation, status, id) WHERE status <> 'accepted'`,
  `CREATE TABLE payment_acceptances (
    payment text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    accepted_by text COLLATE "C" NOT NULL,
    accepted_at bigint NOT NULL
  )`,
  `CREATE TABLE terminal_clocks (
    terminal text COLLATE "C" PRIMARY KEY,
    nonce integer NOT NULL,
    stamped_at bigint NOT NULL
  )`,
] as const
