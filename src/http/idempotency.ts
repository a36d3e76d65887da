/**
 * The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): a claim that the ledger settles.
 * @module
 */
import { createHash } from 'node:crypto'
import type { Idempotency } from '../caller.ts'
import { AppError } from '../errors.ts'

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/

/** Header of an answer that was stored by an earlier request. */
export const REPLAYED_HEADER = 'Idempotency-Replayed'

const sha256Hex = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/**
 * Binds the header's value to credential, method and path, so that no two of them share keys.
 * @param header the header's value, undefined when it was not sent
 * @param body the raw bytes as received
 * @throws AppError invalid_idempotency_key
 */
export const readIdempotency = (
  header: string | string[] | undefined,
  request: { readonly credentialId: string; readonly method: string; readonly path: string },
  body: Uint8Array,
): Idempotency | undefined => {
  if (header === undefined) return undefined
  const value = String(header)
  if (!KEY_PATTERN.test(value)) throw new AppError('invalid_idempotency_key')
  const { credentialId, method, path } = request
  return {
    key: sha256Hex(JSON.stringify([credentialId, method, path, value])),
    requestHash: sha256Hex(body),
    replayed: false,
  }
}
