/** One reader for each type of data source: what it takes to ask it, and how the answer becomes facts. @module */
import type { Caller, Scope } from '../../caller.ts'
import { AppError, type ErrorDetail, fail } from '../../errors.ts'
import type { KnownFacts } from '../../ledger/decision.ts'
import type { AmlService } from '../aml/service.ts'
import type { ConsentService } from '../consent/service.ts'
import type { HermesAsker, HermesService } from '../hermes/service.ts'
import type { HybridTokensService } from '../hybrid-tokens/service.ts'
import type { KycService } from '../kyc/service.ts'
import type { TokensService } from '../tokens/service.ts'
import type { DataSource, SourceType } from './schemas.ts'

/** What sources are read from. */
export interface SourceServices {
  readonly hermes: Pick<HermesService, 'askTyped' | 'askText' | 'isOwn'>
  readonly tokens: Pick<TokensService, 'judged'>
  readonly hybridTokens: Pick<HybridTokensService, 'judged'>
  readonly consents: Pick<ConsentService, 'factsOf'>
  readonly kyc: Pick<KycService, 'factsOf'>
  readonly aml: Pick<AmlService, 'factsOf'>
}

/** Who needs the facts, about whom. */
export interface Need {
  readonly asker: HermesAsker & { readonly caller: Caller }
  readonly identifier: string | undefined
}

/** A source that was asked. */
export interface Asked {
  readonly services: SourceServices
  readonly need: Need
  readonly source: DataSource
  /** Of the source in the body. */
  readonly path: string
}

type Facts = KnownFacts['facts']

interface Reader<Said = Pick<KnownFacts, 'facts'>> {
  /** Needed besides that of the route: what asking the source by its own route takes. */
  readonly scope?: Scope
  /** What the source needs besides its form and does not have. */
  missing?(source: DataSource): string | undefined
  read(services: SourceServices, need: Need, source: DataSource): Promise<Said>
  /** A refusal of the source as one of the question; undefined where it is told as it is. */
  place?(error: AppError, asked: Asked): Promise<AppError | undefined>
}

/** Of facts that others keep. */
type AskedReader = Reader & { readonly isKept?: undefined }
/** Of facts that the service keeps itself: it may be told otherwise while the rest is gathered, and knows whether it was. */
type KeptReader = Reader<KnownFacts> & { readonly isKept: true }

/** What is wrong with the slug as it was sent; told as such, since the route is not what was called. */
const SLUG_FAULTS: readonly string[] = ['not_found', 'route_deleted', 'unauthorized', 'insufficient_scope']

/** @returns false, that nobody owns it @throws any other error */
const isGone = (error: unknown): false => {
  if (error instanceof AppError && SLUG_FAULTS.includes(error.code)) return false
  throw error
}

const hermes: AskedReader = {
  scope: 'verify',
  async read({ hermes: routes }, { asker, identifier }, { slug = '', criteria }) {
    // As text, the identifier is also found where the target's ids are numbers.
    const { verdict, timestamp } = await (criteria === undefined && identifier !== undefined
      ? routes.askText(asker, slug, { id: identifier })
      : routes.askTyped(asker, slug, criteria ?? {}))
    return { facts: { verdict, timestamp } }
  },
  async place(error, { services, need, source, path }) {
    const { code, message } = error
    if (SLUG_FAULTS.includes(code))
      return new AppError('validation_failed', {
        details: [{ path: `${path}/slug`, code, message }],
        cause: error,
      })
    if (error.status === 402) {
      // A route that was deleted meanwhile is nobody's.
      if (await services.hermes.isOwn(need.asker, source.slug ?? '').catch(isGone)) return undefined
      return new AppError('source_failed', {
        message: 'The organisation that created the hermes route has no results left.',
        details: [{ path, code, message }],
        cause: error,
      })
    }
    if (error.status !== 422) return undefined
    const prefixed = ({ path: inner, ...detail }: ErrorDetail) => ({
      ...detail,
      // Without criteria it is asked about the identifier of the whole check.
      path: inner === 'query/id' ? '/identifier' : `${path}/criteria${inner}`,
    })
    const details = error.details?.map(prefixed) ?? [{ path: `${path}/criteria`, code, message }]
    return new AppError('validation_failed', { message, details, cause: error })
  },
}

/** Whom a source is asked about. The schema sees to it that there is somebody. */
const personOf = ({ identifier }: Need, { userId }: DataSource): string =>
  userId ?? identifier ?? fail('validation_failed')

const consent: KeptReader = {
  scope: 'consent',
  isKept: true,
  read: ({ consents }, need, source) =>
    consents.factsOf(need.asker.caller, {
      userId: personOf(need, source),
      purpose: source.purpose ?? fail('validation_failed'),
      ...(source.controller !== undefined && { controller: source.controller }),
    }),
}

/** Of a person, by a service that knows people. */
const personReader = (scope: 'kyc' | 'aml'): KeptReader => ({
  scope,
  isKept: true,
  read: (services, need, source) => services[scope].factsOf(need.asker.caller, personOf(need, source)),
})

/** Without what nobody knows: a rule about that is never a YES, where null might differ from what it is compared with. */
const known = (facts: Facts): Facts =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null))

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Who takes the credential. @throws AppError validation_failed: what can't be read must not be no audience */
const audienceOf = ({ audience }: Facts): { audience?: string } => {
  if (audience === undefined || audience === null) return {}
  if (isText(audience)) return { audience }
  return fail('validation_failed', {
    details: [{ path: '/data/audience', code: 'type', message: 'must be a text' }],
  })
}

const isHybrid = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Of a hybrid token. Only the service's own signatures count: nobody is asked which others do. */
const hybridFacts = async (
  { hybridTokens }: SourceServices,
  { asker }: Need,
  token: object,
): Promise<KnownFacts> => {
  const { verdict, isOvertaken } = await hybridTokens.judged(asker.caller, token)
  const { valid, reason_codes, token_id, expired, revoked, subject, claims } = verdict
  const status = revoked ? 'revoked' : expired ? 'expired' : 'active'
  const facts = known({ valid, reason_codes, status: token_id === null ? null : status, subject, claims })
  return { facts, isOvertaken }
}

const credential: KeptReader = {
  scope: 'token',
  isKept: true,
  missing: ({ data }) => (isText(data?.token) || isHybrid(data?.token) ? undefined : 'data/token'),
  async read(services, need, { data = {} }) {
    const { token } = data
    const audience = audienceOf(data)
    if (isHybrid(token)) return hybridFacts(services, need, token)
    const { verdict, isOvertaken } = await services.tokens.judged(need.asker.caller, {
      token: isText(token) ? token : fail('validation_failed'),
      ...audience,
    })
    const { valid, reasonCodes, status, subject, audience: intended, claims } = verdict
    return {
      facts: known({ valid, reason_codes: reasonCodes, status, subject, audience: intended, claims }),
      isOvertaken,
    }
  },
  async place(error, { path }) {
    if (error.code !== 'validation_failed') return undefined
    const details = error.details?.map((detail) => ({ ...detail, path: `${path}${detail.path}` }))
    return new AppError('validation_failed', { details, cause: error })
  },
}

const inline: AskedReader = {
  read: async (_services, _need, { data = {} }) => ({ facts: data }),
}

export const READERS: Readonly<Record<SourceType, AskedReader | KeptReader>> = {
  inline,
  hermes,
  kyc: personReader('kyc'),
  aml: personReader('aml'),
  consent,
  credential,
}
