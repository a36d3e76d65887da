/**
 * What the service signs as compact JWS: results, tokens, tickets, receipts, status lists. Each is checked with the published keys
 * and nothing else, and fails closed. Clocks are in milliseconds.
 * @module
 */
import { readReceiptAnswer } from '../../../../protocol/consent/receipt.ts'
import { isObject } from '../../../../protocol/json-object.ts'
import { readJws } from '../../../../protocol/jws.ts'
import {
  type ExpectedStatusList as ExpectedList,
  readStatusList as readList,
  type StatusList,
  type StatusListRead,
} from '../../../../protocol/status-list.ts'
import { isClock, type PublishedKey, verifyEd25519 } from './keys.ts'

const MS_PER_SECOND = 1000
/** Of the organisation's id, in a ticket. */
const ID_TAIL_CHARACTERS = 10

/** `typ` of what is signed; demand the one that you expect (RFC 8725 §3.11). */
export const JWS_TYPES = {
  result: 'vr+jws',
  hermes: 'hv+jws',
  policy: 'pd+jws',
  consentReceipt: 'cr+jws',
  token: 'vt+jwt',
  ticket: 'qt+jwt',
  authorisation: 'agent-authorisation+jwt',
} as const

type Members = Readonly<Record<string, unknown>>

export interface ExpectedJws {
  /** The service's `/.well-known/jwks.json`, fetched beforehand. */
  readonly keys: { readonly keys: readonly PublishedKey[] }
  /** The service's BASE_URL. Not for tickets, which have no room for it. */
  readonly issuer?: string
  /**
   * Whose word you take: its id (`org_…`), from where you know it beforehand. All organisations of a service share its keys and its address, so
   * that without it anybody's word counts who has an organisation there. Tickets have room for its end only: `verifyTicket` compares that.
   */
  readonly organisation?: string
  /** One of {@link JWS_TYPES}, or another type that the documentation names. */
  readonly typ: string
  /** Unix milliseconds; default: now. */
  readonly now?: number
  /**
   * Of `readStatusList`, for what names its status. `not_checked` accepts that a revocation isn't seen.
   */
  readonly statusList?: StatusList | 'not_checked'
}

/** Why something signed does not count. */
export type JwsRefusal =
  /** No compact JWS of two JSON objects in canonical base64url. */
  | 'MALFORMED'
  /** Another `alg` or `typ`, or anything beside them and `kid`. */
  | 'HEADER_REFUSED'
  /** The `kid` is none of the given keys for Ed25519. */
  | 'KEY_UNKNOWN'
  | 'SIGNATURE_INVALID'
  | 'ISSUER_MISMATCH'
  /** `now` is no time in milliseconds: seconds, or no number. */
  | 'CLOCK_REFUSED'
  | 'EXPIRED'
  /** It names a status list, and none was given. */
  | 'STATUS_LIST_MISSING'
  /** The list that was given is another one. */
  | 'STATUS_LIST_OTHER'
  /** The list that was given has expired. */
  | 'STATUS_STALE'
  /** A token that names no status: whether it was revoked can't be told. */
  | 'STATUS_UNKNOWN'
  | 'REVOKED'
  /** It is for one audience, and you did not say who you are. */
  | 'AUDIENCE_REQUIRED'
  | 'AUDIENCE_MISMATCH'
  /** It is of another organisation. */
  | 'ORGANISATION_MISMATCH'

export type JwsVerdict =
  | { readonly valid: true; readonly payload: Members }
  | { readonly valid: false; readonly reason: JwsRefusal }

const refuse = (reason: JwsRefusal): JwsVerdict => ({ valid: false, reason })

/** What a status list says of a payload that names its status. */
const statusRefusal = (
  { status }: Members,
  statusList: ExpectedJws['statusList'],
  seconds: number,
): JwsRefusal | undefined => {
  if (status === undefined || statusList === 'not_checked') return undefined
  if (statusList === undefined) return 'STATUS_LIST_MISSING'
  const named = isObject(status) ? status.status_list : undefined
  if (!isObject(named) || !Number.isSafeInteger(named.idx)) return 'MALFORMED'
  if (named.uri !== statusList.uri) return 'STATUS_LIST_OTHER'
  if (!(seconds < statusList.expiresAt)) return 'STATUS_STALE'
  return statusList.isSet(named.idx as number) ? 'REVOKED' : undefined
}

/**
 * Whether the service signed this text, as this type, and it still counts.
 * @throws RangeError for a status that no list has room for
 */
export const verifyJws = (
  text: string,
  { keys, issuer, organisation, typ, now = Date.now(), statusList }: ExpectedJws,
): JwsVerdict => {
  const read = readJws(text)
  if (read === undefined) return refuse('MALFORMED')
  const { header, payload } = read
  const isHeader = Object.keys(header).sort().join() === 'alg,kid,typ'
  if (!isHeader || header.alg !== 'EdDSA' || header.typ !== typ) return refuse('HEADER_REFUSED')
  const key = keys.keys.find(({ kid, kty, crv }) => kid === header.kid && kty === 'OKP' && crv === 'Ed25519')
  if (typeof header.kid !== 'string' || key === undefined) return refuse('KEY_UNKNOWN')
  if (!verifyEd25519(key, read.covered, read.signature)) return refuse('SIGNATURE_INVALID')
  if (issuer !== undefined && payload.iss !== issuer) return refuse('ISSUER_MISMATCH')
  if (organisation !== undefined && payload.org !== organisation) return refuse('ORGANISATION_MISMATCH')
  const { exp } = payload
  if (exp !== undefined && !Number.isSafeInteger(exp)) return refuse('MALFORMED')
  if (!isClock(now)) return refuse('CLOCK_REFUSED')
  const seconds = now / MS_PER_SECOND
  if (exp !== undefined && !(seconds < Number(exp))) return refuse('EXPIRED')
  const reason = statusRefusal(payload, statusList, seconds)
  return reason === undefined ? { valid: true, payload } : refuse(reason)
}

type Expected = Omit<ExpectedJws, 'typ' | 'issuer' | 'organisation'> & {
  /** The service's BASE_URL. */
  readonly issuer: string
  /** The id of the organisation whose word you take: all organisations of a service share its keys and its address. */
  readonly organisation: string
}

/** Types alone don't hold back a program in JavaScript that forgets it. */
const demandText = (name: string, value: unknown, meaning: string): void => {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} is missing: ${meaning}`)
}

const demandOrganisation = (organisation: unknown): void =>
  demandText('organisation', organisation, 'the id of the one whose word you take')

const verifyIssued = (text: string, typ: string, expected: Expected): JwsVerdict => {
  demandText('issuer', expected.issuer, "the service's BASE_URL")
  demandOrganisation(expected.organisation)
  return verifyJws(text, { ...expected, typ })
}

/** What is for one audience counts for nobody else, and what has no expiry would count for ever. */
const forAudience = (verdict: JwsVerdict, audience: string | undefined): JwsVerdict => {
  if (!verdict.valid) return verdict
  const { aud, exp } = verdict.payload
  if (exp === undefined) return refuse('MALFORMED')
  if (aud === undefined) return verdict
  if (audience === undefined) return refuse('AUDIENCE_REQUIRED')
  return aud === audience ? verdict : refuse('AUDIENCE_MISMATCH')
}

/**
 * The signed result of `POST /verify`: `payload.decision` says YES or NO, about what `data_commitment` commits to.
 * @throws TypeError without an issuer or an organisation
 */
export const verifyResult = (jws: string, expected: Expected): JwsVerdict =>
  verifyIssued(jws, JWS_TYPES.result, expected)

/**
 * The receipt of `POST /api/consent/log`, until the end that it names. **A refusal has a receipt too**: `payload.events[0].event_state`
 * is `consent_given` or `consent_refused`. Whether a consent was withdrawn or replaced since, only the service knows.
 * @throws TypeError without an issuer or an organisation
 */
export const verifyReceipt = (jws: string, expected: Expected): JwsVerdict => {
  const verdict = verifyIssued(jws, JWS_TYPES.consentReceipt, expected)
  if (!verdict.valid) return verdict
  const said = readReceiptAnswer(verdict.payload)
  if (said === undefined) return refuse('MALFORMED')
  const { now = Date.now() } = expected
  return said.endsAt !== undefined && now >= said.endsAt ? refuse('EXPIRED') : verdict
}

/**
 * A token of `POST /api/tokens/generate`. Whether one for a single use was used up, only the service knows.
 * @param expected `audience` says who you are: a token for an audience counts for nobody else
 * @throws TypeError without an issuer or an organisation
 */
export const verifyToken = (
  jwt: string,
  { audience, ...expected }: Expected & { readonly audience?: string },
): JwsVerdict => {
  const verdict = verifyIssued(jwt, JWS_TYPES.token, expected)
  // Every token of the service names its status.
  const isUntold = verdict.valid && verdict.payload.status === undefined
  if (isUntold && expected.statusList !== 'not_checked') return refuse('STATUS_UNKNOWN')
  return forAudience(verdict, audience)
}

/**
 * The token of an agent's authorisation, as a payee is handed it. That it comes from the agent, its key shows (`payload.cnf`), and that it is
 * used once, a record of each `payload.jti`.
 * @param expected `organisation` is the agent's, one that you know; `audience`: who you are, as the payee that it names; one that names none is for anybody
 * @throws TypeError without an issuer or an organisation
 */
export const verifyAuthorisation = (
  jwt: string,
  { audience, ...expected }: Omit<Expected, 'statusList'> & { readonly audience?: string },
): JwsVerdict => forAudience(verifyIssued(jwt, JWS_TYPES.authorisation, expected), audience)

/**
 * The text of a ticket's QR code. A gate without a network can't know what other gates have let in.
 * @param expected `organisation` is your own id: all organisations of a service share its keys
 * @throws TypeError without an organisation
 */
export const verifyTicket = (
  text: string,
  { keys, now, organisation }: Pick<ExpectedJws, 'keys' | 'now'> & Pick<Expected, 'organisation'>,
): JwsVerdict => {
  demandOrganisation(organisation)
  const verdict = verifyJws(text, { keys, now, typ: JWS_TYPES.ticket })
  if (!verdict.valid) return verdict
  // Without an expiry it would count for ever.
  if (verdict.payload.exp === undefined) return refuse('MALFORMED')
  const isOurs =
    organisation.length >= ID_TAIL_CHARACTERS && verdict.payload.o === organisation.slice(-ID_TAIL_CHARACTERS)
  return isOurs ? verdict : refuse('ORGANISATION_MISMATCH')
}

export interface ExpectedStatusList extends Omit<ExpectedList, 'now'> {
  /** Unix milliseconds; default: now. */
  readonly now?: number
}

/**
 * Checks a status list token and opens the list.
 * @param jwt what the list's address answered; it may have been kept, until it is stale
 * @throws DOMException for a key of the issuer that is none
 */
export const readStatusList = (
  jwt: string,
  { now = Date.now(), ...expected }: ExpectedStatusList,
): Promise<StatusListRead> => readList(jwt, { ...expected, now: now / MS_PER_SECOND })
