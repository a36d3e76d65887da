/**
 * Reads status list tokens (draft-ietf-oauth-status-list-20 §5.1 and §8.3) in the one form in which this service publishes
 * them: a JWT signed with ES256, one bit per entry. Runs in browsers too.
 * @module
 */
import { createCore } from '../core/index.ts'
import { isObject } from './json-object.ts'
import { type ReadJws, readJws } from './jws.ts'
import { STATUS_LIST_ENTRIES, statusListUri } from './status.ts'

/** `typ` of a status list token. */
export const STATUS_LIST_TYP = 'statuslist+jwt'
const LIST_BYTES = STATUS_LIST_ENTRIES / 8
/** A list that nothing can compress has some 29,600 characters. */
const MAX_JWT_CHARACTERS = 32_768
/** Clocks of readers may be behind by so much. */
const MAX_AHEAD_SECONDS = 300

/** Why nothing is known of a status. */
export const STATUS_LIST_REASONS = {
  STATUS_LIST_MALFORMED: 'It is not a status list token in the form of this service.',
  STATUS_LIST_KEY_UNKNOWN: "Its `kid` is not one of the issuer's keys for ES256.",
  STATUS_LIST_SIGNATURE_INVALID: 'Its signature is wrong.',
  STATUS_LIST_ISSUER_MISMATCH: 'Another issuer published it.',
  STATUS_LIST_OTHER: 'It is another list of the issuer.',
  STATUS_STALE: 'It has expired, or was issued in the future: get the current one.',
} as const
export type StatusListReason = keyof typeof STATUS_LIST_REASONS

/** A key of a JWK set. */
interface PublicKey {
  readonly kty: string
  readonly kid?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
}

export interface ExpectedStatusList {
  /** The issuer's /.well-known/jwks.json. */
  readonly keys: { readonly keys: readonly PublicKey[] }
  /** The issuer's base URL. */
  readonly issuer: string
  /** Which list. */
  readonly list: number
  /** Unix seconds. */
  readonly now: number
}

export interface StatusList {
  readonly uri: string
  /** Unix seconds, as `expiresAt`. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** Whether an entry is set: revoked, withdrawn or replaced. @throws RangeError unless `index` is 0 to 131,071 */
  isSet(index: number): boolean
}

export type StatusListRead = { readonly statusList: StatusList } | { readonly reason: StatusListReason }

const core = createCore()

const fail = (reason: StatusListReason): { readonly reason: StatusListReason } => ({ reason })

/** Exactly the bytes of a list; undefined for anything else. Never holds more than one piece beyond them. */
const inflate = async (compressed: Uint8Array): Promise<Uint8Array | undefined> => {
  // The format that RFC 1950 calls ZLIB.
  const reader = new Blob([compressed as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream('deflate'))
    .getReader()
  const bits = new Uint8Array(LIST_BYTES)
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return length === LIST_BYTES ? bits : undefined
      if (length + value.length > LIST_BYTES) {
        await reader.cancel()
        return undefined
      }
      bits.set(value, length)
      length += value.length
    }
  } catch {
    return undefined
  }
}

const isSigned = async ({ covered, signature }: ReadJws, { kty, crv, x, y }: PublicKey): Promise<boolean> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
  const [signed, over] = [signature, covered] as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>]
  return crypto.subtle.verify(algorithm, key, signed, over)
}

interface Payload {
  readonly iss: unknown
  readonly sub: unknown
  readonly iat: number
  readonly exp: number
  readonly compressed: Uint8Array
}

const readPayload = ({ header, payload }: ReadJws): Payload | undefined => {
  const { iss, sub, iat, exp, status_list: list } = payload
  if (header.alg !== 'ES256' || header.typ !== STATUS_LIST_TYP || header.crit !== undefined) return undefined
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return undefined
  if (!isObject(list) || list.bits !== 1 || typeof list.lst !== 'string') return undefined
  const compressed = core.base64urlDecode(list.lst)
  return compressed && { iss, sub, iat: iat as number, exp: exp as number, compressed }
}

/**
 * Checks a status list token and opens the list. Whatever is in `jwt`, it answers; it takes at most 16 KiB for the list.
 * @param jwt what the list's address answered; it may have been kept, until it is stale
 * @throws DOMException for a key of the issuer that is none
 */
export const readStatusList = async (
  jwt: string,
  { keys, issuer, list, now }: ExpectedStatusList,
): Promise<StatusListRead> => {
  const read = jwt.length > MAX_JWT_CHARACTERS ? undefined : readJws(jwt)
  const payload = read && readPayload(read)
  if (read === undefined || payload === undefined) return fail('STATUS_LIST_MALFORMED')
  const { kid } = read.header
  const key = keys.keys.find((one) => one.kid === kid && one.kty === 'EC' && one.crv === 'P-256')
  if (typeof kid !== 'string' || key === undefined) return fail('STATUS_LIST_KEY_UNKNOWN')
  if (!(await isSigned(read, key))) return fail('STATUS_LIST_SIGNATURE_INVALID')
  const { iss, sub, iat, exp, compressed } = payload
  const uri = statusListUri(issuer, list)
  if (iss !== issuer) return fail('STATUS_LIST_ISSUER_MISMATCH')
  if (sub !== uri) return fail('STATUS_LIST_OTHER')
  // Written so that a clock that is no number refuses.
  if (!(now < exp && iat <= now + MAX_AHEAD_SECONDS)) return fail('STATUS_STALE')
  const bits = await inflate(compressed)
  if (bits === undefined) return fail('STATUS_LIST_MALFORMED')
  return {
    statusList: {
      uri,
      issuedAt: iat,
      expiresAt: exp,
      isSet(index) {
        if (!Number.isInteger(index) || index < 0 || index >= STATUS_LIST_ENTRIES)
          throw new RangeError(`a list has no entry ${index}`)
        return ((bits[index >> 3] as number) & (1 << (index & 7))) !== 0
      },
    },
  }
}
