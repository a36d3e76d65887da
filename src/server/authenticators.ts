/**
 * Which credentials each kind of route takes, and whom they stand for. A credential that works but is of a kind that the
 * route doesn't take is 403; one that nobody has, or that has ended, is 401.
 * @module
 */
import { timingSafeEqual } from 'node:crypto'
import { AppError } from '../errors.ts'
import type { Authenticated, Authenticator, Authenticators, Credentials } from '../http/auth.ts'
import { secretDigest } from '../keys/api-keys.ts'
import type { Services } from '../services/services.ts'

type Needs = Pick<Services, 'accounts' | 'terminals' | 'pods' | 'proxies'>

/** What a presented text can be; a session is presented as a cookie. */
type Kind = 'key' | 'terminal' | 'pod' | 'route' | 'metrics'

const NAMES: Readonly<Record<Kind, string>> = {
  key: 'an API key',
  terminal: 'a terminal token',
  pod: 'the key of a pod',
  route: 'a token of a hermes route',
  metrics: 'the metrics token',
}

/** @returns a test that takes as long whatever the text is */
const createTokenTest = (token: string | undefined): ((text: string) => boolean) => {
  if (token === undefined) return () => false
  const digest = secretDigest(token)
  return (text) => timingSafeEqual(secretDigest(text), digest)
}

/** Finds out what a text is, and whom it stands for. @throws AppError unauthorized when it stands for nobody */
const createIdentification = (
  { accounts, terminals, pods, proxies }: Needs,
  isMetricsToken: (text: string) => boolean,
) => {
  const identify: Readonly<Record<Kind, (text: string) => Promise<Authenticated>>> = {
    key: accounts.authenticate.key,
    pod: pods.authenticate,
    metrics: async () => ({}),
    async terminal(text) {
      const caller = await terminals.authenticateToken(text)
      const { rateLimitPerMinute } = await accounts.organisations.find(caller.organisation)
      // Each terminal is counted for itself, whatever its token: one that runs wild must not stop the others.
      const bucket = `terminal:${caller.credential.terminalId}`
      return { caller, bucket, limitPerMinute: rateLimitPerMinute }
    },
    /**
     * All routes of an organisation are counted together, with what the organisation itself asks: more routes are no way
     * to ask more. Those of strangers only seem to be one organisation's; neither they nor deleted ones count for any.
     */
    async route(text) {
      const { owned, ...caller } = await proxies.authenticate(text)
      if (!owned) return { caller, isOfAnybody: true }
      const { rateLimitPerMinute } = await accounts.organisations.find(caller.organisation)
      return { caller, limitPerMinute: rateLimitPerMinute }
    },
  }
  const kindOf = (text: string): Kind => {
    if (text.startsWith('mt_')) return 'terminal'
    if (text.startsWith('pk_pod_')) return 'pod'
    if (/^hm[tm]_/.test(text)) return 'route'
    return isMetricsToken(text) ? 'metrics' : 'key'
  }
  return async (text: string) => {
    const kind = kindOf(text)
    return { kind, authenticated: await identify[kind](text) }
  }
}

/** What a request presents. X-Pod-Key holds keys of pods and nothing else. @throws AppError ambiguous_credentials, unauthorized */
const presented = ({ apiKey, podKey }: Credentials): string | undefined => {
  if (podKey === undefined || podKey === apiKey) return apiKey
  if (apiKey !== undefined) throw new AppError('ambiguous_credentials')
  if (!podKey.startsWith('pk_pod_')) throw new AppError('unauthorized')
  return podKey
}

/** @param metricsToken METRICS_TOKEN; undefined opens the routes of metrics to everybody */
export const createAuthenticators = (services: Needs, metricsToken: string | undefined): Authenticators => {
  const identify = createIdentification(services, createTokenTest(metricsToken))
  const { authenticate } = services.accounts

  /** @throws AppError unauthorized, insufficient_scope for a credential of another kind */
  const admit = async (text: string | undefined, kinds: readonly Kind[]): Promise<Authenticated> => {
    if (text === undefined) throw new AppError('unauthorized')
    const { kind, authenticated } = await identify(text)
    if (kinds.includes(kind)) return authenticated
    throw new AppError('insufficient_scope', { message: `This route does not accept ${NAMES[kind]}.` })
  }
  const takes =
    (...kinds: Kind[]): Authenticator =>
    (credentials) =>
      admit(presented(credentials), kinds)

  /** A credential in a header counts, whatever cookie comes with it. */
  const withSession =
    (...kinds: Kind[]): Authenticator =>
    (credentials, { method }) => {
      const text = presented(credentials)
      return text === undefined ? authenticate.session(credentials, method) : admit(text, kinds)
    }

  return {
    key: takes('key'),
    merchant: takes('key', 'terminal'),
    pod: takes('key', 'pod'),
    optional: (credentials) => {
      const text = presented(credentials)
      return text === undefined ? { isOfAnybody: true } : admit(text, ['key', 'route'])
    },
    console: withSession('key'),
    session: withSession(),
    async metrics(credentials) {
      if (metricsToken === undefined) return { isOfAnybody: true }
      const authenticated = await admit(presented(credentials), ['key', 'metrics'])
      const { caller } = authenticated
      if (caller !== undefined && !caller.scopes.has('metrics')) throw new AppError('insufficient_scope')
      return authenticated
    },
  }
}
