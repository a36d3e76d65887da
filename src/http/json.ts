/**
 * JSON as the service accepts it: I-JSON (RFC 7493) as far as strings go, no keys that reach prototypes,
 * bounded depth and width where a schema leaves the shape open.
 * @module
 */
import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'

export const JSON_MAX_DEPTH = 64
export const JSON_MAX_KEYS_PER_OBJECT = 1000
/** Pointers in error details echo the caller's keys; longer ones are cut. */
const POINTER_MAX_CHARS = 256

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor'])

/** One reference token of a JSON Pointer (RFC 6901 §3). */
export const pointerToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

export const clipPointer = (pointer: string): string =>
  pointer.length <= POINTER_MAX_CHARS ? pointer : `${pointer.slice(0, POINTER_MAX_CHARS)}…`

const refuse = (path: string, code: string, message: string): never => {
  throw new AppError('invalid_request', { message, details: [{ path: clipPointer(path), code, message }] })
}

/** NUL, which PostgreSQL text can't hold, and lone surrogates, which have no UTF-8 form. */
const isStorable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text)

interface Frame {
  readonly value: object
  readonly path: string
  readonly depth: number
}

/**
 * Walks a parsed value without recursion.
 * @param bounded whether depth and key counts are limited too
 * @throws AppError invalid_request naming the offending place
 */
const inspect = (root: object, bounded: boolean): void => {
  const open: Frame[] = [{ value: root, path: '', depth: 1 }]
  for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
    const { value, path, depth } = frame
    if (bounded && depth > JSON_MAX_DEPTH)
      refuse(path, 'max_depth', `JSON may nest at most ${JSON_MAX_DEPTH} levels.`)
    const entries = Object.entries(value)
    if (bounded && !Array.isArray(value) && entries.length > JSON_MAX_KEYS_PER_OBJECT) {
      refuse(path, 'max_keys', `An object may have at most ${JSON_MAX_KEYS_PER_OBJECT} keys.`)
    }
    for (const [key, member] of entries) {
      const memberPath = `${path}/${pointerToken(key)}`
      if (FORBIDDEN_KEYS.has(key)) refuse(memberPath, 'forbidden_key', 'This key is not allowed.')
      if (!isStorable(key)) refuse(path, 'invalid_string', 'A key holds U+0000 or a lone surrogate.')
      if (typeof member === 'string') {
        if (!isStorable(member))
          refuse(memberPath, 'invalid_string', 'The text holds U+0000 or a lone surrogate.')
      } else if (typeof member === 'object' && member !== null) {
        open.push({ value: member, path: memberPath, depth: depth + 1 })
      }
    }
  }
}

/**
 * Parses a request body.
 * @param bytes the raw body, UTF-8 (a byte order mark is refused, RFC 8259 §8.1)
 * @param open whether its schema leaves some part's shape open, so that depth and width must be bounded here
 * @throws AppError invalid_json, invalid_request
 */
export const parseJson = (bytes: Buffer, open: boolean): unknown => {
  if (!isUtf8(bytes)) throw new AppError('invalid_json', { message: 'The request body is not valid UTF-8.' })
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
  if (typeof value === 'string' && !isStorable(value)) {
    refuse('', 'invalid_string', 'The text holds U+0000 or a lone surrogate.')
  }
  // Escapes can spell anything, so a text with escapes is walked; others only when the words appear.
  const suspicious =
    open || text.includes('\\u') || text.includes('__proto__') || text.includes('"constructor"')
  if (suspicious && typeof value === 'object' && value !== null) inspect(value, open)
  return value
}
