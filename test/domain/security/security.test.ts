/** Security alerts, through the real app. */
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import {
  type AlertInput,
  createSecurity,
  type SecurityService,
} from '../../../src/domain/security/service.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { eventually } from '../../support/eventually.ts'

const DAY_MS = 24 * 3_600_000

describe('security alerts', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  /** Writes alerts in one append, as a domain does beside their cause. */
  const write = async (...alerts: Omit<AlertInput, 'organisation'>[]) => {
    const { ledger, security } = app.services
    const { organisationId: organisation } = owner
    const rows = alerts.map((alert) => security.alertRow({ organisation, ...alert }))
    await ledger.append(systemCaller(organisation, 'test'), (tx) => {
      tx.append({ type: 'gate', data: {} })
      for (const row of rows) tx.write(row)
    })
  }
  const list = async (query = '', key = owner.apiKey, path = '/api/security/alerts') =>
    (await app.request<AlertPage>('GET', `${path}${query}`, { key })).body

  it('are told on both routes', async () => {
    const at = Date.parse('2025-11-21T12:00:00.000Z')
    await write({ type: 'double_spend', subject: 'ter_1', at })
    const { alerts, nextCursor } = await list()
    expect(nextCursor).to.equal(null)
    expect(alerts).to.have.length(1)
    expect({ ...alerts[0], id: '' }).to.deep.equal({
      id: '',
      type: 'double_spend',
      severity: 'high',
      subject: 'ter_1',
      count: 1,
      firstSeen: '2025-11-21T12:00:00.000Z',
      lastSeen: '2025-11-21T12:00:00.000Z',
      status: 'open',
      decision: null,
    })
    expect(await list('', owner.apiKey, '/console/api/alerts')).to.deep.equal({ alerts, nextCursor })
  })

  it('of one kind and subject add up over a day, in one batch and over several', async () => {
    const at = Math.floor(Date.now() / DAY_MS) * DAY_MS
    const same = { type: 'invalid_mac', subject: 'ter_1' } as const
    await write({ ...same, at: at + 2000 }, { ...same, at: at + 1000 })
    await write({ ...same, at: at + 3000, count: 5 })
    await write({ ...same, subject: 'ter_2', at }, { ...same, at: at + DAY_MS })
    const { alerts } = await list()
    expect(alerts.map(({ subject, count }) => [subject, count])).to.have.deep.members([
      ['ter_1', 7],
      ['ter_2', 1],
      ['ter_1', 1],
    ])
    const merged = alerts.find(({ count }) => count === 7)
    expect(Date.parse(merged?.firstSeen ?? '')).to.equal(at + 1000)
    expect(Date.parse(merged?.lastSeen ?? '')).to.equal(at + 3000)
  })

  it('keep their id while they add up', async () => {
    const alert = { type: 'invalid_mac', subject: 'ter_1', at: Date.now() } as const
    await write(alert)
    const [first] = (await list()).alerts
    await write(alert)
    const [second] = (await list()).alerts
    expect(second).to.include({ id: first?.id, count: 2 })
  })

  it('are filtered by severity and time', async () => {
    const at = Date.now()
    await write(
      { type: 'rate_limit', subject: 'a', at: at - 60_000 },
      { type: 'double_spend', subject: 'b', at },
      { type: 'double_spend', subject: 'c', at, severity: 'critical' },
    )
    const subjects = async (query: string) => (await list(query)).alerts.map(({ subject }) => subject).sort()
    expect(await subjects('?severity=low')).to.deep.equal(['a'])
    expect(await subjects('?severity=critical')).to.deep.equal(['c'])
    expect(await subjects(`?since=${new Date(at - 1000).toISOString()}`)).to.deep.equal(['b', 'c'])
    const { status } = await app.request('GET', '/api/security/alerts?severity=loud', { key: owner.apiKey })
    expect(status).to.equal(400)
  })

  it('keep the beginning of a long subject, in whole characters', async () => {
    const at = Date.now()
    await write({ type: 'rate_limit', subject: `a${'𝄞'.repeat(300)}`, at })
    await write({ type: 'rate_limit', subject: 'b'.repeat(300), at: at + 1 })
    const { alerts } = await list()
    expect(alerts.map(({ subject }) => subject)).to.deep.equal(['b'.repeat(200), `a${'𝄞'.repeat(199)}`])
  })

  it('come in pages that meet', async () => {
    const at = Date.now()
    const subjects = Array.from({ length: 7 }, (_, i) => `ter_${i}`)
    await write(...subjects.map((subject) => ({ type: 'clock_rollback', subject, at }) as const))
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: AlertPage = await list(`?limit=3${cursor && `&cursor=${cursor}`}`)
      expect(page.alerts.length).to.be.at.most(3)
      seen.push(...page.alerts.map(({ subject }) => subject))
      cursor = page.nextCursor
    }
    expect(seen).to.deep.equal([...subjects].reverse())
  })

  it('are never visible to another organisation', async () => {
    await write({ type: 'double_spend', subject: 'ter_1', at: Date.now() })
    const stranger = await app.organisation()
    expect((await list('', stranger.apiKey)).alerts).to.deep.equal([])
    expect((await list('', app.adminKey)).alerts.filter(({ subject }) => subject === 'ter_1')).to.deep.equal(
      [],
    )
  })

  it('need scope audit', async () => {
    const key = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['verify'] },
    })
    const { status } = await app.request('GET', '/api/security/alerts', { key: key.body.apiKey })
    expect(status).to.equal(403)
  })

  describe('without a cause of their own', () => {
    const NOON = Date.parse('2025-11-21T12:00:00.000Z')
    const PAUSE_MS = 300
    let now: number
    let failures: number
    let security: SecurityService
    beforeEach(() => {
      now = NOON
      failures = 0
      const { database, limits, ledger } = app.services
      security = createSecurity({
        database,
        limits,
        ledger: {
          ...ledger,
          append: (caller, decide) =>
            failures-- > 0 ? Promise.reject(new Error('no disk')) : ledger.append(caller, decide),
        },
        clock: { now: () => now },
        sealing: { mac: () => Buffer.alloc(0) },
        rateLimits: true,
        logger: { error: () => undefined },
        raisePauseMs: PAUSE_MS,
      })
    })
    afterEach(() => security.close())

    const raise = () =>
      security.raise({ organisation: owner.organisationId, type: 'auth_bruteforce', subject: 'acc_1' })
    const counts = async () => (await list()).alerts.map(({ count }) => count)
    const entries = async () => {
      const [row] = await app.services.database
        .knex('ledger_entries')
        .where({ organisation: owner.organisationId, type: 'gate' })
        .count({ count: '*' })
      return Number(row?.count)
    }

    it('are written at once, and what follows once, at the end of a pause, with its own time', async () => {
      await raise()
      for (let i = 1; i < 5; i++) {
        now = NOON + i
        await raise()
      }
      expect(await counts()).to.deep.equal([1])
      now = NOON + 60_000
      await eventually('the rest', async () => (await counts())[0] === 5)
      const [alert] = (await list()).alerts
      expect(alert).to.include({
        firstSeen: '2025-11-21T12:00:00.000Z',
        lastSeen: '2025-11-21T12:00:00.004Z',
      })
      expect(await entries()).to.equal(2)
    })

    it('are counted on the day on which they happened', async () => {
      now = NOON + DAY_MS / 2 - 2
      await raise()
      for (; now < NOON + DAY_MS / 2 + 3; now++) await raise()
      now += DAY_MS
      await security.close()
      const { alerts } = await list()
      expect(alerts.map(({ firstSeen, lastSeen, count }) => [firstSeen, lastSeen, count])).to.deep.equal([
        ['2025-11-22T00:00:00.000Z', '2025-11-22T00:00:00.002Z', 3],
        ['2025-11-21T23:59:59.998Z', '2025-11-21T23:59:59.999Z', 3],
      ])
      expect(await entries()).to.equal(2)
    })

    it('are all counted though some could not be written', async () => {
      failures = 2
      await raise()
      await raise()
      expect(await counts()).to.deep.equal([])
      await eventually('both', async () => (await counts())[0] === 2)
      expect(failures, 'a pause each').to.be.below(0)
      expect(await entries()).to.equal(1)
    })

    it('keep a server that ends waiting for few of those that can’t be written', async () => {
      const tries = 1_000_000
      failures = tries
      const subjects = Array.from({ length: 250 }, (_, i) => `acc_${i}`)
      const { organisationId: organisation } = owner
      await Promise.all(
        subjects.map((subject) => security.raise({ organisation, type: 'auth_bruteforce', subject })),
      )
      expect(tries - failures, 'each is tried as it is raised').to.equal(250)
      await security.close()
      expect(tries - failures).to.equal(350)
    })

    it('leave attempts behind that are forgotten after their window, some hundred at a time', async () => {
      const ended = () => app.services.database.knex('credential_attempts').where('ends_at', '<=', NOON)
      const old = Array.from({ length: 600 }, (_, i) => ({
        bucket: Buffer.from(`old ${i}`),
        attempts: 1,
        ends_at: NOON - i,
      }))
      await ended().insert(old)
      const attempt = () => security.guardAttempts([], async () => undefined)
      await attempt()
      expect(await ended(), 'within the first hour').to.have.length(600)
      now += 3_600_000
      await attempt()
      expect(await ended()).to.have.length(100)
      await attempt()
      expect(await ended()).to.have.length(0)
    })

    it('open what was resolved when they happen again', async () => {
      await raise()
      const [{ id } = expect.fail()] = (await list()).alerts
      const body = { status: 'resolved' }
      await ok(app, 'PATCH', `/console/api/alerts/${id}`, { key: owner.apiKey, body })
      await raise()
      await eventually('it is open again', async () => (await list()).alerts[0]?.status === 'open')
    })
  })

  it('tell of an organisation that runs into its rate limit', async () => {
    const own = await startTestApp({ env: { RATE_LIMIT_PER_MINUTE: '3' } })
    try {
      const { apiKey, organisationId } = await own.organisation()
      const statuses = []
      for (let i = 0; i < 5; i++) {
        statuses.push((await own.request('GET', '/console/api/me', { key: apiKey })).status)
      }
      expect(statuses).to.deep.equal([200, 200, 200, 429, 429])
      await own.services.security.close()
      const { alerts } = await own.services.security.list(organisationId, {})
      expect(alerts.map(({ type, severity, count }) => ({ type, severity, count }))).to.deep.equal([
        { type: 'rate_limit', severity: 'low', count: 2 },
      ])
    } finally {
      await own.close()
    }
  })
})
