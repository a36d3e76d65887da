/** One-time codes as a second factor, through real servers. The codes themselves are the library's. */
import { expect } from 'chai'
import type { RecoveryCodes, TotpState } from '../../../src/domain/accounts/totp/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { eventsOf, signIn, signUp } from '../../support/domain/accounts.ts'
import { codeOf, enableTotp, startTotp } from '../../support/domain/totp.ts'

type Headers = Readonly<Record<string, string>>

interface Refusal {
  readonly error?: string
  readonly message?: string
}

const WRONG = '000000'

const open = (
  app: TestApp,
  { email, password }: { email: string; password: string },
  code?: string,
  ip?: string,
) =>
  app.request<Refusal>('POST', '/console/api/session', {
    body: { email, password, code },
    headers: ip === undefined ? {} : { 'x-forwarded-for': ip },
  })
const told = ({ status, body }: { status: number; body: Refusal | undefined }) => [status, body?.error]
const post = <T = Refusal>(app: TestApp, headers: Headers, path: string, body: object) =>
  app.request<T>('POST', `/console/api/totp${path}`, { headers, body })
const stateOf = async (app: TestApp, headers: Headers) =>
  (await app.request<TotpState>('GET', '/console/api/totp', { headers })).body
const me = async (app: TestApp, headers: Headers) =>
  (await app.request('GET', '/console/api/me', { headers })).status

/** An account that is signed in and has a second factor. */
const protectedAccount = async (app: TestApp, now?: number) => {
  const account = await signUp(app)
  const { headers } = await signIn(app, account)
  return { account, headers, ...(await enableTotp(app, headers, account, now)) }
}

describe('a second factor', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  it('is asked for once it was confirmed, and only after the right password', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const { secret, uri, qr } = await startTotp(app, headers, account)
    expect(uri).to.match(/^otpauth:\/\/totp\/Assay%20127\.0\.0\.1:/)
    expect(new URL(uri).searchParams.get('secret')).to.equal(secret)
    expect(secret).to.match(/^[A-Z2-7]{32}$/)
    expect(qr).to.match(/^<svg /)
    expect((await open(app, account)).status, 'not confirmed yet').to.equal(201)
    expect(await stateOf(app, headers)).to.deep.equal({
      enabled: false,
      enabledAt: null,
      recoveryCodesLeft: 0,
    })
    const { body } = await post<RecoveryCodes>(app, headers, '/confirm', { code: codeOf({ secret }) })
    const next = codeOf({ secret }, 1)
    expect(new Set(body.recoveryCodes).size).to.equal(10)
    expect(await stateOf(app, headers)).to.include({ enabled: true, recoveryCodesLeft: 10 })
    expect(told(await open(app, account))).to.deep.equal([401, 'totp_required'])
    const stranger = { ...account, password: 'not the password' }
    for (const code of [undefined, WRONG, next])
      expect(told(await open(app, stranger, code))).to.deep.equal([401, 'invalid_credentials'])
    expect(told(await open(app, account, WRONG))).to.deep.equal([401, 'totp_invalid'])
    expect((await open(app, account, next)).status).to.equal(201)
  })

  it('that was begun with an old password can be confirmed no more', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const change = async (currentPassword: string, newPassword: string) => {
      const body = { currentPassword, newPassword }
      expect((await app.request('PUT', '/console/api/password', { headers, body })).status).to.equal(204)
    }
    const { secret } = await startTotp(app, headers, account)
    await change(account.password, 'a better battery')
    const answer = await post(app, headers, '/confirm', { code: codeOf({ secret }) })
    expect(told(answer)).to.deep.equal([409, 'conflict'])
    await enableTotp(app, headers, { password: 'a better battery' })
    await change('a better battery', 'the best battery')
    expect(await stateOf(app, headers), 'one that was confirmed stays').to.include({ enabled: true })
  })

  it('is kept sealed, and its recovery codes as digests', async () => {
    const { account, secret, recoveryCodes } = await protectedAccount(app)
    const { knex } = app.services.database
    const kept = JSON.stringify([
      await knex('account_totp').where({ account: account.accountId }),
      await knex('recovery_codes').where({ account: account.accountId }),
      await eventsOf(app, account.organisationId),
    ])
    for (const text of [secret, ...recoveryCodes]) {
      expect(kept).to.not.include(text)
      expect(kept).to.not.include(JSON.stringify(Buffer.from(text)).slice(1, -1))
    }
  })

  it('takes each code once, of ten at once as well', async () => {
    const { account, nextCode: code } = await protectedAccount(app)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => open(app, account, code, `198.51.100.${i}`)),
    )
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    expect(
      new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.error)),
    ).to.deep.equal(new Set(['totp_invalid']))
  })

  it('does not take the code again that confirmed it', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const { secret } = await startTotp(app, headers, account)
    const code = codeOf({ secret })
    expect((await post(app, headers, '/confirm', { code })).status).to.equal(200)
    expect(told(await open(app, account, code))).to.deep.equal([401, 'totp_invalid'])
  })

  it('takes codes of one step before and after, whatever stands between their digits', async () => {
    let now = Date.parse('2026-03-01T12:00:00Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { account, secret } = await protectedAccount(own, now)
      now += 600_000
      const status = async (steps: number) =>
        (await open(own, account, codeOf({ secret }, steps, now))).status
      expect(await status(-2)).to.equal(401)
      expect(await status(2)).to.equal(401)
      expect(await status(-1)).to.equal(201)
      const used = await open(own, account, codeOf({ secret }, -1, now))
      expect(told(used)).to.deep.equal([401, 'totp_invalid'])
      expect(await status(1)).to.equal(201)
      expect(await status(0), 'one before the last').to.equal(401)
      now += 30_000 * 5
      const code = codeOf({ secret }, 1, now)
      expect((await open(own, account, `${code.slice(0, 3)} ${code.slice(3)}`)).status).to.equal(201)
      now -= 30_000
      expect(await status(1), 'a clock that was set back makes no used code good again').to.equal(401)
    } finally {
      await own.close()
    }
  })

  it('lets recovery codes in, each once, written as one likes', async () => {
    const { account, headers, recoveryCodes } = await protectedAccount(app)
    const [first = '', second = ''] = recoveryCodes
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, i) => open(app, account, first, `198.51.100.${i}`)),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 401, 401, 401])
    expect((await open(app, account, second.toLowerCase().replaceAll('-', ' '))).status).to.equal(201)
    expect(await stateOf(app, headers)).to.include({ recoveryCodesLeft: 8 })
    const other = await protectedAccount(app)
    expect(told(await open(app, other.account, recoveryCodes[2]))).to.deep.equal([401, 'totp_invalid'])
  })

  it('brakes guesses: 10 for an address, 20 for the account, and raises an alert', async () => {
    const { account, nextCode } = await protectedAccount(app)
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () => open(app, account, WRONG, '198.51.100.7')),
    )
    expect(guesses.filter(({ status }) => status === 401)).to.have.length(10)
    expect(guesses.filter(({ status }) => status === 429)).to.have.length(20)
    expect((await open(app, account, nextCode, '198.51.100.7')).status, 'right').to.equal(429)
    for (let i = 0; i < 10; i++) await open(app, account, WRONG, `198.51.101.${i}`)
    expect((await open(app, account, nextCode, '198.51.102.1')).status, 'elsewhere').to.equal(429)
    await app.services.security.close()
    const { alerts } = await app.services.security.list(account.organisationId, {})
    expect(alerts.map(({ type, subject }) => [type, subject])).to.deep.equal([
      ['auth_bruteforce', account.accountId],
    ])
  })

  it('ends the other sessions when it is switched on, and when it is switched off', async () => {
    const account = await signUp(app)
    const [mine, lost] = [await signIn(app, account), await signIn(app, account)]
    const { nextCode, recoveryCodes } = await enableTotp(app, mine.headers, account)
    expect([await me(app, mine.headers), await me(app, lost.headers)]).to.deep.equal([200, 401])
    const again = await open(app, account, nextCode)
    const cookie = again.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    expect(await me(app, { cookie })).to.equal(200)
    const body = { password: account.password, code: recoveryCodes[0] }
    expect((await post(app, mine.headers, '/disable', body)).status).to.equal(204)
    expect([await me(app, mine.headers), await me(app, { cookie })]).to.deep.equal([200, 401])
    expect((await open(app, account)).status).to.equal(201)
    const events = (await eventsOf(app, account.organisationId)).map(({ event }) => event)
    expect(events).to.include.members(['totp.started', 'totp.enabled', 'totp.disabled'])
    const opened = (await eventsOf(app, account.organisationId)).filter(
      ({ event }) => event === 'session.opened',
    )
    expect(opened.map(({ factor }) => factor)).to.deep.equal([undefined, undefined, 'totp', undefined])
  })

  it('is switched off, and gets new recovery codes, by password and code alone', async () => {
    const { account, headers, nextCode, recoveryCodes } = await protectedAccount(app)
    const { password } = account
    for (const path of ['/disable', '/recovery-codes']) {
      const wrong = { password: 'not the password', code: nextCode }
      expect(told(await post(app, headers, path, wrong))).to.deep.equal([401, 'invalid_credentials'])
      expect(told(await post(app, headers, path, { password, code: WRONG }))).to.deep.equal([
        401,
        'totp_invalid',
      ])
      expect((await post(app, headers, path, { password })).status).to.equal(422)
    }
    const { body } = await post<RecoveryCodes>(app, headers, '/recovery-codes', {
      password,
      code: nextCode,
    })
    expect(body.recoveryCodes).to.have.length(10)
    expect(told(await open(app, account, recoveryCodes[0]))).to.deep.equal([401, 'totp_invalid'])
    expect((await open(app, account, body.recoveryCodes[0])).status).to.equal(201)
  })

  it('is set up with the password, replaced until it is confirmed, and not set up twice', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const wrong = await post(app, headers, '', { password: 'not the password' })
    expect(told(wrong)).to.deep.equal([401, 'invalid_credentials'])
    for (const [path, body] of [
      ['/confirm', { code: WRONG }],
      ['/disable', { password: account.password, code: WRONG }],
      ['/recovery-codes', { password: account.password, code: WRONG }],
    ] as const)
      expect(told(await post(app, headers, path, body)), path).to.deep.equal([409, 'conflict'])
    const first = await startTotp(app, headers, account)
    const second = await startTotp(app, headers, account)
    expect(told(await post(app, headers, '/confirm', { code: codeOf(first) }))).to.deep.equal([
      401,
      'totp_invalid',
    ])
    expect((await post(app, headers, '/confirm', { code: codeOf(second) })).status).to.equal(200)
    const { password } = account
    expect(told(await post(app, headers, '', { password }))).to.deep.equal([409, 'conflict'])
    expect(told(await post(app, headers, '/confirm', { code: codeOf(second, 1) }))).to.deep.equal([
      409,
      'conflict',
    ])
  })

  it('opens no session without a code that was asked for before it was switched on', async () => {
    const account = await signUp(app)
    const { headers } = await signIn(app, account)
    const { secret } = await startTotp(app, headers, account)
    const [, ...meanwhile] = await Promise.all([
      post(app, headers, '/confirm', { code: codeOf({ secret }) }),
      ...Array.from({ length: 6 }, () => open(app, account)),
    ])
    for (const { status, headers: answered } of meanwhile) {
      const cookie = answered.get('set-cookie')?.split(';', 1)[0] ?? ''
      if (status === 201) expect(await me(app, { cookie })).to.equal(401)
    }
  })

  it('goes with its account', async () => {
    const { account } = await protectedAccount(app)
    const { knex } = app.services.database
    await knex('accounts').where({ id: account.accountId }).delete()
    for (const table of ['account_totp', 'recovery_codes'])
      expect(await knex(table).where({ account: account.accountId })).to.deep.equal([])
  })
})
