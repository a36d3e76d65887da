/** What people decide on security alerts, through the real app. */
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { AuditPage } from '../../../src/domain/audit/schemas.ts'
import type { Alert, AlertPage, AllAlertsPage } from '../../../src/domain/security/schemas.ts'
import type { AlertInput } from '../../../src/domain/security/service.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import { readsOf } from '../../support/query-plans.ts'

const DAY_MS = 86_400_000
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2

describe('decisions on security alerts', () => {
  let app: TestApp
  let owner: TestOrganisation
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  /** Lets something happen, as a domain tells it beside the cause. @returns the alert that it is counted in */
  const happen = async (alert: Partial<AlertInput> = {}): Promise<Alert> => {
    const { ledger, security } = app.services
    const { organisationId: organisation } = owner
    const input = { organisation, type: 'clock_rollback', subject: 'ter_1', at: NOON, ...alert } as const
    const row = security.alertRow(input)
    await ledger.append(systemCaller(organisation, 'test'), (tx) => {
      tx.append({ type: 'gate', data: {} })
      tx.write(row)
    })
    const { alerts } = await list()
    const day = new Date(input.at).toISOString().slice(0, 10)
    return (
      alerts.find(({ subject, lastSeen }) => subject === input.subject && lastSeen.startsWith(day)) ??
      expect.fail('no alert')
    )
  }
  const list = (query = ''): Promise<AlertPage> =>
    ok(app, 'GET', `/console/api/alerts${query}`, { key: owner.apiKey })
  const idsWith = async (status: string) => (await list(`?status=${status}`)).alerts.map(({ id }) => id)
  const ask = (id: string, body: object, credential: object = { key: owner.apiKey }) =>
    app.request<Alert & { error: string; details: { path: string }[] }>(
      'PATCH',
      `/console/api/alerts/${id}`,
      {
        ...credential,
        body,
      },
    )
  const decide = async (id: string, body: object): Promise<Alert> => {
    const { status, body: alert } = await ask(id, body)
    expect(status, JSON.stringify(alert)).to.equal(200)
    return alert
  }
  const decisionsInLog = async () => {
    const { entries } = await ok<AuditPage>(app, 'GET', '/api/audit?type=gate', { key: owner.apiKey })
    return entries
      .map(({ entry }) => JSON.parse(entry ?? '').data)
      .filter(({ event }: { event?: string }) => event !== undefined)
  }

  it('are shown with their reason, told to lists, and entries of the log, which says no reason', async () => {
    const { id } = await happen()
    const known = await decide(id, { status: 'acknowledged', reason: 'Ada sets the clock.' })
    expect(known.status).to.equal('acknowledged')
    expect(known.decision).to.include({ status: 'acknowledged', reason: 'Ada sets the clock.' })
    expect(known.decision?.decidedBy).to.match(/^key_/)
    expect((await list()).alerts).to.deep.equal([known])
    expect(await idsWith('acknowledged')).to.deep.equal([id])
    expect(await idsWith('open')).to.deep.equal([])
    const resolved = await decide(id, { status: 'resolved' })
    expect(resolved.decision).to.include({ status: 'resolved', reason: null })
    expect(await decide(id, { status: 'open' })).to.include({ status: 'open', decision: null })
    expect(await decisionsInLog()).to.deep.equal([
      { event: 'alert.open', alertId: id, alert: 'clock_rollback' },
      { event: 'alert.resolved', alertId: id, alert: 'clock_rollback' },
      { event: 'alert.acknowledged', alertId: id, alert: 'clock_rollback' },
    ])
  })

  it('change nothing where the status is that already, until there is another reason', async () => {
    const { id } = await happen()
    const first = await decide(id, { status: 'resolved' })
    expect(await decide(id, { status: 'resolved' })).to.deep.equal(first)
    expect(await decide(id, { ...first })).to.deep.equal(first)
    expect(await decisionsInLog()).to.have.length(1)
    expect((await decide(id, { status: 'resolved', reason: 'Again.' })).decision?.reason).to.equal('Again.')
    expect(await decisionsInLog()).to.have.length(2)
  })

  it('stay acknowledged when it happens again; what was resolved is open again', async () => {
    const { id } = await happen()
    await decide(id, { status: 'acknowledged' })
    expect(await happen()).to.include({ id, count: 2, status: 'acknowledged' })
    await decide(id, { status: 'resolved' })
    expect(await happen()).to.include({ id, count: 3, status: 'open' })
    expect(await idsWith('open')).to.deep.equal([id])
    expect((await decide(id, { status: 'resolved' })).status).to.equal('resolved')
    expect(await happen({ at: NOON + DAY_MS })).to.include({ count: 1, status: 'open' })
  })

  it('mute type and subject on this day and later ones, until one of them gets another status', async () => {
    const before = await happen({ at: NOON - DAY_MS })
    const { id } = await happen()
    const muted = await decide(id, { status: 'muted', reason: 'A till of the workshop.' })
    expect(muted.decision).to.include({ status: 'muted', reason: 'A till of the workshop.' })
    const again = await happen()
    const nextDay = await happen({ at: NOON + DAY_MS })
    const other = await happen({ subject: 'ter_2' })
    expect([again.status, nextDay.status, other.status]).to.deep.equal(['muted', 'muted', 'open'])
    expect(await idsWith('muted')).to.have.members([id, nextDay.id])
    expect(await idsWith('open')).to.have.members([before.id, other.id])

    expect(await decide(nextDay.id, { status: 'open' })).to.include({ status: 'open', decision: null })
    expect(await idsWith('muted')).to.deep.equal([])
    expect(await idsWith('resolved')).to.deep.equal([id])
    expect(await happen()).to.include({ id, status: 'open' })
    expect((await happen({ at: NOON - DAY_MS })).status).to.equal('open')
  })

  it('mute from the earliest day on which somebody muted', async () => {
    const before = await happen({ at: NOON - DAY_MS })
    const { id } = await happen()
    await decide(id, { status: 'muted' })
    await decide(before.id, { status: 'muted' })
    expect(await idsWith('muted')).to.have.members([id, before.id])
  })

  it('are of the organisation alone, and of those who may administer it', async () => {
    const { id } = await happen()
    const stranger = await app.organisation()
    expect((await ask(id, { status: 'resolved' }, { key: stranger.apiKey })).status).to.equal(404)
    const { apiKey } = await ok<{ apiKey: string }>(app, 'POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'reader', scopes: ['audit'] },
    })
    expect((await ask(id, { status: 'resolved' }, { key: apiKey })).status).to.equal(403)
    const muted = await decide(id, { status: 'muted' })
    const { organisationId: organisation } = owner
    owner = stranger
    expect((await happen()).status).to.equal('open')
    expect([muted.status, organisation === owner.organisationId]).to.deep.equal(['muted', false])
  })

  it('name the account where a session decides, which needs its CSRF token', async () => {
    const account = await signUp(app)
    const session = await signIn(app, account)
    owner = { ...owner, organisationId: account.organisationId }
    const { organisationId: organisation } = account
    const row = app.services.security.alertRow({ organisation, type: 'rate_limit', subject: 'a', at: NOON })
    await app.services.ledger.append(systemCaller(organisation, 'test'), (tx) => {
      tx.append({ type: 'gate', data: {} })
      tx.write(row)
    })
    const { alerts } = await ok<AlertPage>(app, 'GET', '/console/api/alerts', { headers: session.headers })
    const id = alerts[0]?.id ?? ''
    const { body } = await ask(id, { status: 'acknowledged' }, { headers: session.headers })
    expect(body.decision?.decidedBy).to.equal(account.accountId)
    const { 'x-csrf-token': _, ...withoutToken } = session.headers
    expect((await ask(id, { status: 'open' }, { headers: withoutToken })).status).to.equal(403)
  })

  it('refuse what is no status, what only the service sets, and reasons without end', async () => {
    const { id } = await happen()
    const refused = async (body: object) => {
      const answer = await ask(id, body)
      return [answer.status, answer.body.error, answer.body.details[0]?.path]
    }
    expect(await refused({ status: 'closed' })).to.deep.equal([422, 'validation_failed', '/status'])
    expect(await refused({})).to.deep.equal([422, 'validation_failed', '/status'])
    expect(await refused({ status: 'open', subject: 'ter_2' })).to.deep.equal([422, 'read_only', '/subject'])
    expect(await refused({ status: 'open', reason: 'x'.repeat(1001) })).to.deep.equal([
      422,
      'validation_failed',
      '/reason',
    ])
    await decide(id, { status: 'muted', reason: 'A till of the workshop.' })
    expect(await refused({ status: 'open', reason: 'It is back.' })).to.deep.equal([
      422,
      'validation_failed',
      '/reason',
    ])
    expect(await idsWith('muted')).to.deep.equal([id])
    expect((await ask('alr_00000000000000000000000000', { status: 'open' })).status).to.equal(404)
  })

  /** 20,000 alerts, nearly all of them resolved. @param digit the first of their ids @param from the number of the first */
  const insertMany = async (digit: 0 | 1, from = 1): Promise<void> => {
    const { knex } = app.services.database
    await knex.raw(
      `INSERT INTO security_alerts (id, organisation, type, severity, subject, day, count, first_seen, last_seen, decision, decided_count)
        SELECT 'alr_' || :digit || lpad(i::text, 25, '0'), :organisation, 'rate_limit', CASE i % 5000 WHEN 0 THEN 'high' ELSE 'low' END,
          'key_' || i, 1, 1, 1, 1,
          CASE WHEN i % 1000 = 0 THEN 'acknowledged' WHEN i % 1500 = 0 THEN NULL ELSE 'resolved' END, 1
        FROM generate_series(:from::int, :from::int + 19999) AS i`,
      { digit: String(digit), from, organisation: owner.organisationId },
    )
    await knex.raw('ANALYZE security_alerts')
  }

  it('are found by status without reading the others', async () => {
    await insertMany(0)
    for (const [status, count] of [
      ['open', 7],
      ['acknowledged', 10],
      ['resolved', 10],
    ] as const) {
      const reads = await readsOf(app.services.database, async () => {
        expect((await list(`?status=${status}&limit=10`)).alerts, status).to.have.length(count)
      })
      const [read] = reads.filter(({ text }) => text.includes('security_alerts'))
      // Which plan is cheapest varies with how many mutes the planner expects; none of them reads a hundredth of the rows.
      expect(read?.rows, `${status} ${read?.indexes}`).to.be.at.most(200)
    }
  })

  it('are found by severity and by time without reading the others', async () => {
    await insertMany(0, 20_001)
    const at = Date.now()
    const { id } = await happen({ subject: 'ter_of_today', severity: 'critical', at })
    const since = (ms: number): string => `since=${new Date(at + ms).toISOString()}`
    for (const [query, count] of [
      ['severity=high', 4],
      ['severity=critical', 1],
      ['severity=medium', 0],
      ['severity=low&status=acknowledged', 10],
      [since(0), 1],
      [since(1), 0],
      ['since=0001-01-01T00:00:00.000Z', 10],
      ['since=9999-12-31T23:59:59.999Z', 0],
    ] as const) {
      const reads = await readsOf(app.services.database, async () => {
        const { alerts } = await list(`?${query}&limit=10`)
        expect(alerts, query).to.have.length(count)
        if (count === 1) expect(alerts[0]?.id).to.equal(id)
      })
      const [read] = reads.filter(({ text }) => text.includes('security_alerts'))
      expect(read?.rows, `${query} ${read?.indexes}`).to.be.at.most(200)
    }
  })

  it('are for each organisation; the operator sees alerts of all, by state, from an index', async () => {
    const alert = await happen({ subject: 'ter_of_one' })
    const { organisationId } = owner
    await decide(alert.id, { status: 'acknowledged' })
    owner = await app.organisation()
    await happen({ subject: 'ter_of_another' })
    const all = (query: string, key = app.adminKey) =>
      app.request<AllAlertsPage>('GET', `/console/api/all-alerts?${query}`, { key })
    expect((await all('', owner.apiKey)).status).to.equal(403)
    const { alerts } = (await all('status=acknowledged&limit=1')).body
    expect(alerts[0]).to.deep.include({ id: alert.id, organisationId, status: 'acknowledged' })
    const open = (await all('status=open&limit=1')).body
    expect(open.alerts[0]).to.include({ subject: 'ter_of_another', organisationId: owner.organisationId })

    await insertMany(1)
    for (const query of [
      '',
      'status=open',
      'status=acknowledged',
      'severity=low',
      'severity=low&status=acknowledged',
    ]) {
      const reads = await readsOf(app.services.database, async () => {
        expect((await all(`limit=10&${query}`)).body.alerts, query).to.have.length(10)
      })
      const [read] = reads.filter(({ text }) => text.includes('security_alerts'))
      expect(read?.rows, `${query} ${read?.indexes}`).to.be.at.most(200)
    }
  })
})
