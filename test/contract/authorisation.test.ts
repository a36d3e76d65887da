/**
 * Who may do what: every operation with every kind of credential, on what is its owner's and on what is not. What is
 * expected follows from the route value (`auth`, `scope`, `path`); what differs stands in one list with its reason.
 */
import { expect } from 'chai'
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../../src/caller.ts'
import { RIGHTS } from '../../src/domain/accounts/roles.ts'
import { needsAllScopes, type Route, scopesOf } from '../../src/http/route.ts'
import { newApiKey, newAskToken } from '../../src/keys/api-keys.ts'
import { routes } from '../../src/server/routes.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import type { RequestOptions } from '../support/client.ts'
import { signIn, signUp } from '../support/domain/accounts.ts'
import { createProxy } from '../support/domain/hermes.ts'
import { createPod, movePod } from '../support/domain/pods.ts'
import { createFixtures, fill, makeValues, placeholdersOf } from '../support/fixtures.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

const METRICS_TOKEN = 'metrics-token-of-the-matrix'
/** As agents sign requests to others (RFC 9421). */
const AGENT_SIGNATURE = {
  'signature-input': `sig1=("@authority" "@path");created=1;keyid="${'k'.repeat(43)}";tag="web-bot-auth"`,
  signature: `sig1=:${Buffer.alloc(64, 1).toString('base64')}:`,
}
/** What credentials are refused with. */
const REFUSALS = ['unauthorized', 'insufficient_scope', 'csrf_required']
/** Passes can't be signed here, which says nothing against who asked for one. */
const NOT_CONFIGURED = 501
const UNKNOWN_ID = 'xyz_00000000000000000000000000'

/** What a credential is told at a route: a status, or that it may call, and perhaps also that what is its own is there. */
type Expected = 'admitted' | 'found' | number

/** Cookie and CSRF token. */
type SessionHeaders = Readonly<Record<string, string>>

interface Caller {
  readonly name: string
  /** What it sends at a route. */
  options(route: Route, session: SessionHeaders): RequestOptions | Promise<RequestOptions>
  expected(route: Route): Expected
}

const STRANGER = "another organisation's key"
const STRANGERS_SESSION = "another organisation's session"
const OWN_SCOPE = 'a key with its scope'
const AUDIT = 'a key with scope audit alone'
const ADMIN = 'an admin key'

/** Some cells of the table, one by one. */
const cells = (status: number, caller: string, names: readonly string[]): [string, number][] =>
  names.map((name) => [`${name}: ${caller}`, status])

/** Where something else is told than follows from the route: `route: caller` → status. */
const EXCEPTIONS: ReadonlyMap<string, number> = new Map([
  // Nobody manages a key with scopes that they lack themselves.
  ...cells(403, OWN_SCOPE, [
    'createKey',
    'createApiKey',
    'rotateKey',
    'deleteKey',
    'updateAccount',
    'createInvitation',
  ]),
  ...cells(403, OWN_SCOPE, ['createTerminal', 'deleteTerminal']),
  // Who only reads alerts silences none.
  ...cells(403, OWN_SCOPE, ['decideAlert']),
  ...cells(403, AUDIT, ['decideAlert']),
  // Asks hermes as well, which takes scope verify; hands in proofs as well, which takes scope proof.
  ...cells(403, OWN_SCOPE, ['checkEligibility', 'handInProofs']),
  // A terminal of somebody else, an unknown one and a wrong secret can't be told apart.
  ...cells(401, STRANGER, ['authenticateTerminal']),
  ...cells(401, ADMIN, ['authenticateTerminal']),
  // Says, as specified, that the pod is somebody else's.
  ...cells(403, STRANGER, ['getPodStats']),
  ...cells(403, STRANGERS_SESSION, ['getPodStats']),
  ...cells(403, ADMIN, ['getPodStats']),
  // Tries the rules that are sent, under whatever name.
  ...cells(200, STRANGER, ['tryPolicy']),
  ...cells(200, STRANGERS_SESSION, ['tryPolicy']),
  // Judge what is presented, a proof or a token itself: what is no good to the caller is a verdict, and no 404.
  ...cells(200, STRANGER, ['verifyEntryProof', 'verifyProof', 'verifyProofV1', 'syncProofs', 'handInProofs']),
  ...cells(200, STRANGERS_SESSION, ['verifyProofV1']),
  ...cells(200, STRANGER, ['validateToken', 'validateHybridToken', 'validateQuantumSafeByCircuit']),
])

/** Ids in bodies and queries that name something of an organisation. */
const OWNED = /Id$|^(token|zk1|qrPayload|loggedDigest|entryIndexNumber|auditProof)$/

const inPath = ({ path }: Route): boolean => path.includes('{')
/** Whether anyone may see it, so that nobody's is somebody else's. */
const isPublic = ({ auth, method }: Route): boolean =>
  auth === 'none' || (auth === 'optional' && method !== 'DELETE')
const namesOwned = (route: Route): boolean =>
  !isPublic(route) &&
  (inPath(route) || [...placeholdersOf(route)].some((name) => OWNED.test(name) && name !== 'organisationId'))

/** Whether a call that is refused nothing else needs a subscription or free proofs. */
const needsSubscription = (route: Route): boolean =>
  route.errors.includes('subscription_inactive') && placeholdersOf(route).size === 0

const takesSession = ({ auth }: Route): boolean => auth === 'console' || auth === 'session'
const has = (route: Route, scopes: ReadonlySet<Scope>): boolean => {
  const wanted = scopesOf(route)
  const had = wanted.filter((scope) => scopes.has(scope))
  return wanted.length === 0 || had.length >= (needsAllScopes(route) ? wanted.length : 1)
}
/** What an organisation's own credentials may do at most. */
const OWNER: ReadonlySet<Scope> = new Set<Scope>([...DEFAULT_SCOPES, 'keys'])
const nobody = ({ auth }: Route): Expected => (auth === 'optional' ? 'admitted' : 401)
const key =
  (scopes: ReadonlySet<Scope>) =>
  (route: Route): Expected =>
    route.auth !== 'session' && has(route, scopes) && (route.auth !== 'metrics' || scopes.has('metrics'))
      ? 'admitted'
      : 403
const kind =
  (auth: Route['auth'], scope?: Scope) =>
  (route: Route): Expected =>
    route.auth === auth && has(route, new Set(scope ? [scope] : [])) ? 'admitted' : 403
const session = (route: Route): Expected =>
  takesSession(route) ? (has(route, RIGHTS.owner.writes) ? 'admitted' : 403) : nobody(route)

/** An account that is signed in, its organisation with a subscription, and a key of that organisation. */
const openOrganisation = async (app: TestApp) => {
  const account = await signUp(app)
  const path = `/console/api/organisations/${account.organisationId}`
  await app.request('PATCH', path, { key: app.adminKey, body: { subscription: 'active' } })
  const { headers, cookie } = await signIn(app, account)
  const newKey = async (scopes: readonly Scope[]) => {
    const answer = await app.request<{ apiKey: string; keyId: string }>('POST', '/console/api/keys', {
      headers,
      body: { scopes },
    })
    expect(answer.status).to.equal(201)
    return answer.body
  }
  const { apiKey } = await newKey([...DEFAULT_SCOPES, 'keys'])
  const owner: TestOrganisation = { ...account, apiKey }
  return { account, owner, headers, cookie, newKey }
}

const openTerminal = async (app: TestApp, { apiKey }: TestOrganisation): Promise<string> => {
  const made = await app.request<Record<string, string>>('POST', '/console/api/terminals', {
    key: apiKey,
    body: { label: 'Till' },
  })
  const { terminalId, terminalSecret, apiKey: tillKey } = made.body
  const { body } = await app.request<{ token: string }>('POST', '/api/merchant/terminals/authenticate', {
    key: tillKey,
    body: { terminalId, terminalSecret },
  })
  return body.token
}

const holders = async (app: TestApp) => {
  const mine = await openOrganisation(app)
  const pod = await createPod(app, mine.owner.apiKey)
  await movePod(app, pod.podId, 'ACTIVE')
  const proxy = await createProxy(
    app,
    { destinationUrl: 'https://api.example.org/members', requireToken: true },
    mine.owner.apiKey,
  )
  const ended = await mine.newKey(DEFAULT_SCOPES)
  await app.request('DELETE', `/console/api/keys/${ended.keyId}`, { headers: mine.headers })
  const gone = await signIn(app, mine.account)
  await app.request('DELETE', '/console/api/session', { headers: gone.headers })
  const made = new Map<string, Promise<string>>()
  /** A key of the organisation with these scopes, one for each set of them. */
  const keyWith = (scopes: readonly Scope[]): Promise<string> => {
    const name = scopes.join()
    const known = made.get(name) ?? mine.newKey(scopes).then(({ apiKey }) => apiKey)
    made.set(name, known)
    return known
  }
  const terminalToken = await openTerminal(app, mine.owner)
  return { ...mine, pod, proxy, endedKey: ended.apiKey, endedSession: gone.headers, keyWith, terminalToken }
}

type Values = Readonly<Record<string, string>>
type Holders = Awaited<ReturnType<typeof holders>>

/** Every kind of credential but those that the test of a route makes for it. */
const createCallers = (app: TestApp, mine: Holders): readonly Caller[] => {
  const without = (route: Route): readonly Scope[] => {
    const missing = new Set<Scope>([
      ...scopesOf(route),
      ...(route.auth === 'metrics' ? ['metrics' as const] : []),
    ])
    return [...OWNER].filter((scope) => !missing.has(scope))
  }
  const refused = (name: string, options: RequestOptions): Caller => ({
    name,
    options: () => options,
    expected: () => 401,
  })
  const of = (name: string, options: RequestOptions, expected: Caller['expected']): Caller => ({
    name,
    options: () => options,
    expected,
  })
  const { proxy, pod, terminalToken } = mine
  return [
    of('nobody', {}, nobody),
    // It says who an agent is to those who ask, and opens nothing.
    of('an agent that signs its request', { headers: AGENT_SIGNATURE }, nobody),
    refused('an unknown key', { key: newApiKey() }),
    refused('a revoked key', { key: mine.endedKey }),
    refused('an unknown terminal token', { bearer: `${terminalToken.slice(0, -4)}0000` }),
    refused('an unknown pod key', { headers: { 'x-pod-key': `${pod.podKey.slice(0, -4)}0000` } }),
    refused('an unknown hermes token', { bearer: newAskToken() }),
    of('an ended session', { headers: mine.endedSession }, (route) =>
      takesSession(route) ? 401 : nobody(route),
    ),
    {
      name: 'a key without its scope',
      options: async (route) => ({ key: await mine.keyWith(without(route)) }),
      expected: (route) => key(new Set(without(route)))(route),
    },
    of('a terminal token', { bearer: terminalToken }, kind('merchant', 'merchant')),
    of('a pod key', { headers: { 'x-pod-key': pod.podKey } }, kind('pod', 'pod')),
    of('a pod key as bearer', { bearer: pod.podKey }, kind('pod', 'pod')),
    of('a hermes token to ask', { bearer: proxy.token ?? '' }, kind('optional', 'verify')),
    of('a hermes token to manage', { bearer: proxy.manageToken }, kind('optional', 'verify')),
    of('the metrics token', { bearer: METRICS_TOKEN }, kind('metrics')),
    {
      name: 'a session without CSRF token',
      options: (_, { cookie = '' }) => ({ headers: { cookie } }),
      expected: (route) => (takesSession(route) && route.method !== 'GET' ? 403 : session(route)),
    },
    { name: 'a session', options: (_, headers) => ({ headers }), expected: session },
    of("the organisation's key", { key: mine.owner.apiKey }, (route) =>
      key(OWNER)(route) === 'admitted' ? 'found' : 403,
    ),
    of(ADMIN, { key: app.adminKey }, key(new Set(SCOPES))),
    {
      name: OWN_SCOPE,
      options: async (route) => ({ key: await mine.keyWith(ownScopes(route)) }),
      expected: key(OWNER),
    },
    {
      name: AUDIT,
      options: async () => ({ key: await mine.keyWith(['audit']) }),
      expected: key(new Set(['audit'])),
    },
  ]
}

/** What a key needs for a route, and nothing else; a key has at least one scope. */
const ownScopes = (route: Route): readonly Scope[] => {
  if (needsAllScopes(route)) return scopesOf(route)
  const [scope = route.auth === 'metrics' ? 'metrics' : 'verify'] = scopesOf(route)
  return [scope === 'admin' ? 'verify' : scope]
}

describe('authorisation', () => {
  let app: TestApp
  let dns: Awaited<ReturnType<typeof startDnsServer>>
  let mine: Holders
  let theirs: Awaited<ReturnType<typeof openOrganisation>>
  let inactiveKey: string
  let callers: readonly Caller[]
  let shared: Record<string, string> = {}

  before(async function () {
    this.timeout(120_000)
    dns = await startDnsServer()
    app = await startTestApp({ env: { METRICS_TOKEN, DNS_SERVERS: dns.address } })
    mine = await holders(app)
    theirs = await openOrganisation(app)
    const inactive = await app.organisation()
    inactiveKey = inactive.apiKey
    const path = `/console/api/organisations/${inactive.organisationId}`
    await app.request('PATCH', path, { key: app.adminKey, body: { subscription: 'inactive' } })
    callers = createCallers(app, mine)
    shared = { podId: mine.pod.podId, organisationId: mine.owner.organisationId }
  })
  after(async () => {
    await app.close()
    await dns.close()
  })

  /** What is read is made once for all routes; what is changed by its path is made for the route. */
  const ownThings = async (route: Route): Promise<{ headers: SessionHeaders; values: Values }> => {
    // Some of these end a session, or change what it was opened with.
    if (route.auth === 'session') {
      const { headers = {}, values } = await createFixtures(app, route)
      return { headers, values }
    }
    const names = placeholdersOf(route)
    const { podId = '', organisationId = '' } = shared
    const isChanged = inPath(route) && route.method !== 'GET'
    const values = await makeValues(app, mine.owner, names, isChanged ? { podId, organisationId } : shared)
    if (!isChanged) shared = values
    return { headers: mine.headers, values }
  }

  const call = async (route: Route, values: Values, options: RequestOptions) => {
    const { url, body } = fill(route, values)
    const path = url.replaceAll(/\{\w+\}/g, UNKNOWN_ID)
    return app.request<{ error?: string } | undefined>(route.method, path, { ...options, body })
  }

  /** Calls, and says what is wrong with the answer, if anything. */
  const mismatch = async (
    route: Route,
    values: Values,
    { name, options, expected }: { name: string; options: RequestOptions; expected: Expected },
  ): Promise<string[]> => {
    const { status, body } = await call(route, values, options)
    const wanted = EXCEPTIONS.get(`${route.name}: ${name}`) ?? expected
    const isAdmitted = (status !== 401 && status !== 403 && status < 500) || status === NOT_CONFIGURED
    const isFound = isAdmitted && status !== 404
    const fits = wanted === 'found' ? isFound : wanted === 'admitted' ? isAdmitted : status === wanted
    return fits ? [] : [`${route.name}: ${name}: ${status} ${body?.error ?? ''} instead of ${wanted}`]
  }

  /** Credentials of another organisation, on what this one owns. */
  const strangers = (route: Route) => {
    const notFound = namesOwned(route) ? 404 : 'admitted'
    const told = (allowed: Expected): Expected => (allowed === 'admitted' ? notFound : allowed)
    const byKey = { name: STRANGER, options: { key: theirs.owner.apiKey }, expected: told(key(OWNER)(route)) }
    const bySession = {
      name: STRANGERS_SESSION,
      options: { headers: theirs.headers },
      expected: takesSession(route) ? told(session(route)) : nobody(route),
    }
    // What names nothing is about the session itself: it would sign out.
    return route.auth === 'session' && !inPath(route) ? [byKey] : [byKey, bySession]
  }

  for (const route of routes) {
    const { method, path, auth } = route

    if (auth === 'none') {
      it(`${method} ${path} looks at no credential`, async () => {
        const credentials = [{}, { key: newApiKey() }, { bearer: mine.terminalToken }, { key: app.adminKey }]
        for (const options of credentials)
          expect((await call(route, {}, options)).body?.error).to.not.be.oneOf(REFUSALS)
      })
      continue
    }

    it(`${method} ${path}`, async () => {
      const { headers, values } = await ownThings(route)
      const wrong: string[] = []
      // Before their owner does what the route does, which may be to end them.
      for (const stranger of strangers(route)) wrong.push(...(await mismatch(route, values, stranger)))
      const own = await Promise.all(
        callers.map(async ({ name, options, expected }) => ({
          name,
          options: await options(route, headers),
          expected: expected(route),
        })),
      )
      const refused = own.filter(({ expected }) => typeof expected === 'number')
      const found = own.filter(({ expected }) => expected === 'found')
      const admitted = own.filter(({ expected }) => expected === 'admitted')
      wrong.push(...(await Promise.all(refused.map((cell) => mismatch(route, values, cell)))).flat())
      for (const cell of [...found, ...admitted]) wrong.push(...(await mismatch(route, values, cell)))
      if (needsSubscription(route)) {
        const inactive = {
          name: 'a key without a subscription',
          options: { key: inactiveKey },
          expected: 402,
        }
        wrong.push(...(await mismatch(route, values, inactive)))
      }
      expect(wrong).to.deep.equal([])
    })
  }

  it('takes both scopes where people, consents, tokens and tickets are listed', () => {
    const both = routes.filter(needsAllScopes).map((route) => `${route.path} ${scopesOf(route).join('+')}`)
    expect(both).to.have.members([
      '/console/api/people audit+kyc',
      '/console/api/consents audit+consent',
      '/console/api/tokens audit+token',
      '/console/api/tickets audit+token',
    ])
  })

  it('takes terminal tokens below /api/merchant, and for the list of circuits alone', () => {
    const open = routes.filter(({ auth }) => auth === 'merchant')
    expect(open.map(({ method, path }) => `${method} ${path}`)).to.have.members([
      'GET /api/circuits',
      'POST /api/merchant/payments/validate',
      'POST /api/merchant/transactions/sync',
    ])
  })

  it('has no exception for what does not exist', () => {
    const names = routes.map(({ name }) => name)
    for (const cell of EXCEPTIONS.keys()) expect(names).to.include(cell.split(': ')[0])
  })
})
