/** Signed results: the JWS by itself, or the answer that holds it. @module */
import { canonicalJson, hasCanonicalJson } from '../../../protocol/canonical-json.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { readJws } from '../../../protocol/jws.ts'
import { encodeZk1, type SnarkProof } from '../../../protocol/zk1.ts'
import { textOf } from '../../http.ts'
import { fromBase64url, toBase64url } from '../../result/jws.ts'
import { NO_QUESTION } from '../../result/question.ts'
import { type CheckName, type Examination, entryPlace, examine } from '../../result/result-checks.ts'
import type { OwnService } from '../own-service.ts'
import {
  attempt,
  type Check,
  ended,
  type Fact,
  type Found,
  lack,
  leave,
  pass,
  refuse,
  timeWords,
  visible,
} from '../report.ts'
import { ed25519Key, readSigned, WHOSE } from '../signed.ts'

type Json = Readonly<Record<string, unknown>>

const MS_PER_SECOND = 1000
const WHAT = 'Signed result'
const PAGES = '/verify/qr/'
const RESULT = { typ: 'vr+jws', kidCharacters: 43, expired: 'RESULT_EXPIRED', hasIssuer: true } as const

const TITLES: Readonly<Partial<Record<CheckName, string>>> = {
  question: 'Question',
  proof: 'Zero-knowledge proof',
  inclusion: 'Entry in the log',
}
const FAULTS: Readonly<Partial<Record<CheckName, string>>> = {
  question: 'QUESTION_MISMATCH',
  proof: 'PROOF_INVALID',
  inclusion: 'NOT_IN_LOG',
}

const CLAIMS = [
  ['decision', 'Decision'],
  ['question', 'SHA-256 of the question'],
  ['jti', 'Verification'],
  ['iat', 'Decided at'],
  ['exp', 'Expires at'],
  ['iss', 'Issuer'],
  ['org', 'Organisation that asked'],
  ['circuit_id', 'Circuit'],
  ['digest', 'Digest of the proven statement'],
  ['data_commitment', 'Commitment to the data'],
  ['leaf_hash', 'Entry in the log'],
] as const

const TIMES: readonly string[] = ['iat', 'exp']

const factsOf = (claims: Json): Fact[] =>
  CLAIMS.flatMap(([name, title]) => {
    const value = claims[name]
    if (value === undefined || value === null) return []
    return [
      [title, TIMES.includes(name) && typeof value === 'number' ? timeWords(value) : visible(value)] as const,
    ]
  })

type Read = (answered: unknown) => unknown

const DECISIONS = new Map<unknown, unknown>([
  [1, 'YES'],
  [0, 'NO'],
])
const inWords: Read = (answered) => DECISIONS.get(answered) ?? answered
const inSeconds: Read = (answered) =>
  typeof answered === 'string' ? Math.floor(Date.parse(answered) / MS_PER_SECOND) : answered
const asItIs: Read = (answered) => answered

/** Members of an answer, and the claims that they must be. */
const ANSWERED: readonly (readonly [names: readonly string[], claim: string, read: Read])[] = [
  [['verificationId', 'verification_id'], 'jti', asItIs],
  [['decision', 'verdict'], 'decision', inWords],
  [['timestamp', 'issued_at'], 'iat', inSeconds],
  [['expiresAt', 'expires_at'], 'exp', inSeconds],
  [['digest'], 'digest', asItIs],
  [['circuitId', 'circuit_id'], 'circuit_id', asItIs],
  [['merkleLeafHash', 'merkle_leaf_hash'], 'leaf_hash', asItIs],
  [['question'], 'question', asItIs],
  [['issuer'], 'iss', asItIs],
]

/** What stands beside the JWS is the caller's to believe only where the JWS says it, too; null is as nothing. */
const answerCheck = (answer: Json, claims: Json): Check => {
  const compared = ANSWERED.flatMap(([names, claim, read]) =>
    names
      .filter((name) => answer[name] !== undefined)
      .map((name) => ({ name, isSame: (read(answer[name]) ?? null) === (claims[claim] ?? null) })),
  )
  const namesOf = (some: typeof compared): string => some.map(({ name }) => name).join(', ')
  const differing = compared.filter(({ isSame }) => !isSame)
  if (differing.length > 0)
    return refuse(
      'Answer',
      'ANSWER_MISMATCH',
      `Beside the JWS stands another ${namesOf(differing)} than was signed.`,
    )
  return compared.length === 0
    ? leave('Answer', 'Nothing stands beside the JWS that it says, too.')
    : pass(
        'Answer',
        `What stands beside the JWS as ${namesOf(compared)} is what the JWS says. Nothing else of the answer was compared with it.`,
      )
}

/** The bare signature over the few members that every result has. */
const bareSignatureCheck = async (answer: Json, kid: unknown, service: OwnService): Promise<Check> => {
  const title = 'Signature of the answer'
  const { verificationId, timestamp, digest, decision, circuitId, signature } = answer
  const key = ed25519Key(await service.keys(), kid)
  const covered = { verificationId, timestamp, digest, decision, circuitId }
  const isSigned =
    key !== undefined &&
    typeof signature === 'string' &&
    /^[\w-]{86}$/.test(signature) &&
    hasCanonicalJson(covered) &&
    (await service.crypto.verifyEd25519(
      key,
      new TextEncoder().encode(`verification/1\n${canonicalJson(covered)}`),
      fromBase64url(signature),
    ))
  return isSigned
    ? pass(title, 'The Ed25519 signature fits verification, time, digest, decision and circuit.')
    : refuse(title, 'SIGNATURE_INVALID', 'The signature beside the JWS does not fit what stands there.')
}

/** The proof in an answer, as text. */
const proofIn = ({ proof, public_signals: signals }: Json): string | undefined => {
  if (typeof proof === 'string') return proof
  if (!isObject(proof) || !Array.isArray(signals)) return undefined
  try {
    return encodeZk1(proof as unknown as SnarkProof, signals)
  } catch {
    // No proof has this form: the check says so.
    return ''
  }
}

const ENDINGS: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    VALID: pass('Withdrawal', 'The service says that it was not withdrawn.'),
    REVOKED: ended('Withdrawal', 'REVOKED', 'RESULT_REVOKED', 'The service says that its owner withdrew it.'),
    EXPIRED: ended('Withdrawal', 'EXPIRED', 'RESULT_EXPIRED', 'The service says that it expired.'),
  }),
)

const standing = (record: Json | undefined): Check =>
  record === undefined
    ? refuse('Withdrawal', 'RESULT_UNKNOWN', 'The service knows no such result.')
    : (ENDINGS.get(textOf(record, 'status') ?? '') ??
      lack('Withdrawal', 'The service did not say whether it still holds.'))

/** @param asked what the service says that was asked */
const meaningOf = (claims: Json, checks: readonly Check[], asked: unknown): Found['meaning'] => {
  if (claims.question === NO_QUESTION)
    return {
      word: 'Valid: no question asked',
      text: 'It attests the submitted data; no question was asked, so it is no YES to anything.',
      isPlain: false,
    }
  const decision = visible(claims.decision)
  const isChecked = checks.find(({ title }) => title === TITLES.question)?.outcome === 'passed'
  const [word, text] = isChecked
    ? [`Valid: ${decision}`, 'It answers the question below.']
    : isObject(asked)
      ? [
          `Valid: ${decision}, question not checked`,
          'The service says that it answers the question below, of which it does not publish every value, so this could not be checked.',
        ]
      : [
          `Valid: ${decision} to an unknown question`,
          'To which question, it does not say here: ask the organisation before you rely on it.',
        ]
  return {
    word,
    text: `The signed decision is ${decision}. ${text}`,
    isPlain: decision === 'YES' && isChecked,
  }
}

/** What the page of a result checks besides: its question, its proof and its place in the log. Not every result has a public proof. */
const furtherChecks = async (
  jws: string,
  hash: string,
  record: Json,
  service: OwnService,
  now: number,
): Promise<Check[]> => {
  const issuer = await service.issuer()
  const evidence = {
    hash,
    record: { ...record, jws, issuer },
    jwks: { keys: await service.keys() },
    origin: issuer,
    now,
    published: service.published,
  }
  const { checks }: Examination = await examine(evidence, service.crypto)
  return checks.flatMap(({ name, ...found }) => {
    const title = TITLES[name]
    if (title === undefined) return []
    return [{ title, ...found, ...(found.outcome === 'failed' && { fault: FAULTS[name] }) }]
  })
}

/** Whether what its entry stands under was shown to those that whoever checks demands; what that needs is fetched only then. */
const witnessed = async (payload: Json, record: Json, service: OwnService): Promise<readonly Check[]> => {
  if (service.policy === undefined) return []
  const place = entryPlace(payload, record)
  if ('outcome' in place) return [lack('Witnesses', place.detail)]
  return (await import('./witnesses.ts')).entryWitnessChecks(place, service)
}

const NOTHING = { word: 'Valid', text: '', isPlain: false } as const

/** What the address of a result names. */
const hashOf = async (jws: string, { crypto }: OwnService): Promise<string> =>
  toBase64url(await crypto.sha256(new TextEncoder().encode(jws)))

/** @param answer what the JWS stands in @param now Unix ms */
export const checkResult = async (
  jws: string,
  answer: Json | undefined,
  service: OwnService,
  now: number,
): Promise<Found> => {
  const { checks, payload } = await readSigned({ text: jws, ...RESULT }, service, now)
  if (payload === undefined) return { what: WHAT, checks, meaning: NOTHING }
  const hash = await hashOf(jws, service)
  const path = `${PAGES}${hash}`
  let record: Json | undefined
  const withdrawal = await attempt('Withdrawal', async () => {
    const answered = await service.lookUp(path)
    if (answered !== undefined && answered.jws !== jws)
      return lack('Withdrawal', 'The service answered about another result.')
    record = answered
    return standing(record)
  })
  const told = { ...record, ...(answer && proofIn(answer) !== undefined && { proof: proofIn(answer) }) }
  const all = [
    ...checks,
    withdrawal,
    ...(await furtherChecks(jws, hash, told, service, now)),
    ...(await witnessed(payload, told, service)),
    ...(answer === undefined ? [] : [answerCheck(answer, payload)]),
    ...(answer?.signature === undefined || answer.verificationId === undefined
      ? []
      : [await bareSignatureCheck(answer, readJws(jws)?.header.kid, service)]),
  ]
  return {
    what: WHAT,
    checks: all,
    facts: factsOf(payload),
    meaning: meaningOf(payload, all, record?.asked),
    asked: record?.asked,
    page: path,
    notChecked: ['that the data were true: they are what the organisation submitted', WHOSE],
  }
}

/** What the service has at the address of a result. @param path of the address @param now Unix ms @returns why there is nothing to check */
export const checkResultAt = async (
  path: string,
  service: OwnService,
  now: number,
): Promise<Found | string> => {
  const record = await service.lookUp(path)
  if (typeof record?.jws !== 'string')
    return 'It is the address of a signed result that the service of this page does not know.'
  const named = path.slice(PAGES.length)
  const hash = await hashOf(record.jws, service)
  if (hash !== named) {
    const detail = `The address names ${named}, but the service answered with a result whose JWS has the SHA-256 ${hash}.`
    return { what: WHAT, checks: [refuse('Address', 'ADDRESS_MISMATCH', detail)], meaning: NOTHING }
  }
  const found = await checkResult(record.jws, undefined, service, now)
  const address = pass('Address', `The SHA-256 of the JWS is ${hash}, as the address says.`)
  return { ...found, checks: [address, ...found.checks] }
}
