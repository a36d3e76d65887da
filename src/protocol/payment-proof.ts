/**
 * The payment proof as text and bytes: what terminals make, servers read, and both must agree on.
 *
 * `nullifier` = SHA-256(UTF-8 card token). `mac` = HMAC-SHA256(API key, "offline-proof/1" ‖ nullifier (32) ‖
 * amount in minor units (u64 BE) ‖ currency (3 ASCII) ‖ nonce (u16 BE) ‖ Unix ms (u64 BE) ‖ merchant id (UTF-8)).
 *
 * | form | bytes | layout | base64url |
 * |---|---|---|---|
 * | compact | 27 | nullifier[0:12] ‖ mac[0:15] | 36 characters |
 * | stored | 49 | nullifier (32) ‖ mac[0:15] ‖ nonce (u16 BE) | 66 characters |
 * @module
 */
import { createCore } from '../core/index.ts'
import { exponentOf } from './currency.ts'

export const COMPACT_BYTES = 27
export const STORED_BYTES = 49
const COMPACT_CHARACTERS = 36
const STORED_CHARACTERS = 66
const NULLIFIER_BYTES = 32
/** The part of the nullifier that decides whether two payments used the same card token. */
export const NULLIFIER_FRAGMENT_BYTES = 12
const BODY_BYTES = 15

const core = createCore()

/** A proof taken apart. `bytes` is the whole of it; the other fields are views into it. */
export interface ParsedProof {
  readonly ok: true
  readonly form: 'compact' | 'stored'
  readonly bytes: Uint8Array
  /** First 12 bytes of the nullifier. */
  readonly nullifier12: Uint8Array
  /** The whole nullifier, 32 bytes; only in the stored form. */
  readonly nullifier?: Uint8Array
  /** First 15 bytes of the MAC. */
  readonly body: Uint8Array
  /** The terminal's counter, 0 to 65,535; only in the stored form. */
  readonly nonce?: number
}

export interface MalformedProof {
  readonly ok: false
  readonly reason: 'length' | 'encoding'
}

/**
 * Reads a proof. Only canonical base64url counts (no padding, spare bits zero), so that one proof has one text.
 * @param text 36 characters for a compact proof, 66 for a stored one
 */
export const parseProof = (text: string): ParsedProof | MalformedProof => {
  if (text.length !== COMPACT_CHARACTERS && text.length !== STORED_CHARACTERS)
    return { ok: false, reason: 'length' }
  const bytes = core.base64urlDecode(text)
  if (bytes === undefined) return { ok: false, reason: 'encoding' }
  const isStored = bytes.length === STORED_BYTES
  const bodyAt = isStored ? NULLIFIER_BYTES : NULLIFIER_FRAGMENT_BYTES
  const nullifier12 = bytes.subarray(0, NULLIFIER_FRAGMENT_BYTES)
  const body = bytes.subarray(bodyAt, bodyAt + BODY_BYTES)
  if (!isStored) return { ok: true, form: 'compact', bytes, nullifier12, body }
  const nullifier = bytes.subarray(0, NULLIFIER_BYTES)
  const nonce = ((bytes[47] as number) << 8) | (bytes[48] as number)
  return { ok: true, form: 'stored', bytes, nullifier12, body, nullifier, nonce }
}

/** The compact form, 36 characters, of a proof in either form: both name the same payment. */
export const compactOf = ({ nullifier12, body }: ParsedProof): string => {
  const compact = new Uint8Array(COMPACT_BYTES)
  compact.set(nullifier12)
  compact.set(body, NULLIFIER_FRAGMENT_BYTES)
  return core.base64urlEncode(compact)
}

/** Crockford's alphabet in lower case, as in ULIDs. */
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'
const TRANSACTION_ID_DIGITS = 26

/**
 * The transaction id that a proof gives itself: `txn_` and the first 26 base32 digits (130 bits, most significant
 * first) of SHA-256 over the proof's text. A repeated upload has the same id.
 */
export const transactionIdFor = (proofText: string): string => {
  const digest = core.sha256(proofText)
  let id = 'txn_'
  for (let digit = 0; digit < TRANSACTION_ID_DIGITS; digit++) {
    const bit = digit * 5
    const pair = ((digest[bit >> 3] as number) << 8) | (digest[(bit >> 3) + 1] as number)
    id += BASE32[(pair >> (11 - (bit & 7))) & 31]
  }
  return id
}

const SHORTEST_PAN_DIGITS = 13
const LONGEST_PAN_DIGITS = 19

/** Luhn's check (ISO/IEC 7812-1 annex B). @param digits only 0–9 */
const passesLuhn = (digits: string): boolean => {
  let sum = 0
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place])
    const doubled = place % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Whether a text is 13 to 19 digits that pass Luhn, spaces and dashes ignored: its hash could be reversed. */
export const looksLikeCardNumber = (text: string): boolean => {
  const digits = text.replace(/[\s-]/g, '')
  return (
    digits.length >= SHORTEST_PAN_DIGITS &&
    digits.length <= LONGEST_PAN_DIGITS &&
    /^[0-9]+$/.test(digits) &&
    passesLuhn(digits)
  )
}

/** An amount in minor units, or why it has none. `message` completes a sentence that starts with the field's name. */
export type MinorUnits =
  | { readonly ok: true; readonly minor: number }
  | { readonly ok: false; readonly reason: 'range' | 'precision'; readonly message: string }

/**
 * Converts exactly: what counts is the shortest decimal text of the number, so 0.1 is one tenth and nothing is
 * rounded. 12.5 GBP → 1250.
 * @param currency an ISO 4217 code
 * @throws RangeError for an unknown currency
 */
export const toMinorUnits = (amount: number, currency: string): MinorUnits => {
  const exponent = exponentOf(currency)
  if (!Number.isFinite(amount) || amount <= 0) {
    return { ok: false, reason: 'range', message: 'must be a positive, finite number' }
  }
  const [mantissa = '', power = '0'] = String(amount).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const shift = exponent + Number(power) - fraction.length
  if (shift < 0) {
    return {
      ok: false,
      reason: 'precision',
      message: `must have at most ${exponent} decimals in ${currency}`,
    }
  }
  const minor = Number(`${whole}${fraction}e${shift}`)
  if (!Number.isSafeInteger(minor)) {
    return { ok: false, reason: 'range', message: `must be at most 2^53 − 1 minor units of ${currency}` }
  }
  return { ok: true, minor }
}

/** The amount in major units, the double nearest to it: 1250 GBP pence → 12.5. @param minor a safe integer */
export const fromMinorUnits = (minor: number, currency: string): number =>
  Number(`${minor}e-${exponentOf(currency)}`)
