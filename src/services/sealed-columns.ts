/**
 * Everything that is sealed under the keys of the service, for who seals it anew. What is sealed under a person's own key
 * (kyc_checks, aml_subscriptions, aml_findings, aml_decisions, review_proposals) stays: the key of the person is sealed anew.
 * @module
 */
import type { SealedColumn } from '../keys/resealing.ts'

const TEXT = 'text'
const ID = [['id', TEXT]] as const

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'signing_keys', column: 'sealed_private', purpose: 'signing-key', key: [['kid', TEXT]] },
  { table: 'issuer_keys', column: 'sealed_private', purpose: 'issuer-key', key: [['kid', TEXT]] },
  { table: 'pseudonym_epochs', column: 'sealed_key', purpose: 'pseudonyms', key: [['epoch', 'bigint']] },
  { table: 'api_keys', column: 'sealed_midstate', purpose: 'hmac-midstate', key: ID },
  // They hold what is shown once, such as the text of keys, and stay beyond their day where nobody sends an Idempotency-Key.
  {
    table: 'idempotent_answers',
    column: 'sealed_answer',
    purpose: 'idempotency',
    key: [
      ['organisation', TEXT],
      ['key', TEXT],
    ],
    rowOf: (organisation, key) => `${organisation}/${key}`,
  },
  { table: 'account_totp', column: 'sealed_secret', purpose: 'totp', key: [['account', TEXT]] },
  { table: 'webhook_endpoints', column: 'sealed_url', purpose: 'webhook', key: ID },
  { table: 'webhook_endpoints', column: 'sealed_secret', purpose: 'webhook', key: ID },
  { table: 'hermes_routes', column: 'destination', purpose: 'hermes-route', key: ID },
  { table: 'hermes_routes', column: 'binding_key', purpose: 'hermes-route', key: ID },
  { table: 'agents', column: 'sealed_principal', purpose: 'agent-principal', key: ID },
  { table: 'tokens', column: 'sealed', purpose: 'token', key: ID },
  {
    table: 'hybrid_tokens',
    column: 'sealed',
    purpose: 'hybrid-token',
    key: [
      ['organisation', TEXT],
      ['id', TEXT],
    ],
    rowOf: (organisation, id) => `${organisation}/${id}`,
  },
  { table: 'tickets', column: 'sealed', purpose: 'ticket', key: ID },
  { table: 'consents', column: 'sealed', purpose: 'consent', key: ID },
  {
    table: 'consent_withdrawals',
    column: 'sealed_reason',
    purpose: 'consent-withdrawal',
    key: [['consent', TEXT]],
  },
  {
    table: 'kyc_subjects',
    column: 'sealed_key',
    purpose: 'kyc-person',
    key: [
      ['organisation', TEXT],
      ['subject', TEXT],
      ['generation', 'integer'],
    ],
    rowOf: (organisation, subject, generation) => JSON.stringify([organisation, subject, Number(generation)]),
    isText: true,
  },
]
