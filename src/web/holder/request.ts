/** What somebody is asked to prove, and what an answer tells: in the words of the service and of this page, never of the asker. @module */
import type { AskedContext } from '../../circuits/answer.ts'
import type { Credential, CredentialCircuit } from '../../circuits/credential.ts'
import { isObject } from '../../protocol/json-object.ts'
import { type Answer, askJson, textOf } from '../http.ts'

const OK = 200
const NOT_FOUND = 404

/** As GET /challenge/{challengeId} answers it. */
export interface ChallengeRequest {
  readonly state: 'open' | 'closed' | 'expired'
  readonly asker: { readonly organisation: string; readonly name: string; readonly domain: string | null }
  readonly circuit_id: CredentialCircuit
  readonly question: string
  readonly context: AskedContext
  readonly issuers: readonly string[]
  readonly expires_at: string
  readonly answer_url: string
}

/** The request, and how far the service's clock is ahead of this one's. */
export interface Asked {
  readonly request: ChallengeRequest
  readonly aheadMs: number
}

const CREDENTIAL_WORDS: Readonly<Record<CredentialCircuit, string>> = {
  kyc: 'Identity check',
  token_validation: 'Token',
  consent_verification: 'Consent',
}

const isRequest = (body: unknown): body is ChallengeRequest =>
  isObject(body) &&
  isObject(body.asker) &&
  isObject(body.context) &&
  isObject(body.context.statement) &&
  Array.isArray(body.issuers) &&
  typeof body.question === 'string' &&
  typeof body.answer_url === 'string' &&
  typeof body.circuit_id === 'string' &&
  Object.hasOwn(CREDENTIAL_WORDS, body.circuit_id)

/** @returns undefined where there is no such request @throws UnreachableError; Error for an answer that is none */
export const fetchRequest = async (path: string, now: () => number): Promise<Asked | undefined> => {
  const { status, body, date }: Answer = await askJson(path)
  if (status === NOT_FOUND) return undefined
  if (status !== OK || !isRequest(body))
    throw new Error(textOf(body, 'message') ?? 'The service answered something else than a request.')
  return { request: body, aheadMs: date === undefined ? 0 : date - now() }
}

/** Whether a credential can answer it. */
export const fits = (
  { circuit_id, issuers }: ChallengeRequest,
  { circuit, organisation }: Credential,
): boolean => circuit === circuit_id && issuers.includes(organisation)

const SECONDS_MS = 1000
const LEVELS = ['', 'basic', 'standard', 'enhanced']

/** A credential in few words: nothing that others should not read over a shoulder. */
export const credentialWords = ({ circuit, fields }: Credential): string => {
  const end = Number(circuit === 'consent_verification' ? fields.to : fields.expiresAt)
  const level = circuit === 'kyc' ? `, level ${LEVELS[Number(fields.level)] ?? fields.level}` : ''
  const day = new Date(end * SECONDS_MS)
  const until = Number.isNaN(day.getTime())
    ? ''
    : `, valid until ${day.toLocaleDateString('en-GB', { dateStyle: 'medium' })}`
  return `${CREDENTIAL_WORDS[circuit]}${level}${until}`
}

/** What kind of credential is needed. */
export const neededWords = ({ circuit_id, issuers }: ChallengeRequest): string =>
  `${CREDENTIAL_WORDS[circuit_id]} issued by ${issuers.join(' or ')}`

/** What the asker learns and what not, if it is answered with this credential. */
export const learnt = (
  { circuit_id, context: { statement } }: ChallengeRequest,
  { organisation, binding }: Credential,
): { readonly learns: readonly string[]; readonly learnsNot: readonly string[] } => {
  const learns = [
    'The answer, YES or NO, to the sentence above, and when you gave it.',
    binding === 'holder'
      ? `Who vouches for it: ${organisation}. And that only somebody with your secret could answer.`
      : `Who vouches for it: ${organisation}. And that the issuer made its secret too.`,
  ]
  if (circuit_id === 'kyc')
    learns.push(
      'A number that stands for you in this question: they recognise you when you answer it again. Others see another number.',
    )
  if (statement.unique === '1')
    learns.push(
      'A second such number, whichever of your credentials you show, so that you count once. The issuer could find out that it is yours.',
    )
  if (circuit_id === 'consent_verification')
    learns.push('A number that stands for whoever gave the consent, which the issuer could find out.')
  if (statement.disclose === '1')
    learns.push(
      'The place of your credential in the public list of revoked ones. It is the same wherever you are asked for it: those who compare see that it was you again.',
    )
  const inside: Readonly<Record<CredentialCircuit, string>> = {
    kyc: 'Your name, birth date, country, or anything else of you that the answer doesn’t say.',
    token_validation: 'Whom the token is about, and what it claims.',
    consent_verification: 'The other purposes of the consent, and when it was given.',
  }
  return {
    learns,
    learnsNot: [inside[circuit_id], 'Your secret and your credential: they stay in this browser.'],
  }
}
