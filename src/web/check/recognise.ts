/** What a text is, by its form alone; nothing of it is believed. @module */
import { isObject } from '../../protocol/json-object.ts'
import { isArchive } from './archive.ts'
import { isSignedKind, typeOf } from './kinds/signed-kinds.ts'

type Json = Readonly<Record<string, unknown>>

type Kind =
  | { readonly kind: 'result'; readonly jws: string; readonly answer?: Json }
  | { readonly kind: 'signed'; readonly jws: string; readonly typ: string }
  | { readonly kind: 'status list'; readonly jwt: string }
  | { readonly kind: 'hybrid token'; readonly json: Json }
  | { readonly kind: 'SD-JWT'; readonly text: string }
  | { readonly kind: 'proof' | 'checkpoint'; readonly text: string }
  /** The address of a signed result, which has a page of its own. */
  | { readonly kind: 'address'; readonly path: string }
  /** It is nothing that this page checks; `fault`: because it is damaged. */
  | { readonly kind: 'other'; readonly why: string; readonly fault?: string }

/** `beside`: names of what stands beside it in an answer, where nothing of that is compared with it. */
export type Recognised = Kind & { readonly beside?: readonly string[] }

const RESULT_TYP = 'vr+jws'
const STATUS_LIST_TYP = 'statuslist+jwt'
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/
const NOTE = /^[^\n]+\n\d+\n[A-Za-z0-9+/]{43}=\n/
/** An issuer's JWT, disclosures, and perhaps a JWT of the holder. */
const SD_JWT = /^[\w-]+\.[\w-]+\.[\w-]+~[\w.~-]*$/
const SD_JWT_TYP = 'dc+sd-jwt'
const RESULT_PATH = /^\/verify\/qr\/[\w-]{43}$/

/** Members of answers that hold something signed. */
const SIGNED_MEMBERS = ['jws', 'token', 'qr_payload', 'receipt'] as const

const NOTHING_KNOWN = 'It is none of the things that this page knows. Was it copied in full?'

const fromJws = (jws: string, answer?: Json): Recognised => {
  const typ = typeOf(jws)
  if (typ === undefined)
    return {
      kind: 'other',
      fault: 'JWS_MALFORMED',
      why: 'It looks like a JWS, but its parts are not base64url of JSON objects: something is missing or was changed.',
    }
  if (typ === RESULT_TYP) return { kind: 'result', jws, ...(answer && { answer }) }
  if (typ === STATUS_LIST_TYP) return { kind: 'status list', jwt: jws }
  if (isSignedKind(typ)) return { kind: 'signed', jws, typ }
  return { kind: 'other', why: 'It is a JWS of a type that this page does not know.' }
}

const fromSdJwt = (text: string): Recognised => {
  const typ = typeOf(text.slice(0, text.indexOf('~')))
  if (typ === undefined)
    return {
      kind: 'other',
      fault: 'SD_JWT_MALFORMED',
      why: 'It looks like an SD-JWT, but its first part is no JWT: something is missing or was changed.',
    }
  return typ === SD_JWT_TYP
    ? { kind: 'SD-JWT', text }
    : { kind: 'other', why: 'It is an SD-JWT of a type that this page does not know.' }
}

/** What was found under a name of an answer, with the names of the rest, but where that is compared. */
const within = (place: Json, name: string, found: Recognised, answer = place): Recognised => {
  if (found.kind === 'result') return found
  const beside = [
    ...Object.keys(place).filter((other) => other !== name),
    ...(place === answer ? [] : Object.keys(answer).filter((other) => answer[other] !== place)),
  ]
  return { ...found, beside }
}

const fromJson = (text: string): Recognised => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return {
      kind: 'other',
      fault: 'JSON_MALFORMED',
      why: 'It begins like JSON, but is none: something is missing or was changed.',
    }
  }
  if (!isObject(json)) return { kind: 'other', why: NOTHING_KNOWN }
  if ('sig_classical' in json || 'sig_pq' in json) return { kind: 'hybrid token', json }
  const { context, checkpoint, credential } = json
  if (typeof credential === 'string' && SD_JWT.test(credential))
    return within(json, 'credential', fromSdJwt(credential))
  // Decisions of policies keep it beside what was decided.
  const places = isObject(context) ? [json, context] : [json]
  for (const place of places)
    for (const name of SIGNED_MEMBERS) {
      const member = place[name]
      if (typeof member === 'string' && COMPACT.test(member))
        return within(place, name, fromJws(member, json), json)
    }
  if ('proof' in json || 'pi_a' in json || 'aggregatedProof' in json) return { kind: 'proof', text }
  if (typeof checkpoint === 'string')
    return within(json, 'checkpoint', { kind: 'checkpoint', text: checkpoint })
  return { kind: 'other', why: NOTHING_KNOWN }
}

const fromAddress = (text: string): Recognised => {
  const { pathname } = new URL(text)
  return RESULT_PATH.test(pathname)
    ? { kind: 'address', path: pathname }
    : { kind: 'other', why: 'It is an address, and this page opens none: paste what is there.' }
}

export const recognise = (given: string): Recognised => {
  const text = given.trim()
  if (text === '') return { kind: 'other', why: 'There is nothing in it.' }
  if (text.startsWith('{')) return fromJson(text)
  if (text.startsWith('zk1.')) return { kind: 'proof', text }
  if (COMPACT.test(text)) return fromJws(text)
  if (NOTE.test(text.replaceAll('\r\n', '\n'))) return { kind: 'checkpoint', text }
  if (/^https?:\/\/\S+$/.test(text) && URL.canParse(text)) return fromAddress(text)
  if (SD_JWT.test(text)) return fromSdJwt(text)
  return { kind: 'other', why: NOTHING_KNOWN }
}

const MARKS = [
  '{"type":"header","format":"assay-evidence',
  '{"header":{"type":"header","format":"assay-evidence',
]

/** Whether a file begins like evidence, in any of its forms. */
export const isEvidence = async (file: Blob): Promise<boolean> => {
  const start = await file.slice(0, Math.max(...MARKS.map(({ length }) => length))).text()
  return MARKS.some((mark) => start.startsWith(mark)) || isArchive(file)
}
