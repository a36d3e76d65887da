/** Ending sessions and changing passwords, through real servers. */
import { expect } from 'chai'
import type { SessionList } from '../../../src/domain/accounts/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import type { RequestOptions } from '../../support/client.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'

const NEW_PASSWORD = 'an even better battery'

type Headers = Readonly<Record<string, string>>

const me = async (app: TestApp, headers: Headers) =>
  (await app.request('GET', '/console/api/me', { headers })).status
const sessionsOf = async (app: TestApp, headers: Headers) =>
  (await app.request<SessionList>('GET', '/console/api/sessions', { headers })).body.sessions
const endSession = async (app: TestApp, headers: Headers, id: string) =>
  (await app.request('DELETE', `/console/api/sessions/${id}`, { headers })).status
const change = (app: TestApp, options: RequestOptions, currentPassword: string, newPassword = NEW_PASSWORD) =>
  app.request<{ error: string }>('PUT', '/console/api/password', {
    ...options,
    body: { currentPassword, newPassword },
  })

describe('sessions of an account', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  it('are listed newest first, each with its times, and say which of them asks', async () => {
    const account = await signUp(app)
    const first = await signIn(app, account)
    const second = await signIn(app, account)
    const listed = await sessionsOf(app, first.headers)
    expect(listed.map(({ current }) => current)).to.deep.equal([false, true])
    for (const { sessionId, createdAt, expiresAt } of listed) {
      expect(sessionId).to.match(/^ses_[0-9a-z]{26}$/)
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(12 * 3_600_000)
    }
    expect(JSON.stringify(listed)).to.not.contain(second.cookie.split('=')[1])
  })

  it('are ended one by one, by their account alone', async () => {
    const account = await signUp(app)
    const mine = await signIn(app, account)
    const lost = await signIn(app, account)
    const stranger = await signIn(app, await signUp(app))
    const other = (await sessionsOf(app, mine.headers)).find(({ current }) => !current)?.sessionId ?? ''
    expect(await endSession(app, stranger.headers, other)).to.equal(404)
    expect(await me(app, lost.headers)).to.equal(200)
    expect(await endSession(app, mine.headers, other)).to.equal(204)
    expect([await me(app, lost.headers), await me(app, mine.headers)]).to.deep.equal([401, 200])
    expect(await endSession(app, mine.headers, other)).to.equal(404)
    expect(await sessionsOf(app, mine.headers)).to.have.length(1)
  })

  it('tell what they were opened with, and when they were last seen', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { email, password } = await signUp(own)
      const open = (agent: string | undefined) =>
        own.request('POST', '/console/api/session', {
          body: { email, password },
          headers: { 'user-agent': agent },
        })
      await open('Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0')
      await open(undefined)
      const { headers } = await signIn(own, { email, password })
      const opened = new Date(now).toISOString()
      now += 59_999
      const seen = async () => (await sessionsOf(own, headers)).map(({ lastSeenAt }) => lastSeenAt)
      expect(await seen()).to.deep.equal([opened, opened, opened])
      now += 1_001
      await me(own, headers)
      expect(await seen()).to.deep.equal([new Date(now).toISOString(), opened, opened])
      const devices = (await sessionsOf(own, headers)).map(({ device }) => device)
      expect(devices.slice(1)).to.deep.equal([null, 'Firefox on Linux'])
    } finally {
      await own.close()
    }
  })

  it('are all ended at once but the one that asks', async () => {
    const account = await signUp(app)
    const mine = await signIn(app, account)
    const others = [await signIn(app, account), await signIn(app, account)]
    const stranger = await signIn(app, await signUp(app))
    const end = ({ headers }: { headers: Headers }) =>
      app.request('DELETE', '/console/api/sessions', { headers })
    expect((await end({ headers: { cookie: mine.cookie } })).status).to.equal(403)
    expect((await end(mine)).status).to.equal(204)
    for (const { headers } of others) expect(await me(app, headers)).to.equal(401)
    expect([await me(app, mine.headers), await me(app, stranger.headers)]).to.deep.equal([200, 200])
    expect((await end(mine)).status).to.equal(204)
  })

  it('are never one that the browser brought along: signing in makes a new one', async () => {
    const [victim, attacker] = [await signUp(app), await signUp(app)]
    const planted = await signIn(app, attacker)
    for (const cookie of [planted.cookie, `assay_session=${'A'.repeat(43)}`]) {
      const { headers } = await app.request('POST', '/console/api/session', {
        body: { email: victim.email, password: victim.password },
        headers: { cookie },
      })
      const given = headers.get('set-cookie')?.split(';', 1)[0] ?? ''
      expect(given).to.match(/^assay_session=[0-9A-Za-z]{43}$/)
      expect(given).to.not.equal(cookie)
      const { body } = await app.request<{ email?: string }>('GET', '/console/api/me', {
        headers: { cookie },
      })
      expect(body.email).to.not.equal(victim.email.toLowerCase())
    }
  })

  it('can be listed and ended, and their passwords changed, by nobody with a key', async () => {
    const { apiKey } = await app.organisation()
    for (const [method, path, body] of [
      ['GET', '/console/api/sessions', undefined],
      ['DELETE', '/console/api/sessions', undefined],
      ['DELETE', '/console/api/sessions/ses_x', undefined],
      ['PUT', '/console/api/password', { currentPassword: 'x', newPassword: NEW_PASSWORD }],
    ] as const) {
      const answer = await app.request<{ error: string }>(method, path, { key: apiKey, body })
      expect([answer.status, answer.body.error], path).to.deep.equal([403, 'insufficient_scope'])
    }
  })
})

describe('a change of password', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  it('holds from then on, and ends the other sessions of the account', async () => {
    const account = await signUp(app)
    const mine = await signIn(app, account)
    const other = await signIn(app, account)
    expect(await me(app, other.headers)).to.equal(200)
    const { status } = await change(app, { headers: mine.headers }, account.password)
    expect(status).to.equal(204)
    expect([await me(app, mine.headers), await me(app, other.headers)]).to.deep.equal([200, 401])
    expect((await signIn(app, account)).status).to.equal(401)
    expect((await signIn(app, { ...account, password: NEW_PASSWORD })).status).to.equal(201)
  })

  it('needs the current password, the CSRF token, and a new password that is long enough', async () => {
    const account = await signUp(app)
    const { headers, cookie } = await signIn(app, account)
    const wrong = await change(app, { headers }, `${account.password}!`)
    expect([wrong.status, wrong.body.error]).to.deep.equal([401, 'invalid_credentials'])
    const forged = await change(app, { headers: { cookie } }, account.password)
    expect([forged.status, forged.body.error]).to.deep.equal([403, 'csrf_required'])
    expect((await change(app, { headers }, account.password, 'too short')).status).to.equal(422)
    expect((await signIn(app, account)).status).to.equal(201)
  })

  it('is counted together with sign-in', async () => {
    const account = await signUp(app)
    const { headers: session } = await signIn(app, account)
    const headers = { ...session, 'x-forwarded-for': '198.51.100.90' }
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => change(app, { headers }, `wrong password ${i}`)),
    )
    expect(answers.filter(({ status }) => status === 401)).to.have.length(10)
    expect(answers.filter(({ status }) => status === 429)).to.have.length(20)
    expect((await change(app, { headers }, account.password)).status).to.equal(429)
    const { status } = await app.request('POST', '/console/api/session', {
      body: { email: account.email, password: account.password },
      headers: { 'x-forwarded-for': '198.51.100.90' },
    })
    expect(status).to.equal(429)
  })

  it('made twice at once is made once', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const chosen = ['the first new password', 'the second new password'] as const
    const answers = await Promise.all(
      chosen.map((password) => change(app, { headers }, account.password, password)),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, 401])
    const made = chosen[answers.findIndex(({ status }) => status === 204)] ?? ''
    expect((await signIn(app, { ...account, password: made })).status).to.equal(201)
  })

  it('leaves no session of the old password, however many sign in meanwhile', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const [changed, ...meanwhile] = await Promise.all([
      change(app, { headers }, account.password),
      ...Array.from({ length: 8 }, () => signIn(app, account)),
    ])
    expect(changed.status).to.equal(204)
    for (const session of meanwhile)
      if (session.status === 201) expect(await me(app, session.headers)).to.equal(401)
    expect(await sessionsOf(app, headers)).to.have.length(1)
  })
})
