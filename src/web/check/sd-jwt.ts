/**
 * SD-JWTs taken apart as RFC 9901 §7.1 asks of whoever verifies: each disclosure is one whose hash the issuer signed, and stands in one
 * place. Nothing of it was signed by anybody until its JWT was checked.
 * @module
 */
import { createCore } from '../../core/index.ts'
import { isObject } from '../../protocol/json-object.ts'

type Json = Readonly<Record<string, unknown>>

const HASH = 'sha-256'
/** Deeper than any credential, and far less than a stack. */
const MAX_DEPTH = 32
/** What nobody may hide (draft-ietf-oauth-sd-jwt-vc-18 §3.2.2.2). */
const ALWAYS_SHOWN = ['iss', 'nbf', 'exp', 'cnf', 'vct', 'vct#integrity', 'status']

const core = createCore()

/** Disclosures that are none, or that the issuer did not sign; the message says what is wrong. */
export class DisclosureError extends Error {
  override readonly name = 'DisclosureError'
}

const refuse = (why: string): never => {
  throw new DisclosureError(why)
}

/** SHA-256 of ASCII text, in base64url. */
export const sha256Text = (text: string): string =>
  core.base64urlEncode(core.sha256(new TextEncoder().encode(text)))

export interface SdJwtParts {
  /** The issuer's. */
  readonly jwt: string
  readonly disclosures: readonly string[]
  /** What the holder's JWT is about: all before it. */
  readonly shown: string
  /** The holder's JWT; undefined where there is none. */
  readonly keyBinding: string | undefined
}

/** @param text with at least one tilde */
export const splitSdJwt = (text: string): SdJwtParts => {
  const [jwt = '', ...rest] = text.split('~')
  const keyBinding = rest.pop() ?? ''
  return {
    jwt,
    disclosures: rest,
    shown: text.slice(0, text.length - keyBinding.length),
    keyBinding: keyBinding === '' ? undefined : keyBinding,
  }
}

/** Of a member of an object, or of an item of an array, which has no name. */
interface Disclosure {
  readonly name: string | undefined
  readonly value: unknown
}

const readDisclosure = (text: string): Disclosure => {
  const bytes = core.base64urlDecode(text)
  let json: unknown
  try {
    json = bytes && JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    json = undefined
  }
  if (!Array.isArray(json) || typeof json[0] !== 'string') return refuse('A disclosure is none.')
  if (json.length === 2) return { name: undefined, value: json[1] }
  const [, name, value] = json
  if (json.length !== 3 || typeof name !== 'string' || name === '_sd' || name === '...')
    return refuse('A disclosure is none.')
  return { name, value }
}

/** What is said, once each digest was replaced by what was disclosed for it. */
export interface Disclosed {
  readonly payload: Json
  /** Digests for which nothing was disclosed: what the holder keeps back, or decoys. */
  readonly hidden: number
}

/**
 * @param payload of the issuer's JWT
 * @throws DisclosureError
 */
export const openDisclosures = (
  { _sd_alg: hash = HASH, ...payload }: Json,
  texts: readonly string[],
): Disclosed => {
  if (hash !== HASH) return refuse('Its digests are by another hash than SHA-256.')
  const disclosures = new Map(texts.map((text) => [sha256Text(text), readDisclosure(text)]))
  if (disclosures.size < texts.length) refuse('A disclosure stands there twice.')
  const met = new Set<string>()

  const take = (digest: unknown): Disclosure | undefined => {
    if (typeof digest !== 'string') return refuse('A digest is none.')
    if (met.has(digest)) refuse('A digest stands there twice.')
    met.add(digest)
    return disclosures.get(digest)
  }
  const openItem = (item: unknown, depth: number): unknown[] => {
    if (!isObject(item) || !Object.hasOwn(item, '...')) return [open(item, depth)]
    if (Object.keys(item).length > 1) refuse('Beside the digest of an item stands something else.')
    const found = take(item['...'])
    if (found === undefined) return []
    if (found.name !== undefined) refuse('A member was disclosed as an item.')
    return [open(found.value, depth)]
  }
  const openObject = ({ _sd: digests = [], ...members }: Json, depth: number): Json => {
    if (!Array.isArray(digests) || Object.hasOwn(members, '...'))
      return refuse('Its digests stand where none may.')
    const opened = new Map(Object.entries(members).map(([name, value]) => [name, open(value, depth)]))
    for (const digest of digests) {
      const found = take(digest)
      if (found === undefined) continue
      const { name, value } = found
      if (name === undefined) return refuse('An item was disclosed as a member.')
      if (opened.has(name)) refuse('Two members have one name.')
      opened.set(name, open(value, depth))
    }
    return Object.fromEntries(opened)
  }
  const open = (value: unknown, depth: number): unknown => {
    if (depth > MAX_DEPTH) refuse('It is nested too deeply.')
    if (Array.isArray(value)) return value.flatMap((item) => openItem(item, depth + 1))
    return isObject(value) ? openObject(value, depth + 1) : value
  }

  const opened = openObject(payload, 0)
  if (ALWAYS_SHOWN.some((name) => Object.hasOwn(opened, name) && !Object.hasOwn(payload, name)))
    refuse('It hides what must always be shown.')
  if (texts.some((text) => !met.has(sha256Text(text)))) refuse('The issuer did not sign a disclosure.')
  return { payload: opened, hidden: met.size - texts.length }
}
