/** Agents and devices as lists, and what is on record about an agent, for those who only read. */
import { expect } from 'chai'
import { findDevices } from '../../../src/domain/agents/devices/store.ts'
import type { Agent } from '../../../src/domain/agents/enrol/schemas.ts'
import { findAgents } from '../../../src/domain/agents/enrol/store.ts'
import type { AgentAuditPage } from '../../../src/domain/agents/trust/schemas-audit.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { openTeam } from '../../support/domain/team.ts'
import { amongMany, expectFlatPage, listOf } from '../../support/lists.ts'

const AGENTS = '/console/api/agents'
const DEVICES = '/console/api/devices'

describe('the lists of agents and devices', () => {
  let now = Date.now()
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const made = async (path: string, name: string): Promise<string> => {
    now += 1_000
    const body = await ok<{ agent_id?: string; device_id?: string }>(app, 'POST', path, {
      key: owner.apiKey,
      body: { name },
    })
    return body.agent_id ?? body.device_id ?? expect.fail(path)
  }
  const agents = (key = owner.apiKey) => listOf<Agent, 'agents'>(app, key, AGENTS, 'agents')
  const devices = (key = owner.apiKey) =>
    listOf<{ device_id: string }, 'devices'>(app, key, DEVICES, 'devices')

  it('have every one, the newest first, page by page, and those of this organisation alone', async () => {
    const made3 = async (path: string) => {
      const ids = []
      for (const name of ['one', 'two', 'three']) ids.unshift(await made(path, name))
      return ids
    }
    const [agentIds, deviceIds] = [await made3('/v1/agents'), await made3('/v1/devices')]
    for (const limit of [1, 2, 3, 50]) {
      expect((await agents().all(limit)).map(({ agent_id }) => agent_id)).to.deep.equal(agentIds)
      expect((await devices().all(limit)).map(({ device_id }) => device_id)).to.deep.equal(deviceIds)
    }
    // Who asks without a limit gets what earlier versions gave at once.
    expect(await agents().page()).to.have.property('nextCursor', null)
    const { apiKey: stranger } = await app.organisation()
    expect(await agents(stranger).page(`cursor=${agentIds[0]}`)).to.deep.equal({
      agents: [],
      nextCursor: null,
    })
    expect((await agents().refused('cursor=agt_1'))[2]).to.equal('query/cursor')
    expect((await devices().refused('limit=1001'))[2]).to.equal('query/limit')
  })

  it('read no more than they show, however many there are', async () => {
    const { database } = app.services
    const { organisationId } = owner
    const set = { kid: 'kid || i' }
    await amongMany(database, 'agents', await made('/v1/agents', 'one'), set, () =>
      expectFlatPage(database, 'agents', async ({ limit }) => ({
        rows: await findAgents(database, organisationId, { limit }),
      })),
    )
    await amongMany(database, 'devices', await made('/v1/devices', 'one'), set, () =>
      expectFlatPage(database, 'devices', async ({ limit }) => ({
        rows: await findDevices(database, organisationId, { limit, before: 'dev_01' }),
      })),
    )
  })

  it('tell what is on record about an agent to every role that reads', async () => {
    const team = await openTeam(app, 'viewer', 'auditor')
    const { agent_id } = await ok<Agent>(app, 'POST', '/v1/agents', {
      headers: team.owner.headers,
      body: { name: 'Buyer' },
    })
    for (const step of ['suspend', 'resume'])
      await ok(app, 'POST', `${AGENTS}/${agent_id}/${step}`, { headers: team.owner.headers })
    const posted = await ok<AgentAuditPage>(app, 'POST', '/ext/v1/agent-trust/audit', {
      headers: team.owner.headers,
      body: { agent_id },
    })
    const path = `${AGENTS}/${agent_id}/history`
    for (const { headers } of team.members) {
      expect(await ok<AgentAuditPage>(app, 'GET', path, { headers })).to.deep.equal(posted)
      const first = await ok<AgentAuditPage>(app, 'GET', `${path}?limit=1`, { headers })
      expect(first.entries).to.deep.equal(posted.entries.slice(0, 1))
      const rest = await ok<AgentAuditPage>(app, 'GET', `${path}?cursor=${first.next_cursor}`, { headers })
      expect(rest.entries).to.deep.equal(posted.entries.slice(1))
    }
    expect((await app.request('GET', path, { key: owner.apiKey })).status).to.equal(404)
  })

  it('have agents that expired, which are revoked as well', async () => {
    now = Math.floor(now / 1_000) * 1_000
    const { agent_id } = await ok<Agent>(app, 'POST', '/v1/agents', {
      key: owner.apiKey,
      body: { name: 'Buyer', limits: { currency: 'GBP', expires_at: new Date(now + 60_000).toISOString() } },
    })
    now += 120_000
    expect((await agents().rows())[0]).to.include({ agent_id, status: 'expired' })
    const { status, body } = await app.request<Agent>('POST', `${AGENTS}/${agent_id}/revoke`, {
      key: owner.apiKey,
    })
    expect([status, body.status]).to.deep.equal([200, 'revoked'])
    expect((await agents().rows())[0]).to.include({ agent_id, status: 'revoked' })
  })
})
