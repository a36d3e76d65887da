/** Providers that the operator configured: each asked over HTTPS, by the contract that docs/kyc.md describes. @module */
import { type Clock, iso } from '../../clock.ts'
import type { KycProviders } from '../../config/config.ts'
import { AppError, fail, type Misfit } from '../../errors.ts'
import { EgressError } from '../../net/egress-error.ts'
import type { SafeFetch, SafeFetchResponse } from '../../net/safe-fetch.ts'
import { hasCanonicalJson } from '../../protocol/canonical-json.ts'
import { dayOf, earliest, isBirthDate } from './calendar-date.ts'
import { countryOf } from './countries.ts'
import { endOfDocument } from './machine-readable-zone.ts'
import type { ProviderResult } from './provider-result.ts'
import { type AskableLevel, type Check, KYC_LEVELS, type KycData, type ProviderAnswer } from './schemas.ts'

const MAX_ANSWER_BYTES = 64 * 1024
const DEADLINE_MS = 10_000
/** Calls that are with one provider at a time; each holds a connection for up to the deadline. */
const MAX_CALLS_PER_PROVIDER = 16
const RETRY_SECONDS = 1
const CONTRACT_VERSION = 1

export interface HttpProvidersDeps {
  readonly providers: KycProviders
  readonly safeFetch: SafeFetch
  readonly clock: Clock
  /** For everything from the look-up of the name to the end of the answer; default 10 s. */
  readonly deadlineMs?: number
  /** Says what of an answer doesn't fit its schema. */
  readonly checkAnswer: (answer: unknown) => Misfit | undefined
}

/** What a provider is asked. The id by which the caller knows the person stays here. */
export interface ProviderQuestion {
  /** `kyc_…`: of the check that is recorded if there is an answer. */
  readonly reference: string
  readonly level: AskableLevel
  readonly data: KycData
}

/** @throws AppError provider_failed, always */
const failed = (name: string, why: string, cause?: unknown): never =>
  fail('provider_failed', { message: `The KYC provider ${name} ${why}.`, cause })

const parsed = (name: string, { body }: SafeFetchResponse): unknown => {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    // The parser's message repeats some of the answer, and the cause of a failure is logged.
    return failed(name, 'did not answer in JSON')
  }
}

const EXPIRED: Check = { name: 'document_expiry', result: 'failed', reason: 'The document has expired.' }

/** What the answer itself doesn't claim can't be had from it. @param now Unix ms */
const resultOf = (
  answer: ProviderAnswer,
  { level: asked, data }: ProviderQuestion,
  now: number,
): ProviderResult => {
  const { status, level, reference, expiresAt, attributes = {} } = answer
  const today = dayOf(now)
  // What else a provider says of a check is not asked for: nobody expects personal data among checks.
  const checks = (answer.checks ?? []).map(({ name, result, reason }) => ({
    name,
    result,
    ...(reason !== undefined && { reason }),
  }))
  const birthDate = attributes.dateOfBirth ?? data.dateOfBirth
  const country = attributes.country ?? data.document?.country
  const isReached = KYC_LEVELS.indexOf(level) >= KYC_LEVELS.indexOf(asked)
  const reached: Check = isReached
    ? { name: 'level_reached', result: 'passed' }
    : {
        name: 'level_reached',
        result: 'failed',
        reason: `The provider reached level ${level}; ${asked} was requested.`,
      }
  const claimsVerified = status === 'verified'
  const documentEnds = claimsVerified ? endOfDocument(data, now) : null
  const isExpired = documentEnds !== null && documentEnds <= now
  const isVerified = claimsVerified && isReached && !isExpired
  const found = !claimsVerified || isVerified ? status : isExpired ? 'rejected' : 'review'
  const saidUntil = expiresAt === undefined ? null : Date.parse(expiresAt)
  return {
    status: found,
    level: isVerified ? level : 'none',
    checks: claimsVerified ? [...checks, reached, ...(isExpired ? [EXPIRED] : [])] : checks,
    providerReference: reference ?? null,
    // Whoever approves a review does so no longer than the provider says, and than the document is valid by then.
    expiresAt: isVerified ? earliest(saidUntil, documentEnds) : found === 'review' ? saidUntil : null,
    birthDate: birthDate !== undefined && isBirthDate(birthDate, today) ? birthDate : undefined,
    country: country === undefined ? undefined : countryOf(country),
  }
}

export const createHttpProviders = ({
  providers,
  safeFetch,
  clock,
  deadlineMs = DEADLINE_MS,
  checkAnswer,
}: HttpProvidersDeps) => {
  const calls = new Map<string, number>()

  /** @throws AppError unavailable when too many calls are with the provider */
  const within = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const waiting = calls.get(name) ?? 0
    if (waiting >= MAX_CALLS_PER_PROVIDER)
      return fail('unavailable', {
        message: `Too many requests to the KYC provider ${name} are open; try again.`,
        retryAfter: RETRY_SECONDS,
      })
    calls.set(name, waiting + 1)
    try {
      return await work()
    } finally {
      calls.set(name, (calls.get(name) ?? 1) - 1)
    }
  }

  const call = async (
    name: string,
    { url, apiKey }: KycProviders[string],
    question: ProviderQuestion,
  ): Promise<SafeFetchResponse> => {
    try {
      return await safeFetch(url, {
        method: 'POST',
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': question.reference,
          'user-agent': 'Assay-KYC/1.0',
        },
        body: JSON.stringify({ version: CONTRACT_VERSION, ...question }),
        maxBytes: MAX_ANSWER_BYTES,
        deadlineMs,
        redirects: 0,
        allowListed: true,
      })
    } catch (error) {
      // What failed is told, the URL is the operator's affair.
      if (error instanceof EgressError) return failed(name, `gave no usable answer: ${error.kind}`, error)
      throw error
    }
  }

  return {
    /** @returns false for names that aren't configured */
    has: (name: string): boolean => Object.hasOwn(providers, name),

    /** @throws AppError provider_failed for every answer that isn't one; unavailable when too many are waiting */
    async ask(name: string, question: ProviderQuestion): Promise<ProviderResult> {
      const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
      if (provider === undefined) throw new AppError('internal', { message: `There is no provider ${name}.` })
      const response = await within(name, () => call(name, provider, question))
      if (response.status !== 200) return failed(name, `answered with status ${response.status}`)
      const answer = parsed(name, response)
      const misfit = checkAnswer(answer)
      if (misfit) {
        const [{ path, message }] = misfit.details
        return failed(name, `returned an answer in which ${path || 'the document'} ${message}`)
      }
      if (!hasCanonicalJson(answer)) return failed(name, 'returned a text with half a surrogate pair')
      // It fits the schema.
      const now = clock.now()
      const result = resultOf(answer as ProviderAnswer, question, now)
      const { status, expiresAt } = result
      if (status === 'verified' && expiresAt !== null && expiresAt <= now)
        return failed(name, `verified the person until ${iso(expiresAt)}, which is in the past`)
      return result
    },
  }
}
