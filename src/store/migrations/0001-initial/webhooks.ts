/**
 * Webhook endpoints, and the deliveries that are due. `due_at` and `queued_at` are by the database's clock.
 * @module
 */

const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

export const WEBHOOKS = [
  `CREATE TABLE webhook_endpoints (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    key_id text COLLATE "C",
    label text NOT NULL,
    sealed_url bytea NOT NULL,
    sealed_secret bytea NOT NULL,
    events jsonb NOT NULL,
    active boolean NOT NULL,
    private_egress boolean NOT NULL,
    announces_from bigint NOT NULL,
    created_at bigint NOT NULL,
    last_delivery_at bigint,
    last_status integer,
    failure_count bigint NOT NULL DEFAULT 0
  )`,
  'CREATE INDEX webhook_endpoints_organisation ON webhook_endpoints (organisation, id)',
  `CREATE TABLE webhook_deliveries (
    id text COLLATE "C" PRIMARY KEY,
    endpoint text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    body text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at bigint NOT NULL DEFAULT ${NOW_MS},
    queued_at bigint NOT NULL DEFAULT ${NOW_MS}
  )`,
  'CREATE INDEX webhook_deliveries_lane ON webhook_deliveries (endpoint, due_at)',
] as const
