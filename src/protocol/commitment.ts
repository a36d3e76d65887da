/** Salted commitments to JSON: what was decided about can be shown later, and not be guessed before. @module */

import { createCore } from '../core/index.ts'
import { canonicalJson } from './canonical-json.ts'

/** Bytes of the salts that open commitments. */
export const COMMITMENT_SALT_BYTES = 32

const LABEL = new TextEncoder().encode('commitment/1')

const core = createCore()

/**
 * Lower-case hex SHA-256("commitment/1" ‖ salt ‖ JCS(data)).
 * @param salt {@link COMMITMENT_SALT_BYTES} random bytes @param data JSON
 */
export const dataCommitment = (salt: Uint8Array, data: unknown): string =>
  canonicalCommitment(salt, new TextEncoder().encode(canonicalJson(data)))

/** {@link dataCommitment} to JSON that is canonical already. @param content its UTF-8 */
export const canonicalCommitment = (salt: Uint8Array, content: Uint8Array): string => {
  const message = new Uint8Array(LABEL.length + salt.length + content.length)
  message.set(LABEL)
  message.set(salt, LABEL.length)
  message.set(content, LABEL.length + salt.length)
  return Array.from(core.sha256(message), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
