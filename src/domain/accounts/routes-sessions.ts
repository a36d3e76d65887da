/** Routes of console sessions and their passwords. @module */
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { Services } from './routes.ts'
import { PasswordChange, SessionCreated, SessionList, SessionParams, SignIn } from './schemas.ts'

const tag = 'Console'

const createSession = route({
  name: 'createSession',
  method: 'POST',
  path: '/console/api/session',
  auth: 'none',
  tag,
  summary: 'Sign in',
  description:
    'Sets the session cookie, valid for 12 hours. After 10 wrong passwords in 15 minutes for one account from one address, or 100 for one account or from one address, the answer is 429 even if the password is right. An account with a second factor needs `code` as well: without one, a right password returns 401 `totp_required`.',
  body: SignIn,
  response: { 201: SessionCreated },
  queued: false,
  errors: ['invalid_credentials', 'totp_required', 'totp_invalid', 'rate_limited', 'unavailable'],
  example: { body: { email: '{email}', password: '{password}' } },
  handler: async ({ body, ip, headers, requestId }, { accounts }: Services) => {
    const userAgent = headers['user-agent']?.toString()
    const { csrfToken, setCookie } = await accounts.sessions.open(body, { ip, userAgent, requestId })
    return new Reply(201, { csrfToken }, { 'Set-Cookie': setCookie })
  },
})

const deleteSession = route({
  name: 'deleteSession',
  method: 'DELETE',
  path: '/console/api/session',
  auth: 'session',
  tag,
  summary: 'Sign out',
  response: { 204: null },
  errors: [],
  handler: async ({ caller }, { accounts: { sessions } }: Services) => {
    await sessions.end(caller, caller.credential.id)
    return new Reply(204, undefined, { 'Set-Cookie': sessions.removeCookie })
  },
})

const listSessions = route({
  name: 'listSessions',
  method: 'GET',
  path: '/console/api/sessions',
  auth: 'session',
  tag,
  summary: 'List the sessions of the account',
  description: 'Newest first.',
  response: { 200: SessionList },
  errors: [],
  handler: ({ caller }, { accounts }: Services) => accounts.sessions.list(caller),
})

const endOtherSessions = route({
  name: 'endOtherSessions',
  method: 'DELETE',
  path: '/console/api/sessions',
  auth: 'session',
  tag,
  summary: 'End all other sessions of the account',
  description: 'This session goes on. Takes effect on every server within a second.',
  response: { 204: null },
  errors: [],
  handler: ({ caller }, { accounts }: Services) => accounts.sessions.endOthers(caller),
})

const endSession = route({
  name: 'endSession',
  method: 'DELETE',
  path: '/console/api/sessions/{sessionId}',
  auth: 'session',
  tag,
  summary: 'End a session of the account',
  description: 'Takes effect on every server within a second.',
  params: SessionParams,
  response: { 204: null },
  errors: ['not_found'],
  handler: async ({ caller, params }, { accounts }: Services) => {
    if (!(await accounts.sessions.end(caller, params.sessionId))) fail('not_found')
  },
})

const changePassword = route({
  name: 'changePassword',
  method: 'PUT',
  path: '/console/api/password',
  auth: 'session',
  tag,
  summary: 'Change the password of the account',
  description:
    'Ends its other sessions, on every server within a second, unlinks it from identity providers, and deletes one-time codes that were set up and never confirmed. A wrong current password counts as a failed sign-in.',
  body: PasswordChange,
  response: { 204: null },
  queued: false,
  errors: ['invalid_credentials'],
  example: { body: { currentPassword: '{password}', newPassword: 'an even better battery' } },
  handler: ({ caller, body, ip }, { accounts }: Services) =>
    accounts.sessions.changePassword(caller, body, ip),
})

export const sessionRoutes = [
  createSession,
  deleteSession,
  listSessions,
  endOtherSessions,
  endSession,
  changePassword,
]
