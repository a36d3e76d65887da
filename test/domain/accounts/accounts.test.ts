/** Organisations, sign-up, sessions and merchants, through the real app. */
import { expect } from 'chai'
import type { KeyCreated, Me, MerchantList } from '../../../src/domain/accounts/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { newAccount, signIn, signUp } from '../../support/domain/accounts.ts'

interface Failure {
  error: string
  details?: { path: string }[]
}

describe('accounts', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const me = (options: Parameters<TestApp['request']>[2]) =>
    app.request<Me>('GET', '/console/api/me', options)

  describe('sign-up', () => {
    it('creates an organisation with a merchant, without a subscription', async () => {
      const account = await signUp(app)
      const { headers } = await signIn(app, account)
      expect((await me({ headers })).body).to.deep.include({
        organisationId: account.organisationId,
        organisation: 'Corner shop',
        merchantId: account.merchantId,
        subscription: 'inactive',
        email: account.email.toLowerCase(),
      })
    })

    it('grants 100 free proofs for 30 days, once', async () => {
      const { accountId, organisationId } = await signUp(app)
      const grants = await app.services.database.knex('free_proof_grants').where({ account: accountId })
      expect(grants).to.have.length(1)
      const [{ organisation, granted, created_at, expires_at }] = grants
      expect({ organisation, granted }).to.deep.equal({ organisation: organisationId, granted: 100 })
      expect(expires_at - created_at).to.equal(30 * 24 * 3_600_000)
    })

    it('takes an e-mail address once, however it is written and however many try at the same time', async () => {
      const account = newAccount()
      const writings = [account.email, account.email.toUpperCase(), account.email.toLowerCase()]
      const answers = await Promise.all(
        writings.map((email) =>
          app.request<Failure>('POST', '/console/api/accounts', { body: { ...account, email } }),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409])
      const refused = answers.filter(({ status }) => status === 409)
      for (const { body } of refused) expect(body.error).to.equal('email_taken')
      const accounts = await app.services.database
        .knex('accounts')
        .where({ email: account.email.toLowerCase() })
      expect(accounts).to.have.length(1)
    })

    it('refuses short passwords, malformed addresses and nameless organisations', async () => {
      for (const [field, value] of [
        ['password', 'short'],
        ['email', 'nobody'],
        ['organisation', ''],
        ['organisation', '   '],
      ] as const) {
        const { status, body } = await app.request<Failure>('POST', '/console/api/accounts', {
          body: { ...newAccount(), [field]: value },
        })
        expect(status).to.equal(422)
        expect(body.details?.[0]?.path).to.equal(`/${field}`)
      }
    })

    it('keeps neither password nor cookie in the clear', async () => {
      const account = await signUp(app)
      const { cookie } = await signIn(app, account)
      const { knex } = app.services.database
      const row = await knex('accounts').where({ id: account.accountId }).first()
      expect(row.password_hash).to.match(/^scrypt\$1024\$8\$1\$/)
      const sessions = await knex('sessions').where({ account: account.accountId })
      expect(sessions).to.have.length(1)
      expect(JSON.stringify(sessions)).to.not.contain(cookie.split('=')[1])
    })

    it('hashes a password at its full cost on a server that is not one of the tests', async () => {
      const server = await startTestApp({ isPasswordCostUsual: true })
      try {
        const { accountId } = await signUp(server)
        const row = await server.services.database.knex('accounts').where({ id: accountId }).first()
        expect(row.password_hash).to.match(/^scrypt\$32768\$8\$1\$/)
      } finally {
        await server.close()
      }
    })

    it('is limited per client address', async () => {
      const headers = { 'x-forwarded-for': '198.51.100.7' }
      const attempts = Array.from({ length: 21 }, () =>
        app.request('POST', '/console/api/accounts', { body: newAccount(), headers }),
      )
      const statuses = (await Promise.all(attempts)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 201)).to.have.length(20)
      expect(statuses.filter((status) => status === 429)).to.have.length(1)
    })
  })

  describe('sessions', () => {
    it('set a cookie that scripts and other sites can not use', async () => {
      const { status, setCookie } = await signIn(app, await signUp(app))
      expect(status).to.equal(201)
      expect(setCookie).to.match(
        /^assay_session=[0-9A-Za-z]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/,
      )
    })

    it('let read with the cookie, and write only with the CSRF token', async () => {
      const { cookie, headers, csrf } = await signIn(app, await signUp(app))
      expect((await me({ headers: { cookie } })).body.csrfToken).to.equal(csrf)
      const body = { name: 'Stall' }
      const write = (sent: Record<string, string>) =>
        app.request<Failure>('POST', '/console/api/merchants', { body, headers: sent })
      for (const token of [undefined, '', 'wrong', csrf.slice(1)]) {
        const { status, body: failure } = await write({
          cookie,
          ...(token !== undefined && { 'x-csrf-token': token }),
        })
        expect({ status, error: failure.error }).to.deep.equal({ status: 403, error: 'csrf_required' })
      }
      expect((await write(headers)).status).to.equal(201)
    })

    it("do not take another session's CSRF token", async () => {
      const mine = await signIn(app, await signUp(app))
      const other = await signIn(app, await signUp(app))
      const { status } = await app.request('POST', '/console/api/merchants', {
        body: { name: 'Stall' },
        headers: { cookie: mine.cookie, 'x-csrf-token': other.csrf },
      })
      expect(status).to.equal(403)
    })

    it('end at once when signed out, and the cookie is removed', async () => {
      const { headers } = await signIn(app, await signUp(app))
      const { status, headers: answer } = await app.request('DELETE', '/console/api/session', { headers })
      expect(status).to.equal(204)
      expect(answer.get('set-cookie')).to.match(/^assay_session=; .*Max-Age=0/)
      expect((await me({ headers })).status).to.equal(401)
    })

    it('can not be ended with a key', async () => {
      const { apiKey } = await app.organisation()
      expect((await app.request('DELETE', '/console/api/session', { key: apiKey })).status).to.equal(403)
    })

    it('may do everything but administer and reach private networks', async () => {
      const { headers } = await signIn(app, await signUp(app))
      const { scopes } = (await me({ headers })).body
      expect(scopes).to.include('keys')
      expect(scopes).to.not.include.members(['admin'])
      expect(scopes).to.not.include.members(['egress:private'])
      const admin = await app.request('POST', '/console/api/organisations', { body: { name: 'x' }, headers })
      expect(admin.status).to.equal(403)
    })

    it('answer a wrong password and an unknown address alike', async () => {
      const { email, password } = await signUp(app)
      const attempts = [
        { email, password: `${password}!` },
        { email: `nobody-${email}`, password },
      ]
      const bodies = await Promise.all(
        attempts.map(async (body) => {
          const answer = await app.request<Record<string, unknown>>('POST', '/console/api/session', { body })
          expect(answer.status).to.equal(401)
          return { ...answer.body, request_id: '' }
        }),
      )
      expect(bodies[0]).to.deep.equal(bodies[1])
      expect(bodies[0]).to.include({ error: 'invalid_credentials' })
    })

    it('refuse unknown and malformed cookies', async () => {
      for (const value of ['', 'x', 'A'.repeat(43), 'A'.repeat(400), 'ä']) {
        const { status } = await me({ headers: { cookie: `assay_session=${encodeURIComponent(value)}` } })
        expect(status).to.equal(401)
      }
    })

    it('end after 12 hours', async () => {
      let now = Date.now()
      const own = await startTestApp({ clock: { now: () => now } })
      try {
        const account = newAccount()
        await own.request('POST', '/console/api/accounts', { body: account })
        const { cookie } = await signIn(own, account)
        const status = async () =>
          (await own.request('GET', '/console/api/me', { headers: { cookie } })).status
        now += 12 * 3_600_000 - 1000
        expect(await status()).to.equal(200)
        now += 2000
        expect(await status()).to.equal(401)
        await signIn(own, account)
        expect(await own.services.database.knex('sessions')).to.have.length(1)
      } finally {
        await own.close()
      }
    })
  })

  describe('organisations', () => {
    it('are created by operators, with an active subscription and a first key that makes keys', async () => {
      const { organisationId, merchantId, apiKey } = await app.organisation()
      const { body } = await me({ key: apiKey })
      expect(body).to.include({ organisationId, merchantId, subscription: 'active' })
      expect(body.scopes).to.include('keys').and.not.include('admin')
    })

    it('are created by nobody else', async () => {
      const { apiKey } = await app.organisation()
      for (const path of ['/console/api/organisations', '/console/api/organisations/org_x']) {
        const method = path.endsWith('org_x') ? 'PATCH' : 'POST'
        const { status, body } = await app.request<Failure>(method, path, {
          key: apiKey,
          body: { name: 'x' },
        })
        expect({ status, error: body.error }).to.deep.equal({ status: 403, error: 'insufficient_scope' })
      }
    })

    it('have a subscription and a rate limit that operators change', async () => {
      const { organisationId, apiKey } = await app.organisation()
      const { status, body } = await app.request('PATCH', `/console/api/organisations/${organisationId}`, {
        key: app.adminKey,
        body: { subscription: 'inactive', rateLimitPerMinute: 7 },
      })
      expect(status).to.equal(200)
      expect(body).to.include({ organisationId, subscription: 'inactive', rateLimitPerMinute: 7 })
      // The old setting may live in the key's cache for a second.
      await new Promise((resolve) => setTimeout(resolve, 1050))
      const answer = await me({ key: apiKey })
      expect(answer.body).to.include({ subscription: 'inactive', rateLimitPerMinute: 7 })
      expect(answer.headers.get('x-ratelimit-limit')).to.equal('7')
    })

    it('leave no entry where a change changes nothing', async () => {
      const { organisationId } = await app.organisation()
      const { size } = await app.services.ledger.head()
      const change = { key: app.adminKey, body: {} }
      const { status, body } = await app.request(
        'PATCH',
        `/console/api/organisations/${organisationId}`,
        change,
      )
      expect(status).to.equal(200)
      expect(body).to.include({ organisationId, subscription: 'active' })
      expect((await app.services.ledger.head()).size).to.equal(size)
    })

    it('that do not exist are not found', async () => {
      const { status } = await app.request('PATCH', '/console/api/organisations/org_nowhere', {
        key: app.adminKey,
        body: { subscription: 'active' },
      })
      expect(status).to.equal(404)
    })
  })

  describe('merchants', () => {
    it('are listed with the default one, and never across organisations', async () => {
      const { apiKey, merchantId } = await app.organisation()
      const created = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
        key: apiKey,
        body: { name: 'Stall', limits: { floorLimit: 20 } },
      })
      expect(created.status).to.equal(201)
      const { body } = await app.request<{ merchants: object[] }>('GET', '/console/api/merchants', {
        key: apiKey,
      })
      expect(body.merchants).to.have.length(2)
      expect(body.merchants[0]).to.include({ merchantId, default: true })
      expect(body.merchants[1]).to.deep.include({
        merchantId: created.body.merchantId,
        default: false,
        limits: { floorLimit: 20 },
      })
      const { accounts } = app.services
      const stranger = await app.organisation()
      expect(await accounts.ownsMerchant(stranger.organisationId, merchantId)).to.equal(false)
    })

    it('have pages, and a key of the last one sees that one', async () => {
      const { apiKey, organisationId, merchantId } = await app.organisation()
      // More than a page has, as long as it can be.
      const { rows } = await app.services.database.knex.raw(
        `INSERT INTO merchants (id, organisation, name, limits, created_at)
          SELECT 'mer_7' || lpad(i::text, 25, '0'), ?, 'Stall ' || i, '{}', 1 FROM generate_series(1, 1000) AS i RETURNING id`,
        [organisationId],
      )
      const all = [merchantId, ...rows.map(({ id }: { id: string }) => id).sort()]
      const page = async (query: string, key = apiKey) => {
        const path = `/console/api/merchants${query}`
        const { merchants, nextCursor } = await ok<MerchantList>(app, 'GET', path, { key })
        return { ids: merchants.map((one) => one.merchantId), nextCursor }
      }
      expect(await page('')).to.deep.equal({ ids: all.slice(0, 1000), nextCursor: all[999] })
      expect(await page(`?limit=2&cursor=${all[997]}`)).to.deep.equal({
        ids: all.slice(998, 1000),
        nextCursor: all[999],
      })
      expect(await page(`?cursor=${all[999]}`)).to.deep.equal({ ids: all.slice(1000), nextCursor: null })
      const key = await ok<KeyCreated>(app, 'POST', '/console/api/keys', {
        key: apiKey,
        body: { label: 'stall' },
      })
      const keys = app.services.database.knex('api_keys').where({ id: key.keyId })
      await keys.update({ merchant: all[1000] })
      expect(await page('', key.apiKey)).to.deep.equal({ ids: all.slice(1000), nextCursor: null })
    })
  })
})
