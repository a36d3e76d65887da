/** Compact JWS of the service: form, header, key, signature, issuer and expiry, in this order. @module */
import { readJws } from '../../protocol/jws.ts'
import { UnreachableError } from '../http.ts'
import { fromBase64url } from '../result/jws.ts'
import type { OwnService, PublishedKey } from './own-service.ts'
import { attempt, type Check, ended, lack, pass, refuse, timeWords, visible } from './report.ts'

const MS_PER_SECOND = 1000
/** `x` of an Ed25519 key (RFC 8037 §2): 32 bytes in base64url. */
const ED25519_X = /^[\w-]{43}$/
/** Other members, such as `jku` or `crit`, would ask for something that is not done here. */
const HEADER_MEMBERS = 'alg,kid,typ'

/** All organisations of a service share its keys and its address, so that only who checks can know whose word counts. */
export const WHOSE = 'that the organisation is who you think: compare its id with the one that you know'

type Json = Readonly<Record<string, unknown>>

export interface SignedText {
  readonly text: string
  /** The `typ` that it must have. */
  readonly typ: string
  /** Characters of the ids of its keys. */
  readonly kidCharacters: number
  /** What an expired one is called. */
  readonly expired: string
  /** Whether it says who issued it, which small ones have no room for. */
  readonly hasIssuer: boolean
  /** Whether its time is over, where that doesn't stand in `exp`. @param now Unix ms */
  readonly expiry?: (payload: Json, now: number) => Check
}

export interface ReadSigned {
  readonly checks: readonly Check[]
  /** Only where one of the service's keys signed it. */
  readonly payload?: Json
}

/** The Ed25519 key of this id, as the service publishes it. */
export const ed25519Key = (
  keys: readonly PublishedKey[],
  kid: unknown,
): Uint8Array<ArrayBuffer> | undefined => {
  const key = keys.find((one) => one.kid === kid && one.kty === 'OKP' && one.crv === 'Ed25519')
  return typeof key?.x === 'string' && ED25519_X.test(key.x) ? fromBase64url(key.x) : undefined
}

/**
 * Whether a key on P-256 made this ES256 signature (RFC 7518 §3.4).
 * @param key nothing of which was looked at
 * @throws UnreachableError where the browser has no WebCrypto; DOMException for a key that is no point of the curve
 */
export const verifyP256 = async (
  key: PublishedKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  if (crypto.subtle === undefined)
    throw new UnreachableError('browsers check ES256 only on pages that came over https.')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const { kty, crv, x, y } = key as JsonWebKey
  const imported = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
  const [over, made] = [message, signature] as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>]
  return crypto.subtle.verify(algorithm, imported, made, over)
}

const headerFault = (header: Json, { typ, kidCharacters }: SignedText): string | undefined => {
  if (Object.keys(header).sort().join() !== HEADER_MEMBERS)
    return `Its header has other members than ${HEADER_MEMBERS}.`
  if (header.alg !== 'EdDSA') return `Its algorithm is ${visible(header.alg)} and not EdDSA.`
  if (header.typ !== typ) return `Its type is ${visible(header.typ)} and not ${typ}.`
  const isKid = typeof header.kid === 'string' && header.kid.length === kidCharacters
  return isKid ? undefined : 'The key that it names can’t be one for such things.'
}

/** That the service calls itself what it says. */
export const issuerCheck = ({ iss }: Json, service: OwnService): Promise<Check> =>
  attempt('Issuer', async () => {
    const issuer = await service.issuer()
    return iss === issuer
      ? pass('Issuer', `It was issued by ${issuer}, as the service that this page came from calls itself.`)
      : refuse(
          'Issuer',
          'ISSUER_MISMATCH',
          `It says that ${visible(iss ?? 'nobody')} issued it, and the service that this page came from calls itself ${issuer}.`,
        )
  })

/** @param expired what an expired one is called @param now Unix ms */
export const expiryCheck = (exp: unknown, expired: string, now: number): Check => {
  if (exp === undefined) return pass('Expiry', 'It does not expire.')
  if (typeof exp !== 'number' || !Number.isSafeInteger(exp))
    return refuse('Expiry', 'LIFETIME_INVALID', 'Its time of expiry is no time.')
  return now < exp * MS_PER_SECOND
    ? pass('Expiry', `It expires at ${timeWords(exp)}, by the clock of this device.`)
    : ended('Expiry', 'EXPIRED', expired, `It expired at ${timeWords(exp)}, by the clock of this device.`)
}

const unreachable = (title: string, why: Check): Check => lack(title, why.detail)

/** Nothing that the text says of its key or issuer is believed: both are compared with what the service publishes. */
export const readSigned = async (
  given: SignedText,
  service: OwnService,
  now: number,
): Promise<ReadSigned> => {
  const read = readJws(given.text)
  if (read === undefined)
    return {
      checks: [
        refuse(
          'Form',
          'JWS_MALFORMED',
          'It does not have three parts of base64url, two of them JSON objects: something is missing or was changed.',
        ),
      ],
    }
  const { header, payload, covered, signature } = read
  const fault = headerFault(header, given)
  const form = fault
    ? refuse('Form', 'HEADER_REFUSED', fault)
    : pass('Form', `It is a JWS of type ${given.typ}, signed with EdDSA (Ed25519).`)
  if (fault !== undefined) return { checks: [form] }
  let key: Uint8Array<ArrayBuffer> | undefined
  const keyCheck = await attempt('Key', async () => {
    key = ed25519Key(await service.keys(), header.kid)
    return key === undefined
      ? refuse(
          'Key',
          'KEY_UNKNOWN',
          'The key that it names is not among the Ed25519 keys that the service of this page publishes: another service may have signed it, or nobody.',
        )
      : pass('Key', `The service publishes the key ${visible(header.kid)}.`)
  })
  if (key === undefined)
    return {
      checks: [
        form,
        keyCheck,
        ...(keyCheck.outcome === 'skipped' ? [unreachable('Signature', keyCheck)] : []),
      ],
    }
  const isSigned = await service.crypto.verifyEd25519(
    key,
    covered as Uint8Array<ArrayBuffer>,
    signature as Uint8Array<ArrayBuffer>,
  )
  if (!isSigned)
    return {
      checks: [
        form,
        keyCheck,
        refuse(
          'Signature',
          'SIGNATURE_INVALID',
          'The Ed25519 signature does not fit: what was signed was changed, or somebody else signed it.',
        ),
      ],
    }
  return {
    payload,
    checks: [
      form,
      keyCheck,
      pass('Signature', 'The Ed25519 signature fits every byte of what was signed.'),
      ...(given.hasIssuer ? [await issuerCheck(payload, service)] : []),
      given.expiry?.(payload, now) ?? expiryCheck(payload.exp, given.expired, now),
    ],
  }
}
