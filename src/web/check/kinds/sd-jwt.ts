/** Credentials for wallets (SD-JWT VC, RFC 9901): who issued them, what their holder shows, and whether the holder shows it. @module */
import { isObject } from '../../../protocol/json-object.ts'
import { readJws } from '../../../protocol/jws.ts'
import type { OwnService, PublishedKey } from '../own-service.ts'
import {
  attempt,
  type Check,
  type Fact,
  type Found,
  lack,
  leaveOpen,
  pass,
  refuse,
  timeWords,
  visible,
} from '../report.ts'
import {
  type Disclosed,
  DisclosureError,
  openDisclosures,
  type SdJwtParts,
  sha256Text,
  splitSdJwt,
} from '../sd-jwt.ts'
import { expiryCheck, issuerCheck, verifyP256 } from '../signed.ts'
import { isAnswer, madeWords, type Shown, shownChecks } from './shown.ts'
import { revocationCheck } from './status-list.ts'

type Json = Readonly<Record<string, unknown>>

const WHAT = 'Credential for a wallet (SD-JWT)'
const BINDING = 'Key of the holder'
const MS_PER_SECOND = 1000
/** Clocks of wallets may be ahead by so much. */
const MAX_AHEAD_SECONDS = 300

const MEANING = {
  word: 'Genuine',
  text: 'The service issued it, its time is not over, and it was not revoked.',
  isPlain: true,
} as const

/** Members that would ask for something that is not done here are refused. */
const headerFault = (header: Json): string | undefined => {
  const members = Object.keys(header).sort().join()
  if (members !== 'alg,kid,typ' && members !== 'alg,typ,x5c')
    return 'Its header has other members than alg, typ, and kid or x5c.'
  return header.alg === 'ES256' ? undefined : `Its algorithm is ${visible(header.alg)} and not ES256.`
}

const isP256 = ({ kty, crv }: PublishedKey): boolean => kty === 'EC' && crv === 'P-256'

/** The certificate of the key itself (RFC 7515 §4.1.6). */
const leafOf = (x5c: unknown): string | undefined =>
  Array.isArray(x5c) && typeof x5c[0] === 'string' ? x5c[0] : undefined

/** @param found is told the key */
const keyCheck = (header: Json, service: OwnService, found: (key: PublishedKey) => void): Promise<Check> =>
  attempt('Key', async () => {
    const keys = (await service.keys()).filter(isP256)
    if (header.kid === undefined) {
      const certified = keys.find(
        ({ x5c }) => leafOf(x5c) !== undefined && leafOf(x5c) === leafOf(header.x5c),
      )
      if (certified === undefined)
        return lack(
          'Key',
          'Its key stands in a certificate that the service of this page does not publish, now at least, and the page knows no authority that would vouch for one: whoever demands certificates checks it.',
        )
      found(certified)
      return pass(
        'Key',
        'The service publishes the certificate in its header as its own. Whether an authority stands behind that, this page does not check.',
      )
    }
    const key = keys.find((one) => one.kid === header.kid)
    if (key === undefined)
      return refuse(
        'Key',
        'KEY_UNKNOWN',
        'The key that it names is not among the P-256 keys that the service of this page publishes: another service may have signed it, or nobody.',
      )
    found(key)
    return pass('Key', `The service publishes the key ${visible(header.kid)}.`)
  })

const notBefore = ({ nbf }: Json, now: number): Check[] => {
  if (nbf === undefined) return []
  return Number.isSafeInteger(nbf) && now >= Number(nbf) * MS_PER_SECOND
    ? [pass('Beginning', `It counts from ${timeWords(Number(nbf))}, by the clock of this device.`)]
    : [refuse('Beginning', 'NOT_YET_VALID', 'It does not count yet, by the clock of this device.')]
}

const disclosureCheck = (disclosed: Disclosed | string, count: number): Check =>
  typeof disclosed === 'string'
    ? refuse('What is shown', 'DISCLOSURE_INVALID', disclosed)
    : pass(
        'What is shown',
        `The issuer signed the hash of ${count === 1 ? 'the one disclosure' : `each of the ${count} disclosures`}. Hashes that are not disclosed: ${disclosed.hidden}.`,
      )

const open = (payload: Json, { disclosures }: SdJwtParts): Disclosed | string => {
  try {
    return openDisclosures(payload, disclosures)
  } catch (error) {
    if (!(error instanceof DisclosureError)) throw error
    return error.message
  }
}

const bindingFault = async (
  keyBinding: string,
  shown: string,
  { cnf }: Json,
  now: number,
): Promise<string | undefined> => {
  const read = readJws(keyBinding)
  if (read === undefined) return 'What stands at its end is no JWT.'
  const { header, payload, covered, signature } = read
  if (header.alg !== 'ES256' || header.typ !== 'kb+jwt' || header.crit !== undefined)
    return 'What stands at its end is no key binding JWT with ES256.'
  const { aud, nonce, iat, sd_hash: hash } = payload
  if (typeof aud !== 'string' || typeof nonce !== 'string' || !Number.isSafeInteger(iat))
    return 'The JWT of the holder does not say for whom and when it was made.'
  if (Number(iat) > now / MS_PER_SECOND + MAX_AHEAD_SECONDS)
    return 'The JWT of the holder was made in the future, by the clock of this device.'
  if (hash !== sha256Text(shown)) return 'The JWT of the holder is about something else than what is shown.'
  const key = isObject(cnf) && isObject(cnf.jwk) && isP256(cnf.jwk) ? cnf.jwk : undefined
  if (key === undefined) return 'The credential is bound to no key on P-256.'
  return (await verifyP256(key, covered, signature)) ? undefined : 'Its signature does not fit.'
}

/** Whether the holder shows it, and to whoever asked for it. @param found is told what the holder's JWT says, once its signature holds */
const bindingChecks = async (
  { keyBinding, shown }: SdJwtParts,
  payload: Json,
  { asked }: OwnService,
  now: number,
  found: (shown: Shown) => void,
): Promise<readonly Check[]> => {
  if (keyBinding === undefined)
    return [
      leaveOpen(
        BINDING,
        'whether its holder shows it',
        'Nobody has signed with the holder’s key: whoever has a copy can hand it over like this. Ask the wallet to show it under a nonce of yours.',
      ),
    ]
  const check = await attempt(BINDING, async () => {
    const fault = await bindingFault(keyBinding, shown, payload, now)
    return fault === undefined
      ? pass(BINDING, 'The key that the credential is bound to signed what is shown.')
      : refuse(BINDING, 'KEY_BINDING_INVALID', fault)
  })
  if (check.outcome !== 'passed') return [check]
  const said = readJws(keyBinding)?.payload as unknown as Shown
  found(said)
  return [check, ...shownChecks(said, asked, now)]
}

/** Claims that people know by another name; the others are called as they are. */
const TITLES = new Map([
  ['iss', 'Issuer'],
  ['vct', 'Type'],
  ['iat', 'Issued at'],
  ['exp', 'Expires at'],
  ['nbf', 'Counts from'],
  ['level', 'Level of the check'],
  ['source', 'Who says so'],
  ['given_name', 'Given name'],
  ['family_name', 'Family name'],
  ['birthdate', 'Date of birth'],
  ['country', 'Country'],
  ['age_over_18', '18 or older when it was issued'],
  ['age_over_21', '21 or older when it was issued'],
])
const TIMES = ['iat', 'exp', 'nbf']
/** Not for people. */
const UNSHOWN = ['cnf', 'status']

const factsOf = (payload: Json): Fact[] =>
  Object.entries(payload)
    .filter(([name]) => !UNSHOWN.includes(name))
    .map(([name, value]) => [
      TITLES.get(name) ?? visible(name),
      TIMES.includes(name) && typeof value === 'number' ? timeWords(value) : visible(value),
    ])

const meaningOf = (shown: Shown | undefined, { asked }: OwnService, now: number): Found['meaning'] =>
  shown !== undefined && isAnswer(shown, asked)
    ? {
        ...MEANING,
        word: 'Genuine, and shown to you',
        text: `${MEANING.text} Its holder showed it to ${visible(shown.aud)} under your nonce at ${madeWords(shown, now)}.`,
      }
    : MEANING

/** @param text of type dc+sd-jwt @param now Unix ms */
export const checkSdJwt = async (text: string, service: OwnService, now: number): Promise<Found> => {
  const parts = splitSdJwt(text)
  const isPresentation = parts.keyBinding !== undefined
  const only = (...checks: Check[]): Found => ({ what: WHAT, checks, meaning: MEANING, isPresentation })
  const read = readJws(parts.jwt)
  if (read === undefined) return only(refuse('Form', 'SD_JWT_MALFORMED', 'Its first part is no JWT.'))
  const fault = headerFault(read.header)
  if (fault !== undefined) return only(refuse('Form', 'HEADER_REFUSED', fault))
  const form = pass('Form', 'It is an SD-JWT of type dc+sd-jwt, signed with ES256.')
  let key: PublishedKey | undefined
  const named = await keyCheck(read.header, service, (found) => {
    key = found
  })
  if (key === undefined) return only(form, named)
  const signer = key
  const signature = await attempt('Signature', async () =>
    (await verifyP256(signer, read.covered, read.signature))
      ? pass('Signature', 'The ES256 signature fits every byte of what the issuer signed.')
      : refuse(
          'Signature',
          'SIGNATURE_INVALID',
          'The ES256 signature does not fit: what was signed was changed, or somebody else signed it.',
        ),
  )
  if (signature.outcome !== 'passed') return only(form, named, signature)
  const { payload } = read
  const disclosed = open(payload, parts)
  let shown: Shown | undefined
  const binding = await bindingChecks(parts, payload, service, now, (said) => {
    shown = said
  })
  return {
    what: WHAT,
    checks: [
      form,
      named,
      signature,
      await issuerCheck(payload, service),
      disclosureCheck(disclosed, parts.disclosures.length),
      ...notBefore(payload, now),
      expiryCheck(payload.exp, 'CREDENTIAL_EXPIRED', now),
      await revocationCheck(payload, service, now, 'CREDENTIAL_REVOKED'),
      ...binding,
    ],
    facts: typeof disclosed === 'string' ? [] : factsOf(disclosed.payload),
    meaning: meaningOf(shown, service, now),
    isPresentation,
    notChecked: [
      ...(isPresentation ? ['that you gave out your nonce once only, and nobody could guess it'] : []),
      'that what it says is true: “Level of the check” and “Who says so” tell what it is worth',
      'that the organisation that had the person checked is one that you rely on: it is not named',
    ],
  }
}
