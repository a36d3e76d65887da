/**
 * The checks of a signed result: what its page runs in the browser. Everything that comes from the network is a claim
 * here, and each check says what it looked at.
 * @module
 */
import { isObject } from '../../protocol/json-object.ts'
import { logOf, originOfLog } from '../../protocol/log-heads.ts'
import type { PageCrypto } from '../crypto/page-crypto.ts'
import { loadCode, textOf } from '../http.ts'
import { type Finding, failed, ifReached, passed, skipped } from './finding.ts'
import { checkInclusion, type InclusionEvidence, type PublishedLog } from './inclusion.ts'
import { fromBase64url, type Jws, JwsError, parseJws, toBase64url } from './jws.ts'
import { checkQuestion } from './question.ts'
import type { ProofEvidence } from './result-proof.ts'

/** A result is signed with this algorithm and has this `typ` (RFC 8725 §3.1, §3.11). */
const ALGORITHM = 'EdDSA'
const RESULT_TYPE = 'vr+jws'

const MS_PER_SECOND = 1000

export type CheckName =
  | 'address'
  | 'type'
  | 'key'
  | 'signature'
  | 'issuer'
  | 'expiry'
  | 'status'
  | 'question'
  | 'proof'
  | 'inclusion'

/** How people call them. */
export const CHECK_TITLES: Readonly<Record<CheckName, string>> = {
  address: 'Address',
  type: 'Type',
  key: 'Key',
  signature: 'Signature',
  issuer: 'Issuer',
  expiry: 'Expiry',
  status: 'Withdrawal',
  question: 'Question',
  proof: 'Zero-knowledge proof',
  inclusion: 'Entry in the log',
}

export interface Check extends Finding {
  readonly name: CheckName
}

/** INVALID: don't rely on it. The others are authentic; UNVERIFIED: something that matters could not be checked. */
export type Verdict = 'VALID' | 'UNVERIFIED' | 'EXPIRED' | 'REVOKED' | 'INVALID'

export interface Evidence {
  /** From the address: base64url SHA-256 of the JWS. */
  readonly hash: string
  /** What `GET /verify/qr/{hash}` answered. */
  readonly record: unknown
  /** What `/.well-known/jwks.json` answered. */
  readonly jwks: unknown
  /** Where the page came from. */
  readonly origin: string
  /** Unix milliseconds. */
  readonly now: number
  /** What the service publishes besides; asked for only once the signature fits. */
  readonly published: Published
}

export interface Published {
  /** Of a log, by its number. */
  readonly logAt: (log: number) => PublishedLog
  /** @throws UnreachableError */
  verificationKey(circuitId: string): Promise<unknown>
}

export interface Examination {
  readonly verdict: Verdict
  readonly checks: readonly Check[]
  /** The signed payload; absent when the result is INVALID. */
  readonly claims?: Readonly<Record<string, unknown>>
}

const time = (seconds: number): string => new Date(seconds * MS_PER_SECOND).toISOString()

const checkAddress = async (hash: string, jws: string, crypto: PageCrypto): Promise<Finding> => {
  const found = toBase64url(await crypto.sha256(new TextEncoder().encode(jws)))
  return found === hash
    ? passed(`The SHA-256 of the JWS is ${found}, as the address says.`)
    : failed(`The address names ${hash}, but the SHA-256 of the JWS is ${found}.`)
}

const isTime = (exp: unknown): exp is number => typeof exp === 'number' && Number.isSafeInteger(exp)

const checkType = ({ header, payload: { exp } }: Jws): Finding => {
  const { alg, typ, crit } = header
  if (alg !== ALGORITHM) return failed(`Its algorithm is ${JSON.stringify(alg)} and not ${ALGORITHM}.`)
  if (typ !== RESULT_TYPE) return failed(`Its type is ${JSON.stringify(typ)} and not ${RESULT_TYPE}.`)
  if (crit !== undefined) return failed('It asks for extensions that this page does not know.')
  if (exp !== undefined && !isTime(exp)) return failed('Its time of expiry is no time.')
  return passed(`It is a JWS of type ${RESULT_TYPE}, signed with ${ALGORITHM}.`)
}

/** `x` of an Ed25519 key (RFC 8037 §2): 32 bytes in base64url. */
const PUBLIC_KEY_PATTERN = /^[A-Za-z0-9_-]{43}$/

/** The Ed25519 key that the JWS names, as published: base64url. */
const findKey = ({ header }: Jws, jwks: unknown): string | undefined => {
  const keys: readonly unknown[] = isObject(jwks) && Array.isArray(jwks.keys) ? jwks.keys : []
  const key = keys.find((one) => textOf(one, 'kid') !== undefined && textOf(one, 'kid') === header.kid)
  const isEd25519 = textOf(key, 'kty') === 'OKP' && textOf(key, 'crv') === 'Ed25519'
  const x = textOf(key, 'x')
  return isEd25519 && x !== undefined && PUBLIC_KEY_PATTERN.test(x) ? x : undefined
}

/** @param x of the key, base64url */
const isSignedBy = (jws: Jws, x: string, crypto: PageCrypto): Promise<boolean> =>
  crypto.verifyEd25519(fromBase64url(x), jws.signed, jws.signature)

const checkSignature = async (jws: Jws, x: string, crypto: PageCrypto): Promise<Finding> =>
  (await isSignedBy(jws, x, crypto))
    ? passed('The Ed25519 signature fits every byte of what was signed.')
    : failed('The Ed25519 signature does not fit: what was signed was changed, or somebody else signed it.')

const checkIssuer = ({ payload }: Jws, { record, origin }: Evidence): Finding => {
  const { iss } = payload
  if (typeof iss !== 'string') return failed('It does not say who issued it.')
  if (iss !== textOf(record, 'issuer'))
    return failed(`It was issued by ${iss}, which is not what this service calls itself.`)
  return iss === origin
    ? passed(`It was issued by ${iss}, where this page came from as well.`)
    : passed(
        `It was issued by ${iss}. This page came from ${origin}, which says that it is the same service.`,
      )
}

const checkExpiry = ({ payload }: Jws, now: number): Finding => {
  const { exp } = payload
  if (exp === undefined) return passed('It does not expire.')
  if (!isTime(exp)) return skipped('It does not say when.')
  return now < exp * MS_PER_SECOND
    ? passed(`It expires at ${time(exp)}, by the clock of this device.`)
    : failed(`It expired at ${time(exp)}, by the clock of this device.`)
}

const STATUS_FINDINGS: Readonly<Record<string, Finding>> = {
  VALID: passed('The service says that it was not withdrawn.'),
  REVOKED: failed('The service says that its owner withdrew it.'),
  EXPIRED: failed('The service says that it expired.'),
}

const checkStatus = (status = ''): Finding =>
  (Object.hasOwn(STATUS_FINDINGS, status) ? STATUS_FINDINGS[status] : undefined) ??
  failed('The service did not say whether it still holds.')

/** Checks that some results have nothing for; the others must have been made. */
const MAY_BE_SKIPPED: readonly CheckName[] = ['question', 'proof', 'inclusion']

const verdictOf = (checks: readonly Check[], status: string | undefined): Verdict => {
  const failures = checks
    .filter(
      ({ name, outcome }) =>
        outcome === 'failed' || (outcome === 'skipped' && !MAY_BE_SKIPPED.includes(name)),
    )
    .map(({ name }) => name)
  if (failures.some((name) => name !== 'expiry' && name !== 'status')) return 'INVALID'
  if (status === 'REVOKED') return 'REVOKED'
  if (failures.includes('status') && status !== 'EXPIRED') return 'INVALID'
  if (failures.length > 0) return 'EXPIRED'
  return checks.some(({ isEssential }) => isEssential) ? 'UNVERIFIED' : 'VALID'
}

/** Of claims that nobody stands for. */
const UNSIGNED = skipped('What it says counts for nothing without a good signature.')

const NOT_FURTHER: readonly Check[] = MAY_BE_SKIPPED.map((name) => ({ name, ...UNSIGNED }))

const malformed = (address: Finding, reason: string, status: string | undefined): readonly Check[] => [
  { name: 'address', ...address },
  { name: 'type', ...failed(reason) },
  { name: 'key', ...skipped('There is nothing to check.') },
  { name: 'signature', ...skipped('There is nothing to check.') },
  { name: 'issuer', ...UNSIGNED },
  { name: 'expiry', ...UNSIGNED },
  { name: 'status', ...checkStatus(status) },
  ...NOT_FURTHER,
]

const isDecision = (value: unknown): value is ProofEvidence['decision'] =>
  value === 'YES' || value === 'NO' || value === null

const proofCheck = async ({ payload }: Jws, { record, published }: Evidence): Promise<Finding> => {
  const { decision, circuit_id: circuitId, digest } = payload
  const proof = textOf(record, 'proof')
  if (proof === undefined)
    return isObject(record) && record.proven === false
      ? skipped('It was issued without a zero-knowledge proof.')
      : skipped(
          'Its proof is not public: it would tell values of the question that are kept back, or was not kept.',
        )
  if (typeof circuitId !== 'string' || typeof digest !== 'string' || !isDecision(decision))
    return failed('What was signed does not say what the proof is for.')
  const key = await published.verificationKey(circuitId)
  const { checkProof } = await loadCode(() => import('./result-proof.ts'))
  return checkProof({ proof, key, circuitId, digest, decision })
}

/** Of what names no log, or two. */
export const OTHER_LOG = 'It does not say in which log of the service its entry is.'

/** Where an entry stands, and in which log of the service. */
export interface EntryPlace extends InclusionEvidence {
  readonly log: number
}

/**
 * Where the entry of a result stands.
 * @param payload what was signed, which names the entry @param record what the service says of it, which names the place
 * @returns why that can't be said
 */
export const entryPlace = (payload: Jws['payload'], record: unknown): EntryPlace | Finding => {
  const { leaf_hash: leafHash, iss: issuer } = payload
  const index = isObject(record) ? record.merkleIndex : undefined
  const log = logOf(isObject(record) ? record.log : undefined)
  if (log === undefined || (payload.log !== undefined && payload.log !== log)) return skipped(OTHER_LOG)
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0)
    return skipped('The service did not say where in the log its entry stands.')
  if (typeof leafHash !== 'string' || !/^[0-9a-f]{64}$/.test(leafHash) || typeof issuer !== 'string')
    return failed('What was signed does not name an entry of the log.')
  if (!URL.canParse(issuer)) return failed(`${issuer} is no address.`)
  return { leafHash, index, log, name: originOfLog(new URL(issuer).host, log) }
}

const inclusionCheck = async (
  { payload }: Jws,
  { record, published }: Evidence,
  crypto: PageCrypto,
): Promise<Finding> => {
  const place = entryPlace(payload, record)
  const found = 'outcome' in place ? place : await checkInclusion(place, published.logAt(place.log), crypto)
  return { ...found, isEssential: found.outcome === 'skipped' }
}

/** The checks that need more than the result and the keys, one after the other. */
const furtherChecks = async (jws: Jws, evidence: Evidence, crypto: PageCrypto): Promise<readonly Check[]> => {
  const asked = isObject(evidence.record) ? evidence.record.asked : undefined
  return [
    { name: 'question', ...(await checkQuestion(jws.payload.question, asked, crypto)) },
    { name: 'proof', ...(await ifReached(() => proofCheck(jws, evidence))) },
    { name: 'inclusion', ...(await ifReached(() => inclusionCheck(jws, evidence, crypto))) },
  ]
}

/** Runs every check. @returns a verdict with its reasons; no exception of a check counts as a verdict */
export const examine = async (evidence: Evidence, crypto: PageCrypto): Promise<Examination> => {
  const { hash, record, jwks, now } = evidence
  const text = textOf(record, 'jws') ?? ''
  const status = textOf(record, 'status')
  const address = await checkAddress(hash, text, crypto)
  let jws: Jws
  try {
    jws = parseJws(text)
  } catch (error) {
    if (!(error instanceof JwsError)) throw error
    return { verdict: 'INVALID', checks: malformed(address, error.message, status) }
  }
  const key = findKey(jws, jwks)
  const signature =
    key === undefined
      ? skipped('Without the key it can’t be checked.')
      : await checkSignature(jws, key, crypto)
  const authentic = signature.outcome === 'passed'
  const checks: readonly Check[] = [
    { name: 'address', ...address },
    { name: 'type', ...checkType(jws) },
    {
      name: 'key',
      ...(key === undefined
        ? failed('The key that it names is not among the Ed25519 keys that the service publishes.')
        : passed(`The service publishes the key ${jws.header.kid}.`)),
    },
    { name: 'signature', ...signature },
    { name: 'issuer', ...(authentic ? checkIssuer(jws, evidence) : UNSIGNED) },
    { name: 'expiry', ...(authentic ? checkExpiry(jws, now) : UNSIGNED) },
    { name: 'status', ...checkStatus(status) },
    ...(authentic ? await furtherChecks(jws, evidence, crypto) : NOT_FURTHER),
  ]
  const verdict = verdictOf(checks, status)
  return verdict === 'INVALID' ? { verdict, checks } : { verdict, checks, claims: jws.payload }
}
