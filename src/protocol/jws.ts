/** Compact JSON Web Signatures (RFC 7515 §7.1): written in one form, read strictly. @module */

import { createCore } from '../core/index.ts'
import { canonicalJson } from './canonical-json.ts'
import { isObject } from './json-object.ts'

/** Members that are undefined are left out. */
type JsonObject = Readonly<Record<string, unknown>>

const core = createCore()

const part = (value: JsonObject): string =>
  core.base64urlEncode(new TextEncoder().encode(canonicalJson(value)))

/**
 * Signs; header and payload become canonical JSON (RFC 8785).
 * @param sign signs the text `header.payload`, in ASCII
 */
export const writeJws = (
  header: JsonObject,
  payload: JsonObject,
  sign: (covered: Uint8Array) => Uint8Array,
): string => {
  const covered = `${part(header)}.${part(payload)}`
  return `${covered}.${core.base64urlEncode(sign(new TextEncoder().encode(covered)))}`
}

export interface ReadJws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** What the signature covers. */
  readonly covered: Uint8Array
  readonly signature: Uint8Array
}

const readPart = (text: string): JsonObject | undefined => {
  const bytes = core.base64urlDecode(text)
  if (bytes === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
  return isObject(value) ? value : undefined
}

/**
 * Takes a compact JWS apart; whether its header is acceptable and its signature holds is for the caller to say.
 * @returns undefined unless it has three parts of canonical base64url (RFC 4648 §5) without padding, the first two of
 *   them JSON objects in UTF-8
 */
export const readJws = (text: string): ReadJws | undefined => {
  const [head = '', body = '', tail = '', ...more] = text.split('.')
  const [header, payload] = [readPart(head), readPart(body)]
  const signature = core.base64urlDecode(tail)
  if (more.length > 0 || !header || !payload || !signature || signature.length === 0) return undefined
  return { header, payload, covered: new TextEncoder().encode(`${head}.${body}`), signature }
}
