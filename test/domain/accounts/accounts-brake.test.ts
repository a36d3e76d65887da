/** The brake on guessing passwords, through real servers. */
import { createHook } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { loadConfig } from '../../../src/config/config.ts'
import { startServer } from '../../../src/server/server.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { clientOf } from '../../support/client.ts'
import { newAccount, signUp, spendBudget } from '../../support/domain/accounts.ts'
import { createScratchDatabase } from '../../support/servers/scratch-database.ts'

interface Failure {
  error: string
  message: string
}

/** How many passwords are hashed, in the whole process, while something runs. */
const timesHashed = async (run: () => Promise<unknown>): Promise<number> => {
  let count = 0
  const hook = createHook({ init: (_id, type) => void (type === 'SCRYPTREQUEST' && count++) }).enable()
  await run()
  hook.disable()
  return count
}

describe('the brake on guessing passwords', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const guess = (email: string, ip: string, password = 'wrong password') =>
    app.request<Failure & { retry_after?: number }>('POST', '/console/api/session', {
      body: { email, password },
      headers: { 'x-forwarded-for': ip },
    })

  it('stops after 10 failures for an account and an address, also the right password, and raises one alert', async () => {
    const { email, password, accountId, organisationId } = await signUp(app)
    for (let i = 0; i < 10; i++) expect((await guess(email, '192.0.2.1')).status).to.equal(401)
    const { status, headers, body } = await guess(email, '192.0.2.1', password)
    expect(status).to.equal(429)
    expect(body.error).to.equal('rate_limited')
    expect(Number(headers.get('retry-after')))
      .to.equal(body.retry_after)
      .and.be.within(1, 900)
    await guess(email, '192.0.2.1')
    await app.services.security.close()
    const { alerts } = await app.services.security.list(organisationId, {})
    expect(alerts).to.have.length(1)
    expect(alerts[0]).to.include({ type: 'auth_bruteforce', subject: accountId, severity: 'medium' })
    // Neither somebody else behind that address, nor the same person elsewhere.
    const neighbour = await signUp(app)
    expect((await guess(neighbour.email, '192.0.2.1', neighbour.password)).status).to.equal(201)
    expect((await guess(email, '192.0.2.2', password)).status).to.equal(201)
  })

  it('tests 10 of 60 guesses that are sent at once', async () => {
    const { email } = await signUp(app)
    const answers = await Promise.all(Array.from({ length: 60 }, () => guess(email, '198.51.100.59')))
    expect(answers.filter(({ status }) => status === 401)).to.have.length(10)
    const refused = answers.filter(({ status }) => status === 429).map(({ body }) => body)
    expect(refused).to.have.length(50)
    expect(new Set(refused.map(({ error, message }) => `${error} ${message}`)).size).to.equal(1)
  })

  it('tells nothing about the guesses that it refuses: the right one is refused like the others', async () => {
    const { email, password } = await signUp(app)
    for (let i = 0; i < 10; i++) await guess(email, '198.51.100.60')
    const sent = [...Array.from({ length: 59 }, (_, i) => `wrong password ${i}`), password]
    const answers = await Promise.all(sent.map((each) => guess(email, '198.51.100.60', each)))
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([429]))
  })

  it('does not even hash what it refuses', async () => {
    const { email } = await signUp(app)
    for (let i = 0; i < 10; i++) await guess(email, '198.51.100.61')
    const hashed = await timesHashed(() => guess(email, '198.51.100.61'))
    expect(hashed).to.equal(0)
    expect(await timesHashed(() => guess(email, '198.51.100.62')), 'and is seen when it does').to.equal(1)
  })

  it('counts an account that does not exist like one that does', async () => {
    const email = `${randomBytes(6).toString('hex')}@nowhere.example`
    const answers = await Promise.all(Array.from({ length: 14 }, () => guess(email, '198.51.100.63')))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([
      ...Array(10).fill(401),
      ...Array(4).fill(429),
    ])
  })

  it('stops after 100 failures for an account, from however many addresses', async () => {
    const { email, password } = await signUp(app)
    await spendBudget(app, `account:${createHash('sha256').update(email.toLowerCase()).digest('hex')}`, 99)
    expect((await guess(email, '198.18.0.1')).status).to.equal(401)
    const refused = await guess(email, '198.18.0.2', password)
    expect(refused.status).to.equal(429)
    const neighbour = await signUp(app)
    expect((await guess(neighbour.email, '198.18.0.2', neighbour.password)).status).to.equal(201)
  })

  it('stops an address after 100 failures over any accounts', async () => {
    await spendBudget(app, 'address:203.0.113.9', 99)
    const account = await signUp(app)
    expect((await guess(account.email, '203.0.113.9')).status).to.equal(401)
    expect((await guess(account.email, '203.0.113.9', account.password)).status).to.equal(429)
    expect((await guess(account.email, '203.0.113.10', account.password)).status).to.equal(201)
  })

  it('does not let one address use up what an account has for all of them', async () => {
    const { email, password } = await signUp(app)
    await Promise.all(Array.from({ length: 120 }, () => guess(email, '198.51.100.64')))
    expect((await guess(email, '198.51.100.65', password)).status).to.equal(201)
  })

  it('opens again after 15 minutes', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const account = newAccount()
      await own.request('POST', '/console/api/accounts', { body: account })
      const attempt = async (password: string) =>
        (
          await own.request('POST', '/console/api/session', {
            body: { email: account.email, password },
            headers: { 'x-forwarded-for': '192.0.2.9' },
          })
        ).status
      for (let i = 0; i < 10; i++) expect(await attempt('wrong password')).to.equal(401)
      now += 15 * 60_000 - 1
      expect(await attempt(account.password)).to.equal(429)
      now += 1
      expect(await attempt(account.password)).to.equal(201)
    } finally {
      await own.close()
    }
  })

  it('stays on where RATE_LIMITS is off', async () => {
    const own = await startTestApp({ env: { RATE_LIMITS: 'off' } })
    try {
      const attempt = () =>
        own.request('POST', '/console/api/session', {
          body: { email: 'a@x.example', password: 'wrong password' },
          headers: { 'x-forwarded-for': '192.0.2.9' },
        })
      const answers = await Promise.all(Array.from({ length: 12 }, attempt))
      expect(answers.filter(({ status }) => status === 429)).to.have.length(2)
    } finally {
      await own.close()
    }
  })

  it('holds over two servers on one database', async function () {
    const { DATABASE_URL } = process.env
    if (DATABASE_URL === undefined) return this.skip()
    const scratch = await createScratchDatabase(DATABASE_URL)
    const base = loadConfig({
      PORT: '0',
      DATA_DIR: 'memory',
      MASTER_KEY: '5'.repeat(64),
      LOG_LEVEL: 'silent',
    })
    const config = Object.freeze({ ...base, databaseUrl: scratch.url, trustProxy: ['127.0.0.1/32'] })
    const servers = await Promise.all([startServer(config), startServer(config)])
    try {
      const send = (url: string, password: string) =>
        clientOf(url).request('POST', '/console/api/session', {
          headers: { 'x-forwarded-for': '192.0.2.9' },
          body: { email: 'ada@shop.example', password },
        })
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, i) => send(servers[i % 2]?.url ?? '', `wrong password ${i}`)),
      )
      expect(answers.filter(({ status }) => status === 401)).to.have.length(10)
      expect(answers.filter(({ status }) => status === 429)).to.have.length(50)
    } finally {
      await Promise.all(servers.map((server) => server.close()))
      await scratch.drop()
    }
  })

  it('takes the /64 network of an IPv6 address for one address', async () => {
    const account = await signUp(app)
    for (let i = 0; i < 10; i++) await guess(account.email, `2001:db8:0:1::${i}`)
    expect((await guess(account.email, '2001:db8:0:1:ffff::1', account.password)).status).to.equal(429)
    expect((await guess(account.email, '2001:db8:0:2::1', account.password)).status).to.equal(201)
  })

  it('does not count successes', async () => {
    const account = await signUp(app)
    for (let i = 0; i < 12; i++) {
      expect((await guess(account.email, '203.0.113.77', account.password)).status).to.equal(201)
    }
  })
})
