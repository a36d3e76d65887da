/** Many rows in the tables that hot routes read and write, older than the real ones that stand there: copies where they are sealed. @module */

import type pg from 'pg'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import { withoutIndexes } from './bulk.ts'

const ROWS_AT_ONCE = 200_000
const PAST = Date.UTC(2026, 2, 2)
/** What ends or is due then is neither removed nor sent meanwhile. */
const FUTURE = Date.UTC(2100, 0, 1)
/** Above all statuses that are given out. */
const FIRST_STATUS = 2 ** 40
/** Days, or deliveries, of each made-up owner. */
const ROWS_OF_OWNER = 400

/** The end of an id, behind the type and a number. */
const id = (prefix: string, number = 'i'): string => `'${prefix}_' || lpad((${number})::text, 26, '0')`
const owner = (prefix: string): string => id(prefix, `i / ${ROWS_OF_OWNER}`)

interface Fill {
  /** The table whose newest row is `one`; it has a real row. By default that which is filled. */
  readonly like?: string
  /** What each column gets, for each `i`. */
  readonly columns: Readonly<Record<string, string>>
}

const OF_ITS_ORGANISATION = { organisation: 'one.organisation', entry_index: '0' } as const

/** In this order: some are like tables above them. */
const FILLS: Readonly<Record<string, Fill>> = {
  ledger_claims: {
    columns: {
      organisation: 'one.organisation',
      kind: `CASE WHEN i % 2 = 0 THEN '${CLAIM_KINDS.paymentNullifier}' ELSE '${CLAIM_KINDS.paymentTransaction}' END`,
      key: 'md5(i::text)',
      holder: `'{}'`,
      at: `${PAST}`,
    },
  },
  payments: {
    columns: {
      ...OF_ITS_ORGANISATION,
      id: id('pay'),
      status: `CASE WHEN i % 1000 = 0 THEN 'rejected' ELSE 'accepted' END`,
      channel: 'channel',
      transaction_id: `'txn_' || i`,
      merchant: 'merchant',
      origin: 'origin',
      amount_minor: 'amount_minor',
      currency: 'currency',
      assurance: 'assurance',
      received_at: `${PAST} + i`,
    },
  },
  verifications: {
    columns: {
      ...OF_ITS_ORGANISATION,
      id: id('ver'),
      leaf_hash: 'leaf_hash',
      decision: 'decision',
      digest: 'md5(i::text)',
      circuit_id: 'circuit_id',
      jws: 'jws',
      jws_hash: `sha256(('jws ' || i)::bytea)`,
      issued_at: `${PAST} + i / 40`,
    },
  },
  proofs: {
    columns: {
      ...OF_ITS_ORGANISATION,
      id: id('prf'),
      circuit_id: 'circuit_id',
      digest: 'md5(i::text)',
      proof: 'proof',
      public_signals: 'public_signals',
      created_at: `${PAST} + i / 40`,
    },
  },
  revoked_nullifiers: {
    like: 'proofs',
    columns: {
      organisation: 'organisation',
      circuit_id: 'circuit_id',
      nullifier: 'i::text',
      revoked_at: `${PAST} + i / 40`,
    },
  },
  issued_nullifiers: {
    like: 'proofs',
    columns: {
      organisation: 'organisation',
      circuit_id: 'circuit_id',
      nullifier: 'i::text',
      consent: `CASE WHEN i % 2 = 0 THEN ${id('cns')} END`,
      expires_at: `CASE WHEN i % 4 = 0 THEN ${FUTURE} + i END`,
    },
  },
  tokens: {
    columns: {
      ...OF_ITS_ORGANISATION,
      id: id('tok'),
      type: 'type',
      single_use: 'single_use',
      jws_hash: `sha256(('jwt ' || i)::bytea)`,
      sealed: 'sealed',
      issued_at: `${PAST} + i / 40`,
      expires_at: 'expires_at',
      subject: 'CASE WHEN i % 100 = 0 THEN subject END',
    },
  },
  token_uses: {
    like: 'tokens',
    columns: { ...OF_ITS_ORGANISATION, token: id('tok'), used_at: `${PAST} + i / 40` },
  },
  token_revocations: {
    like: 'tokens',
    columns: { ...OF_ITS_ORGANISATION, token: id('tok'), revoked_at: `${PAST} + i / 40` },
  },
  tickets: {
    columns: {
      ...OF_ITS_ORGANISATION,
      id: id('tkt'),
      digest: `sha256(('ticket ' || i)::bytea)`,
      single_use: 'single_use',
      sealed: 'sealed',
      issued_at: `${PAST} + i / 40`,
      expires_at: 'expires_at',
      subject: 'CASE WHEN i % 100 = 0 THEN subject END',
    },
  },
  consents: {
    columns: {
      id: id('cns'),
      organisation: 'organisation',
      entry_index: '-i',
      subject: 'md5((i % 100000)::text)',
      controller_hash: 'controller_hash',
      answer: 'answer',
      receipt_hash: `sha256(('receipt ' || i)::bytea)`,
      sealed: 'sealed',
      recorded_at: `${PAST} + i / 40`,
    },
  },
  consent_purposes: {
    columns: {
      consent: id('cns'),
      purpose_hash: 'purpose_hash',
      organisation: 'organisation',
      subject: 'md5((i % 100000)::text)',
      controller_hash: 'controller_hash',
      entry_index: '-i',
      recorded_at: `${PAST} + i / 40`,
    },
  },
  consent_withdrawals: {
    like: 'consents',
    columns: { ...OF_ITS_ORGANISATION, consent: id('cns'), withdrawn_at: `${PAST} + i / 40` },
  },
  revoked_statuses: {
    like: 'tokens',
    columns: { status: `${FIRST_STATUS} + i`, revoked_at: `${PAST} + i / 40` },
  },
  idempotent_answers: {
    like: 'tokens',
    columns: {
      organisation: 'organisation',
      key: `'key ' || i`,
      request_hash: 'md5(i::text)',
      sealed_answer: 'sealed',
      expires_at: `${FUTURE} + i`,
    },
  },
  webhook_deliveries: {
    like: 'tokens',
    columns: {
      id: `'dlv_' || lpad(i::text, 24, '0')`,
      endpoint: owner('whk'),
      event: `'proof.verified'`,
      entry_index: '0',
      body: `repeat('x', 300)`,
      due_at: `${FUTURE} + i`,
    },
  },
  usage_days: {
    like: 'tokens',
    columns: {
      organisation: owner('org'),
      day: `20000 + i % ${ROWS_OF_OWNER}`,
      category: `'verification'`,
      results: '1',
      proofs: '1',
      proof_bytes: '256',
    },
  },
}

/**
 * Takes longer than the server's own sessions let a query run.
 * @param rows to be added to each table; those that have no other to be like have a row already
 */
export const fillTables = async (client: pg.Client, rows: number): Promise<void> => {
  for (const [table, { like = table, columns }] of Object.entries(FILLS))
    await withoutIndexes(client, table, async () => {
      for (let from = 1; from <= rows; from += ROWS_AT_ONCE) {
        const to = Math.min(rows, from + ROWS_AT_ONCE - 1)
        const { rowCount } = await client.query(
          `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
            WITH one AS (SELECT * FROM ${like} ORDER BY ctid DESC LIMIT 1)
            SELECT ${Object.values(columns).join(', ')} FROM one, generate_series(${from}, ${to}) AS i`,
        )
        if (rowCount !== to - from + 1) throw new Error(`${table} grew by ${rowCount} rows: ${like} is empty`)
      }
    })
}
