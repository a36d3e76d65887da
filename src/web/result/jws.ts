/** Compact JWS (RFC 7515 §7.1) taken apart. @module */

import { isObject } from '../../protocol/json-object.ts'
import type { Bytes } from '../crypto/page-crypto.ts'

export interface Jws {
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: Readonly<Record<string, unknown>>
  /** What the signature covers. */
  readonly signed: Bytes
  readonly signature: Bytes
}

/** A text that is no compact JWS of JSON objects; the message says why. */
export class JwsError extends Error {
  override readonly name = 'JwsError'
}

/** @throws JwsError for what is not base64url without padding (RFC 4648 §5) */
export const fromBase64url = (text: string): Bytes => {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw new JwsError('It is not base64url.')
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

export const toBase64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const jsonObject = (part: string, what: string): Readonly<Record<string, unknown>> => {
  const bytes = fromBase64url(part)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    throw new JwsError(`Its ${what} is not JSON.`)
  }
  if (!isObject(value)) throw new JwsError(`Its ${what} is not a JSON object.`)
  return value
}

/** @throws JwsError */
export const parseJws = (text: string): Jws => {
  const parts = text.split('.')
  const [header, payload, signature] = parts
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    throw new JwsError('It does not have three parts.')
  return {
    header: jsonObject(header, 'header'),
    payload: jsonObject(payload, 'payload'),
    signed: new TextEncoder().encode(`${header}.${payload}`),
    signature: fromBase64url(signature),
  }
}
