/**
 * The log: JSON lines through pino, one a request. A request's line never carries headers or bodies; the
 * redaction below is the second lock, for whoever logs an object that holds a secret.
 * @module
 */
import { type DestinationStream, destination, type Logger, pino, stdSerializers } from 'pino'

export type { Logger } from 'pino'

/** Lines are gathered into writes of this size, or written at the latest after LOG_FLUSH_MS. */
const LOG_BUFFER_BYTES = 4096
const LOG_FLUSH_MS = 250

const REDACTED = '[redacted]'
/** Objects nested deeper than this are logged as they are; nothing we log nests so deep. */
const REDACTION_DEPTH = 5

/** Names of secrets in any letter case, without dashes and underscores. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'adminapikey',
  'apikey',
  'authorization',
  'cardtoken',
  'cookie',
  'csrftoken',
  'invitation',
  'masterkey',
  'metricstoken',
  'password',
  'secret',
  'setcookie',
  'terminalsecret',
  'token',
  'xapikey',
  'xcsrftoken',
])

/** Whether a field of this name is a secret; names repeat, so answers are kept. */
const secretNames = new Map<string, boolean>()
const SECRET_NAMES_KEPT = 1000
const isSecret = (name: string): boolean => {
  const known = secretNames.get(name)
  if (known !== undefined) return known
  const secret = SECRET_NAMES.has(name.replaceAll(/[-_]/g, '').toLowerCase())
  if (secretNames.size < SECRET_NAMES_KEPT) secretNames.set(name, secret)
  return secret
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !(value instanceof Error) && !ArrayBuffer.isView(value)

const redactValue = (value: unknown, depth: number): unknown => {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth - 1))
  return isFields(value) ? redact(value, depth - 1) : value
}

/** The same object where it holds no secret, otherwise a copy without them. */
const redact = (fields: Fields, depth = REDACTION_DEPTH): Fields => {
  let copy: Fields | undefined
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    const safe = isSecret(name) ? REDACTED : redactValue(value, depth)
    if (safe === value) continue
    copy ??= { ...fields }
    copy[name] = safe
  }
  return copy ?? fields
}

/** Masks what no route has in its path: a parameter, or the name of somebody in a path that was mistyped. */
const MASK = '*'
const PATH_MAX_SEGMENTS = 20

/**
 * The path of a request that no route took, as it may be logged.
 * @param fixed segments that stand in the paths of routes
 */
export const maskPath = (path: string, fixed: ReadonlySet<string>): string =>
  path
    .split('/', PATH_MAX_SEGMENTS)
    .map((segment) => (fixed.has(segment) ? segment : MASK))
    .join('/')

/** An error without what a database quotes of its rows. */
const serialiseError = (error: Error): object => {
  const { detail, where, ...rest } = stdSerializers.err(error)
  return rest
}

/** In small batches, by a timer. */
const standardOutput = (): DestinationStream =>
  destination({ sync: false, minLength: LOG_BUFFER_BYTES, periodicFlush: LOG_FLUSH_MS })

const NOWHERE: DestinationStream = { write: () => undefined }

/**
 * @param level a pino level, or `silent`
 * @param stream where lines go; standard output by default
 */
export const createLogger = (level: string, stream?: DestinationStream): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serialiseError },
      formatters: { level: (label) => ({ level: label }), log: (object) => redact(object) },
    },
    stream ?? (level === 'silent' ? NOWHERE : standardOutput()),
  )
