/**
 * The text of API keys and other bearer secrets, and what is kept of them.
 *
 * An API key is `ak_live_` ‖ 43 random base62 digits (256 bits) ‖ 6 digits of checksum: the CRC-32 (ISO-HDLC, as in
 * zlib) of everything before it, as a base62 number padded with zeros on the left. The checksum lets scanners and
 * the server tell a key from a typing error without a look-up; it proves nothing.
 * @module
 */
import { hash, randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const API_KEY_PREFIX = 'ak_live_'
const TERMINAL_TOKEN_PREFIX = 'mt_'
const POD_KEY_PREFIX = 'pk_pod_'
const ASK_TOKEN_PREFIX = 'hmt_'
const MANAGE_TOKEN_PREFIX = 'hmm_'
/** 43 digits of base62 hold 256 bits. */
const SECRET_DIGITS = 43
const CHECKSUM_DIGITS = 6
const API_KEY_PATTERN = /^ak_live_[0-9A-Za-z]{49}$/
const TERMINAL_TOKEN_PATTERN = /^mt_[0-9A-Za-z]{43}$/
const POD_KEY_PATTERN = /^pk_pod_[0-9A-Za-z]{43}$/
const ROUTE_TOKEN_PATTERN = /^hm[tm]_[0-9A-Za-z]{43}$/
/** Characters of an API key that may be shown: enough to recognise it, too few to guess the rest. */
const HINT_CHARACTERS = API_KEY_PREFIX.length + 4
/** The greatest multiple of 62 that fits a byte: greater bytes are drawn again, so that every digit is equally likely. */
const UNBIASED_LIMIT = 248

/** @returns `digits` uniformly random base62 digits */
const randomBase62 = (digits: number): string => {
  const bytes = Buffer.alloc(digits * 2)
  let text = ''
  while (text.length < digits) {
    for (const byte of randomFillSync(bytes)) {
      if (byte < UNBIASED_LIMIT && text.length < digits) text += BASE62[byte % 62]
    }
  }
  return text
}

/** CRC-32 of the text in base62, 6 digits, padded with `0` on the left. */
const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_DIGITS; i++) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A new API key, 57 characters. */
export const newApiKey = (): string => {
  const body = API_KEY_PREFIX + randomBase62(SECRET_DIGITS)
  return body + checksum(body)
}

/** Whether the text has the form and the checksum of a generated API key. */
export const isApiKey = (text: string): boolean =>
  API_KEY_PATTERN.test(text) && checksum(text.slice(0, -CHECKSUM_DIGITS)) === text.slice(-CHECKSUM_DIGITS)

/** The part of a generated key that lists may show; empty for keys that an operator chose. */
export const apiKeyHint = (key: string): string => (isApiKey(key) ? key.slice(0, HINT_CHARACTERS) : '')

/** A new opaque terminal token, 46 characters, 256 bits. */
export const newTerminalToken = (): string => TERMINAL_TOKEN_PREFIX + randomBase62(SECRET_DIGITS)

/** Whether the text has the form of a terminal token. */
export const isTerminalToken = (text: string): boolean => TERMINAL_TOKEN_PATTERN.test(text)

/** A new key of a pod, 50 characters, 256 bits. */
export const newPodKey = (): string => POD_KEY_PREFIX + randomBase62(SECRET_DIGITS)

/** Whether the text has the form of a pod's key. */
export const isPodKey = (text: string): boolean => POD_KEY_PATTERN.test(text)

/** New tokens of a hermes route, 47 characters, 256 bits: the one asks it, the other manages it. */
export const newAskToken = (): string => ASK_TOKEN_PREFIX + randomBase62(SECRET_DIGITS)
export const newManageToken = (): string => MANAGE_TOKEN_PREFIX + randomBase62(SECRET_DIGITS)

/** Whether the text has the form of a token of a hermes route. */
export const isRouteToken = (text: string): boolean => ROUTE_TOKEN_PATTERN.test(text)

/** A new secret without a prefix (session cookies, terminal secrets), 43 characters, 256 bits. */
export const newSecret = (): string => randomBase62(SECRET_DIGITS)

/** What is kept of a bearer secret: SHA-256 of its UTF-8 text, 32 bytes. Enough, since the secret has 256 bits. */
export const secretDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer')
