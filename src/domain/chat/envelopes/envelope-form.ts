/** The form of a relay envelope: every field, before anything of it is believed. @module */
import { createCore } from '../../../core/index.ts'
import { fail } from '../../../errors.ts'
import {
  ENVELOPE_MAX_LIFE_SECONDS,
  ENVELOPE_SCHEMA,
  type RelayEnvelope,
  signingBytes,
} from '../../../protocol/envelope.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { breaksLine, hasControls, isVisible } from '../names/characters.ts'
import { ABOUT_MAX_CHARACTERS, AGENT_ID_MAX_CHARACTERS, ENVELOPE_ID_CHARACTERS } from './schemas-envelope.ts'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const MS_PER_SECOND = 1000
/** More than any circuit has. */
const MAX_SIGNALS = 64

type Fields = Readonly<Record<string, unknown>>

export interface ReadEnvelope {
  /** Well formed; `action` and `audience` may be any text, `params` anything. */
  readonly envelope: RelayEnvelope
  /** What its signature covers: every field as it came. */
  readonly signed: Uint8Array
  /** 32 bytes. */
  readonly key: Uint8Array
  /** Unix ms. */
  readonly issuedAt: number
  /** Unix ms. */
  readonly expiresAt: number
}

const core = createCore()

const refuse: (field: string, rule: string) => never = (field, rule) =>
  fail('envelope_schema', { message: `envelope${field} ${rule}.` })

const text = (fields: Fields, name: string): string => {
  const value = fields[name]
  return typeof value === 'string' ? value : refuse(`.${name}`, 'must be a string')
}

/** Text of so many code points. */
const plainText = (fields: Fields, name: string, { min, max }: { min: number; max: number }): string => {
  const value = text(fields, name)
  const { length } = [...value]
  if (length < min || length > max) refuse(`.${name}`, `must have ${min} to ${max} characters`)
  return value
}

const requireAgentId = (fields: Fields): void => {
  const agentId = plainText(fields, 'agent_id', { min: 1, max: AGENT_ID_MAX_CHARACTERS })
  if (!isVisible(agentId)) refuse('.agent_id', 'must contain visible characters')
  if (breaksLine(agentId))
    refuse(
      '.agent_id',
      'must be one line without control characters or characters that change the writing direction',
    )
}

const checkAbout = (fields: Fields): void => {
  // Optional fields sent as null count as absent.
  if (fields.about === undefined || fields.about === null) return
  if (hasControls(plainText(fields, 'about', { min: 0, max: ABOUT_MAX_CHARACTERS })))
    refuse(
      '.about',
      'must not contain control characters except newline and tab, or characters that change the writing direction',
    )
}

const VISIBLE_ASCII = /^[!-~]*$/

const requireId = (fields: Fields): void => {
  const { min, max } = ENVELOPE_ID_CHARACTERS
  const id = text(fields, 'id')
  if (id.length < min || id.length > max || !VISIBLE_ASCII.test(id))
    refuse('.id', `must be ${min} to ${max} visible ASCII characters`)
}

/** base64url (RFC 4648 §5) in its one form, without padding. */
const bytes = (value: unknown, field: string, length: number): Uint8Array => {
  const decoded = typeof value === 'string' ? core.base64urlDecode(value) : undefined
  return decoded?.length === length
    ? decoded
    : refuse(field, `must be ${length} bytes in base64url without padding`)
}

const readKey = ({ key }: Fields): Uint8Array => {
  if (!isObject(key) || key.kty !== 'OKP' || key.crv !== 'Ed25519')
    refuse('.key', 'must be a JWK {"kty": "OKP", "crv": "Ed25519", "x": …}')
  // Whoever sends it has told it to everybody on the way.
  if ('d' in key) refuse('.key', 'contains a private key: never send it, and stop using it')
  return bytes(key.x, '.key.x', KEY_BYTES)
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i
const RULE_OF_TIMES = 'must be an RFC 3339 date and time, such as 2026-01-31T12:00:00Z'

/** @returns Unix ms */
const time = (fields: Fields, name: string): number => {
  const value = text(fields, name).toUpperCase()
  const at = DATE_TIME.test(value) ? Date.parse(value) : Number.NaN
  // A day that its month lacks is taken for one of the next month.
  const day = value.slice(0, 10)
  const isDay = !Number.isNaN(at) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
  return isDay ? at : refuse(`.${name}`, RULE_OF_TIMES)
}

const checkProof = ({ proof }: Fields): void => {
  // Optional fields sent as null count as absent.
  if (proof === undefined || proof === null) return
  if (!isObject(proof) || typeof proof.circuit_id !== 'string')
    refuse('.proof', 'must be an object with circuit_id, proof, public_signals and context')
  const { public_signals: signals } = proof
  const isList = Array.isArray(signals) && signals.length <= MAX_SIGNALS
  if (!isList || !signals.every((signal) => typeof signal === 'string'))
    refuse('.proof.public_signals', `must be a list of at most ${MAX_SIGNALS} strings`)
  if (!isObject(proof.context)) refuse('.proof.context', 'must be the context of the proof')
}

const signedBytes = (input: object): Uint8Array => {
  try {
    return signingBytes(input)
  } catch {
    // Half a surrogate pair, a number that is none, or too deep.
    return refuse('', 'has no canonical JSON (RFC 8785)')
  }
}

/** @throws AppError envelope_schema, naming the field and its rule */
export const readEnvelope = (input: unknown): ReadEnvelope => {
  if (!isObject(input)) refuse('', 'must be an object')
  if (input.schema !== ENVELOPE_SCHEMA) refuse('.schema', `must be "${ENVELOPE_SCHEMA}"`)
  requireId(input)
  requireAgentId(input)
  const key = readKey(input)
  text(input, 'audience')
  text(input, 'action')
  if (input.params === undefined) refuse('.params', 'is required')
  const issuedAt = time(input, 'issued_at')
  const expiresAt = time(input, 'expires_at')
  if (expiresAt <= issuedAt || expiresAt - issuedAt > ENVELOPE_MAX_LIFE_SECONDS * MS_PER_SECOND)
    refuse('.expires_at', `must be after issued_at, by ${ENVELOPE_MAX_LIFE_SECONDS} s at most`)
  checkAbout(input)
  checkProof(input)
  bytes(input.signature, '.signature', SIGNATURE_BYTES)
  // All its fields were looked at.
  return { envelope: input as unknown as RelayEnvelope, signed: signedBytes(input), key, issuedAt, expiresAt }
}
