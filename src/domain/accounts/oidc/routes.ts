/** Routes of signing in with an identity provider. @module */
import { Reply, route } from '../../../http/route.ts'
import { SessionCreated } from '../schemas.ts'
import { FlowStarted, Link, NewLink, ProviderInfo, Returned } from './schemas.ts'
import type { Oidc } from './service.ts'

interface Services {
  readonly accounts: { readonly oidc: Oidc }
}

const tag = 'Console'
const path = '/console/api/oidc'
/** What can go wrong once the browser is back. */
const RETURNING = [
  'sign_in_not_configured',
  'sign_in_expired',
  'sign_in_refused',
  'identity_provider_failed',
] as const
const ONCE =
  'It must come from the browser that began, within 10 minutes, and works once: otherwise the answer is 400 `sign_in_expired`.'
const example = { body: { query: '?code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj' } }

const getProvider = route({
  name: 'getIdentityProvider',
  method: 'GET',
  path,
  auth: 'none',
  tag,
  summary: 'Tell whether there is an identity provider to sign in with',
  response: { 200: ProviderInfo },
  errors: [],
  handler: (_, { accounts }: Services) => ({ name: accounts.oidc.name }),
})

const startSignIn = route({
  name: 'startProviderSignIn',
  method: 'POST',
  path,
  auth: 'none',
  tag,
  summary: 'Start signing in with the identity provider',
  description:
    'Sets a cookie that binds the sign-in to the browser, and returns the address at the provider (OpenID Connect, code flow with PKCE). 60 in 15 minutes from one address.',
  response: { 201: FlowStarted },
  errors: ['sign_in_not_configured', 'identity_provider_failed', 'rate_limited'],
  handler: async ({ ip }, { accounts }: Services) => {
    const { url, setCookie } = await accounts.oidc.start(ip)
    return new Reply(201, { url }, { 'Set-Cookie': setCookie })
  },
})

const finishSignIn = route({
  name: 'finishProviderSignIn',
  method: 'POST',
  path: `${path}/session`,
  auth: 'none',
  tag,
  summary: 'Sign in with what the identity provider answered',
  description: `Sets the session cookie, as signing in with a password does. The account is the one that the identity was linked to. ${ONCE}`,
  body: Returned,
  response: { 201: SessionCreated },
  errors: [...RETURNING, 'identity_unknown'],
  example,
  handler: async ({ body, ip, headers, requestId }, { accounts }: Services) => {
    const userAgent = headers['user-agent']?.toString()
    const cookie = headers.cookie?.toString()
    const visitor = { ip, userAgent, requestId }
    const { csrfToken, setCookie } = await accounts.oidc.signIn(body.query, cookie, visitor)
    return new Reply(201, { csrfToken }, { 'Set-Cookie': setCookie })
  },
})

const getLink = route({
  name: 'getIdentityLink',
  method: 'GET',
  path: `${path}/link`,
  auth: 'session',
  tag,
  summary: 'Tell whether the account is linked to an identity',
  response: { 200: Link },
  errors: [],
  handler: ({ caller }, { accounts }: Services) => accounts.oidc.link(caller),
})

const startLink = route({
  name: 'startIdentityLink',
  method: 'POST',
  path: `${path}/link`,
  auth: 'session',
  tag,
  summary: 'Start linking the account to an identity',
  description:
    'Takes the password, and a code where signing in takes one. Sets a cookie, as signing in does.',
  body: NewLink,
  response: { 201: FlowStarted },
  errors: [
    'sign_in_not_configured',
    'identity_provider_failed',
    'conflict',
    'invalid_credentials',
    'totp_required',
    'totp_invalid',
    'unavailable',
  ],
  example: { body: { password: '{password}' } },
  handler: async ({ caller, body, ip }, { accounts }: Services) => {
    const { url, setCookie } = await accounts.oidc.startLink(caller, body, ip)
    return new Reply(201, { url }, { 'Set-Cookie': setCookie })
  },
})

const confirmLink = route({
  name: 'confirmIdentityLink',
  method: 'POST',
  path: `${path}/link/confirm`,
  auth: 'session',
  tag,
  summary: 'Link the account to the identity that the provider answered',
  description: `By the session that began. ${ONCE}`,
  body: Returned,
  response: { 200: Link },
  errors: [...RETURNING, 'conflict'],
  example,
  handler: ({ caller, body, headers }, { accounts }: Services) =>
    accounts.oidc.confirmLink(caller, body.query, headers.cookie?.toString()),
})

const deleteLink = route({
  name: 'deleteIdentityLink',
  method: 'DELETE',
  path: `${path}/link`,
  auth: 'session',
  tag,
  summary: 'Unlink the account from its identity',
  description: 'Sessions that are open stay so.',
  response: { 204: null },
  errors: ['not_found'],
  handler: ({ caller }, { accounts }: Services) => accounts.oidc.unlink(caller),
})

export const oidcRoutes = [
  getProvider,
  startSignIn,
  finishSignIn,
  getLink,
  startLink,
  confirmLink,
  deleteLink,
]
