/**
 * The schema as it was when the migrations up to then became one. Columns that end in `_at` are Unix milliseconds.
 * Frozen, with the files beside it: later changes are migrations of their own.
 * @module
 */
import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { ACCOUNTS } from './accounts.ts'
import { AGENTS } from './agents.ts'
import { ANSWERS } from './answers.ts'
import { CHAT } from './chat.ts'
import { ISSUED } from './issued.ts'
import { LEDGER } from './ledger.ts'
import { PAYMENTS } from './payments.ts'
import { PEOPLE } from './people.ts'
import { RESULTS } from './results.ts'
import { WEBHOOKS } from './webhooks.ts'

const PARTS = [LEDGER, ACCOUNTS, PAYMENTS, RESULTS, ISSUED, ANSWERS, CHAT, WEBHOOKS, AGENTS, PEOPLE] as const

/** RFC 6962 §2.1: the hash of an empty tree is the hash of nothing. */
const EMPTY_ROOT = createHash('sha256').digest()

export const initialMigration = {
  name: '0001-initial',
  replaces: [
    '0001-ledger',
    '0002-accounts',
    '0003-payments',
    '0004-log',
    '0005-verification',
    '0006-pods',
    '0007-hermes',
    '0008-proofs',
    '0009-tokens',
    '0010-policies',
    '0011-terminal-proving',
    '0012-issuer',
    '0013-audit',
    '0014-chat',
    '0015-webhooks',
    '0016-hybrid-tokens',
    '0017-tickets',
    '0018-consents',
    '0019-agents',
    '0020-agent-trust',
    '0021-kyc',
    '0022-aml',
    '0023-attempts',
    '0024-attestations',
    '0025-vouched-proofs',
    '0026-asked',
    '0027-revoked-results',
    '0028-result-proofs',
    '0029-issued-nullifiers',
  ],
  async up(knex: Knex): Promise<void> {
    for (const query of PARTS.flat()) await knex.raw(query)
    await knex('ledger_head').insert({
      name: 'ledger',
      size: 0,
      root: EMPTY_ROOT,
      edge: Buffer.alloc(0),
      updated_at: 0,
    })
  },
}
