/**
 * What each role may do: every route that a session opens, with a session of each role. What is expected is said here in
 * words of its own, and not read from the table of roles.
 */
import { expect } from 'chai'
import { ROLES, type Role } from '../../src/caller.ts'
import { type Route, scopesOf } from '../../src/http/route.ts'
import { routes } from '../../src/server/routes.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import type { RequestOptions } from '../support/client.ts'
import { signIn, signUp } from '../support/domain/accounts.ts'
import { addMember, openTeam } from '../support/domain/team.ts'
import { fill } from '../support/fixtures.ts'

const UNKNOWN_ID = 'xyz_00000000000000000000000000'
/** Needs scope `keys` of API keys, and is day-to-day work all the same. */
const OPERATORS_TOO = ['acceptPayment', 'rejectPayment']
/** Needs no scope and writes nothing of the organisation: they are about the member's own account. */
const OWN = [
  ...['deleteSession', 'endOtherSessions', 'endSession', 'changePassword'],
  ...['startIdentityLink', 'confirmIdentityLink', 'deleteIdentityLink'],
  ...['startTotp', 'confirmTotp', 'replaceRecoveryCodes', 'disableTotp'],
]

/** Whether a role may call a route. */
const may = (role: Role, route: Route): boolean => {
  const scopes = scopesOf(route)
  if (OWN.includes(route.name)) return true
  if (scopes.includes('admin')) return false
  if (OPERATORS_TOO.includes(route.name)) return role === 'owner' || role === 'operator'
  if (scopes.includes('keys')) return role === 'owner'
  if (route.method !== 'GET') return role === 'owner' || role === 'operator'
  return role !== 'viewer' || !scopes.includes('export')
}

describe('roles', () => {
  let app: TestApp
  const members = new Map<Role, Awaited<ReturnType<typeof signedIn>>>()
  const signedIn = async (owner: RequestOptions, role: Role) => {
    const account = await addMember(app, owner, role)
    return { account, headers: (await signIn(app, account)).headers }
  }
  before(async () => {
    app = await sharedApp()
    const { owner } = await openTeam(app)
    for (const role of ROLES) members.set(role, await signedIn(owner, role))
  })

  const call = async (route: Route, role: Role) => {
    const member = members.get(role) ?? expect.fail(role)
    const { headers } = member
    const { url, body } = fill(route, {})
    const path = url.replaceAll(/\{\w+\}|%7B\w+%7D/g, UNKNOWN_ID)
    const answer = await app.request<{ error?: string; message?: string } | undefined>(route.method, path, {
      headers,
      body,
    })
    // The route may have ended the session.
    if (route.auth === 'session')
      members.set(role, { ...member, headers: (await signIn(app, member.account)).headers })
    return answer
  }

  const reachable = routes.filter(({ auth }) => auth === 'console' || auth === 'session')

  it('are asked at every route that a session opens', () => {
    expect(reachable.length).to.be.greaterThan(40)
    for (const name of [...OPERATORS_TOO, ...OWN])
      expect(reachable.map((route) => route.name)).to.include(name)
  })

  for (const route of reachable)
    it(`${route.method} ${route.path}`, async () => {
      for (const role of ROLES) {
        const { status, body } = await call(route, role)
        const isRefused = status === 403 && body?.error === 'insufficient_scope'
        expect(isRefused, `${role}: ${status} ${body?.error}`).to.equal(!may(role, route))
        if (isRefused) expect(body?.message).to.equal(`The role "${role}" does not allow this.`)
      }
    })

  it('that nothing is known of may do nothing, not even read', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    for (const role of ['admin', '', 'constructor', '__proto__', 'Owner']) {
      await app.services.database.knex('accounts').where({ id: account.accountId }).update({ role })
      const session = await signIn(app, account)
      for (const [method, path] of [
        ['GET', '/console/api/me'],
        ['GET', '/console/api/sessions'],
        ['POST', '/console/api/merchants'],
      ] as const) {
        const { status, body } = await app.request<{ error: string }>(method, path, {
          headers: session.headers,
        })
        expect([status, body.error], role).to.deep.equal([403, 'insufficient_scope'])
      }
    }
    await app.services.database.knex('accounts').where({ id: account.accountId }).delete()
    expect((await app.request('GET', '/console/api/me', { headers: headers })).status).to.be.oneOf([401, 403])
  })
})
