/** Routes of API keys. @module */
import { route } from '../../http/route.ts'
import type { Services } from './routes.ts'
import {
  KeyCreated,
  KeyList,
  KeyParams,
  KeyRevoked,
  KeyRotated,
  KeyRotation,
  KeysQuery,
  LeakedKey,
  NewKey,
} from './schemas.ts'

const REVOCATIONS_PER_MINUTE = 60
const MINUTE_SECONDS = 60

const listKeys = route({
  name: 'listKeys',
  method: 'GET',
  path: '/console/api/keys',
  auth: 'console',
  scope: 'keys',
  tag: 'Keys',
  summary: 'List API keys',
  description:
    'Newest first, including revoked keys unless `status` says otherwise. The text of a key is never shown again.',
  query: KeysQuery,
  response: { 200: KeyList },
  errors: [],
  example: { query: { status: 'active' } },
  handler: ({ caller, query }, { accounts }: Services) => accounts.keys.list(caller, query),
})

const newKey = {
  method: 'POST',
  scope: 'keys',
  tag: 'Keys',
  summary: 'Create an API key',
  description: "The key is shown once. It can't have more scopes than the credential that creates it.",
  body: NewKey,
  response: { 201: KeyCreated },
  errors: ['insufficient_scope'],
  example: { body: { label: 'web shop', scopes: ['merchant', 'verify'] } },
} as const

const createKey = route({
  ...newKey,
  name: 'createKey',
  path: '/console/api/keys',
  auth: 'console',
  handler: ({ caller, body }, { accounts }: Services) => accounts.keys.create(caller, body),
})

const createApiKey = route({
  ...newKey,
  name: 'createApiKey',
  path: '/v1/api-keys',
  auth: 'key',
  handler: ({ caller, body }, { accounts }: Services) => accounts.keys.create(caller, body),
})

const rotateKey = route({
  name: 'rotateKey',
  method: 'POST',
  path: '/console/api/keys/{keyId}/rotate',
  auth: 'console',
  scope: 'keys',
  tag: 'Keys',
  summary: 'Replace an API key by a new one',
  description:
    'The new key has the same rights, which the caller must have. The old key stays valid for `overlapSeconds` (default 0); webhook endpoints receive `key.revoked` when that is over. A key can be replaced once; a second attempt, or replacing a revoked key, returns 409.',
  params: KeyParams,
  body: KeyRotation,
  response: { 201: KeyRotated },
  errors: ['not_found', 'insufficient_scope', 'conflict'],
  example: { params: { keyId: '{keyId}' }, body: { overlapSeconds: 3600 } },
  handler: ({ caller, params, body }, { accounts }: Services) =>
    accounts.keys.rotate(caller, params.keyId, body),
})

const deleteKey = route({
  name: 'deleteKey',
  method: 'DELETE',
  path: '/console/api/keys/{keyId}',
  auth: 'console',
  scope: 'keys',
  tag: 'Keys',
  summary: 'Revoke an API key',
  description:
    'Permanent; takes effect on every server within a second. Revoking it again changes nothing. The caller needs each scope of the key, or `admin`.',
  params: KeyParams,
  response: { 204: null },
  errors: ['not_found', 'insufficient_scope'],
  handler: ({ caller, params }, { accounts }: Services) => accounts.keys.revoke(caller, params.keyId),
})

const revokeLeakedKey = route({
  name: 'revokeLeakedKey',
  method: 'POST',
  path: '/console/api/keys/revoke',
  auth: 'optional',
  tag: 'Keys',
  summary: 'Revoke an API key that leaked',
  description:
    "Anyone who has the key can revoke it by sending it. An administrator's key can send the id of any key instead. Permanent; takes effect on every server within a second. The owner's webhook endpoints receive `key.revoked`. Revoking it again changes nothing.",
  body: LeakedKey,
  response: { 200: KeyRevoked },
  errors: ['not_found'],
  addressLimit: { requests: REVOCATIONS_PER_MINUTE, windowSeconds: MINUTE_SECONDS },
  example: { body: { key: '{leakedKey}' } },
  handler: ({ caller, body, requestId }, { accounts }: Services) =>
    accounts.keys.revokeLeaked({ caller, requestId }, body),
})

export const keyRoutes = [listKeys, createKey, createApiKey, rotateKey, deleteKey, revokeLeakedKey]
