/** Webhooks as the OpenAPI document tells of them: what receivers get. @module */
import Type, { type TProperties } from 'typebox'
import type { WebhookEvent } from '../domain/webhooks/events.ts'
import type { OpenApiWebhook } from '../http/openapi/openapi.ts'
import { OfLog } from '../json/schemas.ts'

const Text = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const Hash = (description: string) =>
  Type.String({ pattern: '^[0-9a-f]{64}$', description: `${description}; lower-case hex.` })

const subject = {
  digest: Text('Digest of what the entry is about; null if it has none.'),
  circuit_id: Text('Null if nothing was proven.'),
  proof_id: Text('Null if nothing was proven.'),
}
const proof = {
  ...subject,
  log: OfLog,
  merkle_root: Hash('Root of the audit tree whose last leaf this is'),
  merkle_leaf_hash: Hash('Leaf hash of the entry'),
}

const EVENTS: Readonly<Record<WebhookEvent, readonly [summary: string, title: string, data: TProperties]>> = {
  'proof.created': ['A proof was generated and its digest anchored', 'ProofCreatedDelivery', proof],
  'proof.verified': ['A verification completed and its outcome was signed', 'ProofVerifiedDelivery', proof],
  'proof.spent': ['A digest was consumed', 'ProofSpentDelivery', proof],
  'merkle.leaf_appended': [
    'A leaf was appended to the audit tree',
    'LeafAppendedDelivery',
    {
      ...subject,
      audit_event: Type.String({ description: 'Type of the entry, such as `verify`.' }),
      leaf_hash: Hash('Leaf hash of the entry'),
      log: OfLog,
      merkle_index: Type.Integer({ minimum: 0, description: 'Index of the leaf.' }),
      merkle_root: Hash('Root of the audit tree whose last leaf this is'),
    },
  ],
  'key.revoked': [
    'An API key was revoked, or replaced and its overlap is over',
    'KeyRevokedDelivery',
    { key_id: Type.String({ description: '`key_…`' }), label: Text('Label of the key.') },
  ],
}

const HEADERS = {
  'X-Service-Event': 'Name of the event.',
  'X-Service-Timestamp': 'Unix seconds of the attempt; part of what is signed.',
  'X-Service-Delivery-Id': 'The same as `delivery_id`, in every attempt: the idempotency key.',
  'X-Service-Signature':
    '`hmac-sha256=` and the hexadecimal HMAC-SHA256 of `{timestamp}.{raw body}` under the secret of the endpoint.',
}

const DESCRIPTION =
  'Sent at most three times, under one delivery id, until an attempt is answered with a 2xx status within 8 seconds. Order is not guaranteed. Deliveries carry the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks as well.'

export const WEBHOOKS: readonly OpenApiWebhook[] = Object.entries(EVENTS).map(
  ([name, [summary, title, data]]) => ({
    name,
    summary,
    description: DESCRIPTION,
    tag: 'Webhooks',
    headers: HEADERS,
    body: Type.Object(
      {
        delivery_id: Type.String({ pattern: '^dlv_[0-9a-f]{24}$' }),
        event: Type.Literal(name),
        created_at: Type.String({ format: 'date-time' }),
        data: Type.Object(data),
      },
      { title },
    ),
  }),
)
