/** Signing in with an identity provider: a real one, over HTTP. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { eventsOf, signIn, signUp } from '../../support/domain/accounts.ts'
import { enableTotp } from '../../support/domain/totp.ts'
import {
  type IdentityProvider,
  passThrough,
  startIdentityProvider,
} from '../../support/servers/identity-provider.ts'
import { freePort } from '../../support/servers/server-process.ts'

type Headers = Readonly<Record<string, string>>

interface Answer {
  readonly error?: string
  readonly url?: string
  readonly name?: string | null
  readonly linkedAt?: string | null
}

const OIDC = '/console/api/oidc'
const cookieOf = (headers: globalThis.Headers): string => headers.get('set-cookie')?.split(';', 1)[0] ?? ''

describe('an identity provider', function () {
  this.timeout(120_000)
  let app: TestApp
  let provider: IdentityProvider
  let now = Date.now()
  let whileItAnswers: () => Promise<unknown> = async () => undefined

  before(async () => {
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    provider = await startIdentityProvider(baseUrl, { onToken: () => whileItAnswers() })
    app = await startTestApp({
      env: { ...provider.env, PORT: String(port), BASE_URL: baseUrl },
      clock: { now: () => now },
    })
  })
  beforeEach(() => {
    now = Math.max(now, Date.now())
    whileItAnswers = async () => undefined
  })
  after(async () => {
    await app?.close()
    await provider?.close()
  })

  const told = ({ status, body }: { status: number; body?: Answer }) => [status, body?.error]
  const start = async (path = '', options: object = {}) => {
    const { status, headers, body } = await app.request<Answer>('POST', OIDC + path, options)
    expect(status).to.equal(201)
    return { url: body.url ?? '', cookie: cookieOf(headers), setCookie: headers.get('set-cookie') ?? '' }
  }
  const finish = (cookie: string, query: string) =>
    app.request<Answer>('POST', `${OIDC}/session`, { headers: { cookie }, body: { query } })
  const confirm = (session: { cookie: string; csrf: string }, cookie: string, query: string) =>
    app.request<Answer>('POST', `${OIDC}/link/confirm`, {
      headers: { cookie: `${session.cookie}; ${cookie}`, 'x-csrf-token': session.csrf },
      body: { query },
    })
  const startLink = (session: { headers: Headers }, body: object) =>
    start('/link', { headers: session.headers, body })
  const linkedAccount = async (login: string) => {
    const account = await signUp(app)
    const session = await signIn(app, account)
    const { url, cookie } = await startLink(session, account.password ? { password: account.password } : {})
    expect((await confirm(session, cookie, await passThrough(url, login))).status).to.equal(200)
    return { account, session }
  }
  const emailOf = async (cookie: string) =>
    (await app.request<{ email?: string }>('GET', '/console/api/me', { headers: { cookie } })).body.email

  it('signs in whoever linked it, as often as they like, with a new session each time', async () => {
    const { account, session } = await linkedAccount('ada')
    expect((await app.request<Answer>('GET', OIDC)).body).to.deep.equal({ name: 'Example' })
    const link = await app.request<Answer>('GET', `${OIDC}/link`, { headers: session.headers })
    expect(link.body.linkedAt).to.be.a('string')
    const sessions = new Set<string>()
    for (let i = 0; i < 2; i++) {
      const { url, cookie, setCookie } = await start()
      expect(setCookie).to.match(/; Path=\/console\/api\/oidc; Max-Age=600; HttpOnly; SameSite=Strict$/)
      const asked = new URL(url).searchParams
      expect(asked.get('redirect_uri')).to.equal(`${app.url}/console/oidc`)
      expect(asked.get('code_challenge_method')).to.equal('S256')
      for (const name of ['state', 'nonce', 'code_challenge'])
        expect(asked.get(name), name).to.match(/^[\w-]{43}$/)
      const answer = await finish(cookie, await passThrough(url, 'ada'))
      expect(answer.status).to.equal(201)
      expect(await emailOf(cookieOf(answer.headers))).to.equal(account.email.toLowerCase())
      sessions.add(cookieOf(answer.headers))
    }
    expect(sessions.size).to.equal(2)
  })

  it('opens no account that is not linked to it, whatever else they have in common', async () => {
    const account = await signUp(app)
    const { url, cookie } = await start()
    const answer = await finish(cookie, await passThrough(url, account.email.toLowerCase()))
    expect(told(answer)).to.deep.equal([403, 'identity_unknown'])
    expect(answer.headers.get('set-cookie')).to.equal(null)
  })

  it('opens it no more once the password was changed, or one-time codes are asked for', async () => {
    const changes = [
      async ({ account, session }: Awaited<ReturnType<typeof linkedAccount>>) => {
        const body = { currentPassword: account.password, newPassword: `${account.password}!` }
        const { headers } = session
        expect((await app.request('PUT', '/console/api/password', { headers, body })).status).to.equal(204)
      },
      async ({ account, session }: Awaited<ReturnType<typeof linkedAccount>>) => {
        await enableTotp(app, session.headers, account, now)
      },
    ]
    for (const [index, change] of changes.entries()) {
      const login = `thief-${index}`
      const linked = await linkedAccount(login)
      const begun = await start()
      const query = await passThrough(begun.url, login)
      await change(linked)
      expect(told(await finish(begun.cookie, query))).to.deep.equal([403, 'identity_unknown'])
      const link = await app.request<Answer>('GET', `${OIDC}/link`, { headers: linked.session.headers })
      expect(link.body.linkedAt).to.equal(null)
    }
  })

  it('is not linked by a session that ended while the provider answered', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const change = { currentPassword: account.password, newPassword: 'a better battery' }
    const ends = [
      ['PUT', '/console/api/password', change.currentPassword, change],
      ['DELETE', '/console/api/sessions', change.newPassword, undefined],
    ] as const
    for (const [method, path, password, body] of ends) {
      const session = await signIn(app, { ...account, password })
      const { url, cookie } = await startLink(session, { password })
      const query = await passThrough(url, `late ${method}`)
      whileItAnswers = async () =>
        expect((await app.request(method, path, { headers, body })).status, path).to.equal(204)
      expect(told(await confirm(session, cookie, query)), path).to.deep.equal([401, 'unauthorized'])
      whileItAnswers = async () => undefined
      const link = await app.request<Answer>('GET', `${OIDC}/link`, { headers })
      expect(link.body.linkedAt, path).to.equal(null)
      const begun = await start()
      const answer = await finish(begun.cookie, await passThrough(begun.url, `late ${method}`))
      expect(told(answer), path).to.deep.equal([403, 'identity_unknown'])
    }
  })

  it('is linked with a recovery code, of which the log tells', async () => {
    const account = await signUp(app)
    const session = await signIn(app, account)
    const { recoveryCodes } = await enableTotp(app, session.headers, account, now)
    await startLink(session, { password: account.password, code: recoveryCodes[0] })
    const [last] = (await eventsOf(app, account.organisationId)).slice(-1)
    expect(last).to.include({ event: 'identity.link_started', factor: 'recovery_code' })
  })

  it('answers the browser that began, once, and within ten minutes', async () => {
    await linkedAccount('grace')
    const mine = await start()
    const other = await start()
    const query = await passThrough(mine.url, 'grace')
    for (const cookie of ['', 'assay_oidc=x', other.cookie])
      expect(told(await finish(cookie, query)), cookie).to.deep.equal([400, 'sign_in_expired'])
    const answers = await Promise.all([finish(mine.cookie, query), finish(mine.cookie, query)])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 400])
    const late = await start()
    const lateQuery = await passThrough(late.url, 'grace')
    now += 10 * 60_000 + 1
    expect(told(await finish(late.cookie, lateQuery))).to.deep.equal([400, 'sign_in_expired'])
  })

  it('is not believed without its code, with a foreign one, or when it names another issuer', async () => {
    await linkedAccount('eve')
    const changed: ((query: URLSearchParams) => void)[] = [
      (query) => query.delete('code'),
      (query) => query.set('code', 'SplxlOBeZQQYbYS6WxSbIA'),
      (query) => query.set('iss', 'https://evil.example'),
    ]
    for (const change of changed) {
      const { url, cookie } = await start()
      const query = new URLSearchParams(await passThrough(url, 'eve'))
      change(query)
      expect(told(await finish(cookie, `?${query}`))).to.deep.equal([502, 'identity_provider_failed'])
    }
    // A code that was issued for another browser's verifier and nonce, under the state of this one.
    const [mine, theirs] = [await start(), await start()]
    const stolen = new URLSearchParams(await passThrough(theirs.url, 'eve'))
    stolen.set('state', new URL(mine.url).searchParams.get('state') ?? '')
    expect(told(await finish(mine.cookie, `?${stolen}`))).to.deep.equal([502, 'identity_provider_failed'])
  })

  it('is nobody under a subject longer than OpenID Connect allows', async () => {
    for (const [length, expected] of [
      [255, 'identity_unknown'],
      [256, 'identity_provider_failed'],
    ] as const) {
      const { url, cookie } = await start()
      const [, error] = told(await finish(cookie, await passThrough(url, 'x'.repeat(length))))
      expect(error, String(length)).to.equal(expected)
    }
  })

  it('is not believed when another key than its own signed the ID token', async () => {
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    const forger = await startIdentityProvider(baseUrl, { isForged: true })
    const own = await startTestApp({ env: { ...forger.env, PORT: String(port), BASE_URL: baseUrl } })
    try {
      const { headers, body } = await own.request<Answer>('POST', OIDC)
      const query = await passThrough(body.url ?? '', 'ada')
      const answer = await own.request<Answer>('POST', `${OIDC}/session`, {
        headers: { cookie: cookieOf(headers) },
        body: { query },
      })
      expect(told(answer)).to.deep.equal([502, 'identity_provider_failed'])
    } finally {
      await own.close()
      await forger.close()
    }
  })

  it('says so when the provider signs nobody in', async () => {
    const { url, cookie } = await start()
    const answer = await finish(cookie, await passThrough(url, 'ada', { denies: true }))
    expect(told(answer)).to.deep.equal([403, 'sign_in_refused'])
  })

  it('is linked with what signing in takes, by the session that began', async () => {
    const account = await signUp(app)
    const session = await signIn(app, account)
    const { nextCode } = await enableTotp(app, session.headers, account, now)
    const { password } = account
    for (const [body, expected] of [
      [{ password: 'not the password' }, 'invalid_credentials'],
      [{ password }, 'totp_required'],
      [{ password, code: '000000' }, 'totp_invalid'],
    ] as const) {
      const answer = await app.request<Answer>('POST', `${OIDC}/link`, { headers: session.headers, body })
      expect(told(answer)).to.deep.equal([401, expected])
    }
    const begun = await startLink(session, { password, code: nextCode })
    const query = await passThrough(begun.url, 'linus')
    const stranger = await signIn(app, await signUp(app))
    expect(told(await confirm(stranger, begun.cookie, query))).to.deep.equal([400, 'sign_in_expired'])
    expect(told(await confirm(session, begun.cookie, query)), 'it was used').to.deep.equal([
      400,
      'sign_in_expired',
    ])
  })

  it('is linked although the answer that began it was lost, when it is asked for again under the same key', async () => {
    const account = await signUp(app)
    const body = { password: account.password }
    const begin = async () => {
      const session = await signIn(app, account)
      const headers = { ...session.headers, 'idempotency-key': 'begin-to-link' }
      return { session, ...(await start('/link', { headers, body })) }
    }
    await begin()
    const { session, url, cookie } = await begin()
    expect(cookie).to.not.equal('')
    expect((await confirm(session, cookie, await passThrough(url, 'hedy'))).status).to.equal(200)
  })

  it('neither signs in with a link that was begun, nor links with a sign-in', async () => {
    const account = await signUp(app)
    const session = await signIn(app, account)
    const link = await startLink(session, { password: account.password })
    const linkQuery = await passThrough(link.url, 'mallory')
    expect(told(await finish(link.cookie, linkQuery))).to.deep.equal([400, 'sign_in_expired'])
    const begun = await start()
    const query = await passThrough(begun.url, 'mallory')
    expect(told(await confirm(session, begun.cookie, query))).to.deep.equal([400, 'sign_in_expired'])
  })

  it('is linked to one account, which has one of it; unlinked it opens nothing', async () => {
    const { account, session } = await linkedAccount('barbara')
    const again = await app.request<Answer>('POST', `${OIDC}/link`, {
      headers: session.headers,
      body: { password: account.password },
    })
    expect(told(again)).to.deep.equal([409, 'conflict'])
    const other = await signUp(app)
    const theirs = await signIn(app, other)
    const begun = await startLink(theirs, { password: other.password })
    const query = await passThrough(begun.url, 'barbara')
    expect(told(await confirm(theirs, begun.cookie, query))).to.deep.equal([409, 'conflict'])
    const unlink = () => app.request<Answer>('DELETE', `${OIDC}/link`, { headers: session.headers })
    const meanwhile = await start()
    const signInQuery = await passThrough(meanwhile.url, 'barbara')
    expect((await unlink()).status).to.equal(204)
    expect((await unlink()).status).to.equal(404)
    expect(told(await finish(meanwhile.cookie, signInQuery))).to.deep.equal([403, 'identity_unknown'])
  })

  it('that does not answer is 502, and signing in by password goes on', async () => {
    const gone = await startTestApp({
      env: { ...provider.env, OIDC_ISSUER: `http://127.0.0.1:${await freePort()}` },
    })
    try {
      expect(told(await gone.request<Answer>('POST', OIDC))).to.deep.equal([502, 'identity_provider_failed'])
      expect((await signIn(gone, await signUp(gone))).status).to.equal(201)
    } finally {
      await gone.close()
    }
  })

  it('is not offered where there is none', async () => {
    const none = await startTestApp()
    try {
      expect((await none.request<Answer>('GET', OIDC)).body).to.deep.equal({ name: null })
      expect(told(await none.request<Answer>('POST', OIDC))).to.deep.equal([501, 'sign_in_not_configured'])
    } finally {
      await none.close()
    }
  })
})
