/** What becomes of agents and devices: suspended, resumed, revoked; whether their domain knows them; their badges. */
import { expect } from 'chai'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { systemCaller } from '../../../src/caller.ts'
import type { Agent } from '../../../src/domain/agents/enrol/schemas.ts'
import { changeState } from '../../../src/domain/agents/enrol/transition.ts'
import { badgeImage } from '../../../src/domain/agents/trust/badge/badge-image.ts'
import type { Badge } from '../../../src/domain/agents/trust/badge/schemas-badge.ts'
import { stepEvent } from '../../../src/domain/agents/trust/store-events.ts'
import type { TestApp, TestOrganisation } from '../../support/app.ts'
import {
  type AgentKey,
  agentRoutesOf,
  type ErrorBody,
  newAgentKey,
  newMlDsaKey,
} from '../../support/domain/agents.ts'
import { json, redirectTo, type TargetScript } from '../../support/servers/target-server.ts'
import { requestsTo, startWebhookApp, until, type WebhookApp } from '../../support/webhooks.ts'

const DAY_MS = 24 * 3_600_000
const DIRECTORY = '/.well-known/http-message-signatures-directory'

interface DeviceAnswer extends ErrorBody {
  readonly device_id: string
  readonly kid: string
  readonly pq_kid: string | null
  readonly private_key: { readonly d: string } | null
}

describe('states of agents', () => {
  let own: WebhookApp
  let app: TestApp
  let now = Date.now()
  let owner: TestOrganisation
  let agents: ReturnType<typeof agentRoutesOf>
  let key: AgentKey
  before(async () => {
    own = await startWebhookApp({ clock: { now: () => now } })
    app = own.app
  })
  after(() => own.close())
  beforeEach(async () => {
    owner = await app.organisation()
    agents = agentRoutesOf(app, owner.apiKey)
    key = await newAgentKey()
  })
  const inUse = async (kid: string) =>
    (await app.services.registeredKeys.find(owner.organisationId, kid))?.owner.id
  const typesAndEvents = async (): Promise<string[]> => {
    const rows = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .orderBy('idx')
    return rows.map(({ type, entry }) => `${type} ${JSON.parse(entry).data.event}`)
  }

  it('change on every step at once, are logged, and end with revocation for good', async () => {
    const { agent_id } = await agents.active(key)
    const step = async (name: 'suspend' | 'resume' | 'revoke') => {
      const { status, body } = await agents.step(agent_id, name)
      return `${status} ${body.status ?? body.error}`
    }
    expect(await step('resume')).to.equal('200 active')
    expect(await step('suspend')).to.equal('200 suspended')
    expect(await inUse(key.kid)).to.equal(undefined)
    expect(await step('suspend')).to.equal('200 suspended')
    expect(await step('resume')).to.equal('200 active')
    expect(await inUse(key.kid)).to.equal(agent_id)
    expect(await step('revoke')).to.equal('200 revoked')
    expect(await inUse(key.kid)).to.equal(undefined)
    expect(await step('revoke')).to.equal('200 revoked')
    expect(await step('resume')).to.equal('409 conflict')
    expect(await step('suspend')).to.equal('409 conflict')
    expect((await typesAndEvents()).slice(-3)).to.deep.equal([
      'account agent.suspended',
      'account agent.resumed',
      'revoke agent.revoked',
    ])
    const again = await agents.enrol({ name: 'Again', public_key: key.jwk })
    expect([again.status, again.body.error]).to.deep.equal([409, 'key_registered'])
  })

  it('never bring back a pending agent that was revoked, nor let one be suspended', async () => {
    const made = await agents.pending(key)
    expect((await agents.step(made.agent_id, 'suspend')).status).to.equal(409)
    expect((await agents.step(made.agent_id, 'resume')).status).to.equal(409)
    expect((await agents.step(made.agent_id, 'revoke')).body.status).to.equal('revoked')
    expect((await agents.answer(made, key)).status).to.equal(409)
    expect(await inUse(key.kid)).to.equal(undefined)
    // It never held its key, so who does may have it.
    expect((await agents.active(key)).status).to.equal('active')
  })

  it('end in revocation whatever else is asked at the same moment', async () => {
    const { agent_id } = await agents.active(key)
    const steps = ['suspend', 'revoke', 'resume', 'suspend', 'resume', 'revoke'] as const
    const answers = await Promise.all(steps.map((step) => agents.step(agent_id, step)))
    for (const [i, { status }] of answers.entries())
      expect(status).to.be.oneOf(steps[i] === 'revoke' ? [200] : [200, 409])
    expect((await agents.read(agent_id)).body.status).to.equal('revoked')
    const revoked = (await typesAndEvents()).filter((entry) => entry === 'revoke agent.revoked')
    expect(revoked.length).to.equal(1)
  })

  it('are told as they are at the time of the change, however often it is decided', async () => {
    const { agent_id } = await agents.active(key)
    const { knex } = app.services.database
    const at = await changeState(
      { ledger: app.services.ledger, stepEvent },
      systemCaller(owner.organisationId, 'test'),
      () => knex('agents').where({ id: agent_id }).first(),
      () => ({
        step: { kind: 'suspend', outcome: 'suspended' },
        change: { status: 'suspended' },
        entry: { type: 'account', data: {} },
      }),
      (_row, changedAt) => changedAt,
    )
    const { changed_at } = await knex('agents').where({ id: agent_id }).first()
    expect(at).to.equal(changed_at)
  })

  it('change once under an Idempotency-Key, also where another change came first', async () => {
    const { agent_id } = await agents.active(key)
    const suspended = async (interfere: () => Promise<unknown>) => {
      let isFirst = true
      const idempotency = {
        organisation: owner.organisationId,
        key: 'K',
        requestHash: 'body',
        replayed: false,
      }
      const status = await changeState(
        { ledger: app.services.ledger, stepEvent },
        { ...systemCaller(owner.organisationId, 'test'), idempotency },
        async () => {
          const row = await app.services.database.knex('agents').where({ id: agent_id }).first()
          if (isFirst) await interfere()
          isFirst = false
          return row
        },
        () => ({
          step: { kind: 'suspend', outcome: 'suspended' },
          change: { status: 'suspended' },
          entry: { type: 'account', data: { event: 'agent.suspended' } },
        }),
        (row) => row.status,
      )
      return [status, idempotency.replayed]
    }
    const first = await suspended(async () => {
      await agents.step(agent_id, 'suspend')
      await agents.step(agent_id, 'resume')
    })
    expect(first).to.deep.equal(['suspended', false])
    await agents.step(agent_id, 'resume')
    const entries = await typesAndEvents()
    expect(await suspended(async () => undefined)).to.deep.equal(['suspended', true])
    expect(await typesAndEvents()).to.deep.equal(entries)
    expect((await agents.read(agent_id)).body.status).to.equal('active')
  })

  it('stay revoked when a change or an answer that began before comes after', async () => {
    const { agent_id } = await agents.active(key)
    let isFirst = true
    const status = await changeState(
      { ledger: app.services.ledger, stepEvent },
      systemCaller(owner.organisationId, 'test'),
      async () => {
        const row = await app.services.database.knex('agents').where({ id: agent_id }).first()
        if (isFirst) await agents.step(agent_id, 'revoke')
        isFirst = false
        return row
      },
      (row) =>
        row.status === 'active'
          ? {
              step: { kind: 'suspend', outcome: 'suspended' },
              change: { status: 'suspended' },
              entry: { type: 'account', data: {} },
            }
          : undefined,
      (row) => row.status,
    )
    expect([status, (await agents.read(agent_id)).body.status]).to.deep.equal(['revoked', 'revoked'])

    const late = await newAgentKey()
    const made = await agents.pending(late, { key_directory_url: own.receiver.url })
    own.receiver.on(DIRECTORY, async (request, response) => {
      await agents.step(made.agent_id, 'revoke')
      await json({ keys: [late.jwk] })(request, response)
    })
    expect((await agents.answer(made, late)).status).to.equal(409)
    expect((await agents.read(made.agent_id)).body.status).to.equal('revoked')
    expect(await inUse(late.kid)).to.equal(undefined)
  })

  it('are nobody else’s to change', async () => {
    const { agent_id } = await agents.active(key)
    const stranger = agentRoutesOf(app, (await app.organisation()).apiKey)
    for (const step of ['suspend', 'resume', 'revoke', 'check-domain'] as const)
      expect((await stranger.step(agent_id, step)).status).to.equal(404)
    expect((await stranger.badge({ agent_id })).status).to.equal(404)
    expect((await agents.read(agent_id)).body.status).to.equal('active')
  })

  describe('with a domain', () => {
    const trusted = async (input: object) => {
      const { trust_level, trust_reasons } = await agents.active(await newAgentKey(), input)
      return [trust_level, ...trust_reasons]
    }
    const origin = () => own.receiver.url

    it('are domain_verified only while its directory holds the same key', async () => {
      own.receiver.on(DIRECTORY, json({ keys: [(await newMlDsaKey()).jwk, 5, { ...key.jwk, kid: 'any' }] }))
      const { agent_id, trust_level, trust_reasons } = await agents.active(key, {
        key_directory_url: origin(),
      })
      expect([trust_level, trust_reasons]).to.deep.equal(['domain_verified', []])
      expect((await agents.read(agent_id)).body).to.deep.include({
        key_directory_url: `${origin()}${DIRECTORY}`,
      })
      // Another key under the name of ours.
      const other = { ...(await newAgentKey()).jwk, kid: key.kid }
      own.receiver.on(DIRECTORY, json({ keys: [other] }))
      expect((await agents.step(agent_id, 'check-domain')).body).to.deep.include({
        trust_level: 'key_verified',
        trust_reasons: ['key_not_in_directory'],
      })
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      expect((await agents.step(agent_id, 'check-domain')).body.trust_level).to.equal('domain_verified')
    })

    it('of an agent card are looked up at the same well-known path', async () => {
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      const { trust_level } = await agents.active(key, { agent_card_url: `${origin()}/cards/buyer.json` })
      expect(trust_level).to.equal('domain_verified')
    })

    it('that gives no usable answer are key_verified, with the reason', async () => {
      const input = { key_directory_url: `${origin()}${DIRECTORY}` }
      const reasons = {
        directory_status: json({ keys: [] }, 404),
        directory_invalid: json([]),
        directory_too_large: json({ keys: Array(65).fill({}) }),
        key_not_in_directory: json({ keys: [] }),
      }
      for (const [reason, script] of Object.entries(reasons)) {
        own.receiver.on(DIRECTORY, script)
        expect(await trusted(input)).to.deep.equal(['key_verified', reason])
      }
      own.receiver.on(DIRECTORY, redirectTo('/elsewhere'))
      own.receiver.on('/elsewhere', json({ keys: [key.jwk] }))
      expect(await trusted(input)).to.deep.equal(['key_verified', 'directory_status'])
      own.receiver.on(DIRECTORY, (_, response) => void response.end('{'))
      expect(await trusted(input)).to.deep.equal(['key_verified', 'directory_invalid'])
      own.receiver.on(DIRECTORY, (_, response) => void response.end(' '.repeat(64 * 1024 + 1)))
      expect(await trusted(input)).to.deep.equal(['key_verified', 'directory_too_large'])
      own.receiver.on(DIRECTORY, (_, response) => void response.destroy())
      expect(await trusted(input)).to.deep.equal(['key_verified', 'directory_unreachable'])
      expect(await trusted({ key_directory_url: 'https://10.1.2.3' })).to.deep.equal([
        'key_verified',
        'directory_blocked',
      ])
    })

    it('in a private network that the operator opened are asked for keys of scope egress:private or admin', async () => {
      const closed = await startWebhookApp({ env: { EGRESS_OPEN_PROXY: 'off' } })
      try {
        const levelFor = async (scopes: readonly string[]) => {
          const body = { label: 'agents', scopes }
          const made = await closed.app.request<{ apiKey: string }>('POST', '/console/api/keys', {
            key: closed.app.adminKey,
            body,
          })
          const own = await newAgentKey()
          closed.receiver.on(DIRECTORY, json({ keys: [own.jwk] }))
          const { trust_level } = await agentRoutesOf(closed.app, made.body.apiKey).active(own, {
            key_directory_url: closed.receiver.url,
          })
          return trust_level
        }
        expect(await levelFor(['agent'])).to.equal('key_verified')
        expect(await levelFor(['agent', 'egress:private'])).to.equal('domain_verified')
        expect(await levelFor(['agent', 'admin'])).to.equal('domain_verified')
      } finally {
        await closed.close()
      }
    })

    it('are not asked of agents whose key nobody has shown to hold, nor of revoked ones', async () => {
      const { body } = await agents.create<Agent>({ name: 'Made here', key_directory_url: origin() })
      const pending = await agents.pending(key, { key_directory_url: origin() })
      const revoked = await agents.active(await newAgentKey(), { key_directory_url: origin() })
      await agents.step(revoked.agent_id, 'revoke')
      const before = requestsTo(own.receiver, DIRECTORY).length
      for (const { agent_id } of [body, pending, revoked])
        expect((await agents.step(agent_id, 'check-domain')).status).to.equal(409)
      expect(requestsTo(own.receiver, DIRECTORY)).to.have.length(before)
    })

    /** The directory answers so when it is opened. */
    const heldBack = (script: TargetScript) => {
      let open = (): void => undefined
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      const seen = requestsTo(own.receiver, DIRECTORY).length
      own.receiver.on(DIRECTORY, async (request, response) => {
        await opened
        await script(request, response)
      })
      const asked = (times: number) =>
        until('the directory is asked', () => requestsTo(own.receiver, DIRECTORY).length === seen + times)
      return { open: () => open(), asked }
    }

    it('say nothing more once the agent was changed: a late answer gives no trust back', async () => {
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      const { agent_id } = await agents.active(key, { key_directory_url: origin() })
      const slow = heldBack(json({ keys: [key.jwk] }))
      const late = agents.step(agent_id, 'check-domain')
      await slow.asked(1)
      own.receiver.on(DIRECTORY, json({ keys: [] }))
      expect((await agents.step(agent_id, 'check-domain')).body.trust_level).to.equal('key_verified')
      slow.open()
      expect(await late).to.deep.include({ status: 409 })
      expect((await agents.read(agent_id)).body.trust_level).to.equal('key_verified')
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      expect((await agents.step(agent_id, 'check-domain')).body.trust_level).to.equal('domain_verified')
    })

    it('are asked eight at a time for each organisation, and found out once by all', async () => {
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      const { agent_id } = await agents.active(key, { key_directory_url: origin() })
      const slow = heldBack(json({ keys: [] }))
      const checks = Array.from({ length: 8 }, () => agents.step(agent_id, 'check-domain'))
      await slow.asked(8)
      const { status, body, headers } = await agents.step(agent_id, 'check-domain')
      expect([status, body.error, headers.get('retry-after')]).to.deep.equal([429, 'rate_limited', '5'])
      // That others are being asked says nothing of this one.
      expect((await agents.read(agent_id)).body.trust_level).to.equal('domain_verified')
      const stranger = agentRoutesOf(app, (await app.organisation()).apiKey)
      const elsewhere = stranger.active(key, { key_directory_url: origin() })
      await slow.asked(9)
      slow.open()
      const statuses = (await Promise.all(checks)).map((check) => check.status)
      expect(statuses.sort()).to.deep.equal([200, ...Array(7).fill(409)])
      expect((await elsewhere).trust_level).to.equal('key_verified')
      expect((await agents.step(agent_id, 'check-domain')).status).to.equal(200)
    })
  })

  describe('on badges', () => {
    const shown = (badgeId: string, accept = 'application/json') =>
      app.request<Badge & string>('GET', `/ext/v1/agent-trust/badge/${badgeId}`, { headers: { accept } })

    it('are signed for whoever checks them with the published keys', async () => {
      const { agent_id } = await agents.active(key, { name: 'Buyer' })
      const { status, body, headers } = await agents.badge({ agent_id })
      expect([status, headers.get('x-feature-version')]).to.deep.equal([201, '1.2.0'])
      const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
      const { payload } = await jwtVerify(body.jws ?? '', keys, {
        issuer: app.url,
        subject: agent_id,
        typ: 'agent-badge+jwt',
        algorithms: ['EdDSA'],
        currentDate: new Date(now),
      })
      expect(payload).to.deep.include({
        jti: body.badge_id,
        org: owner.organisationId,
        name: 'Buyer',
        agent_kid: key.kid,
        status: 'active',
        trust_level: 'key_verified',
      })
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal((7 * DAY_MS) / 1000)
      expect(body.verify_url).to.equal(`${app.url}/ext/v1/agent-trust/badge/${body.badge_id}`)
      expect((await agents.badge({ agent_id, format: 'svg' })).body.jws).to.equal(null)
      expect((await agents.badge({ agent_id, format: 'jws' })).body.svg).to.equal(null)
      expect((await typesAndEvents()).at(-1)).to.equal('attest agent.badge_issued')
    })

    it('name the domain that was verified, since anybody may call an agent as they like', async () => {
      const { host } = new URL(own.receiver.url)
      own.receiver.on(DIRECTORY, json({ keys: [key.jwk] }))
      const { agent_id } = await agents.active(key, { agent_card_url: `${own.receiver.url}/card.json` })
      const { body } = await agents.badge({ agent_id })
      expect([body.domain, decodeJwt(body.jws ?? '').domain]).to.deep.equal([host, host])
      expect(body.svg).to.contain(`>domain verified: ${host}</text>`)
      own.receiver.on(DIRECTORY, json({ keys: [] }))
      await agents.step(agent_id, 'check-domain')
      expect((await shown(body.badge_id)).body.domain).to.equal(null)
      // Of a long one the end is shown, which says whose it is.
      const domain = `bank.example.${'login.'.repeat(6)}crook.example`
      expect(badgeImage({ ...body, name: 'Bank', domain })).to.match(/: …[^k]*crook\.example<\/text>/)
    })

    it('are what holds now, to anyone, as JSON and as an image', async () => {
      const { agent_id } = await agents.active(key)
      const { badge_id } = (await agents.badge({ agent_id })).body
      expect((await shown(badge_id)).body).to.deep.include({ agent_id, status: 'active', kid: key.kid })
      await agents.step(agent_id, 'suspend')
      expect((await shown(badge_id)).body.status).to.equal('suspended')
      await agents.step(agent_id, 'revoke')
      expect((await shown(badge_id)).body.status).to.equal('revoked')
      const { body, headers } = await shown(badge_id, 'image/svg+xml,image/*;q=0.8')
      expect(headers.get('content-type')).to.equal('image/svg+xml')
      expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox")
      expect(headers.get('cache-control')).to.equal('no-cache')
      expect(body)
        .to.match(/^<svg .*<\/svg>$/)
        .and.to.contain('>revoked</text>')
      expect(body).not.to.contain('key verified')
      now += 8 * DAY_MS
      expect((await shown(badge_id)).body.status).to.equal('revoked')
      expect((await shown('bdg_00000000000000000000000000')).status).to.equal(404)
    })

    it('end after seven days, and no later than the agent; who is not active gets none', async () => {
      const { agent_id } = await agents.active(key)
      const { badge_id } = (await agents.badge({ agent_id })).body
      now += 7 * DAY_MS - 1
      expect((await shown(badge_id)).body.status).to.equal('active')
      now += 1
      expect((await shown(badge_id)).body.status).to.equal('expired')
      const expires_at = new Date(now + DAY_MS).toISOString()
      const brief = await agents.active(await newAgentKey(), { limits: { currency: 'EUR', expires_at } })
      const { body } = await agents.badge({ agent_id: brief.agent_id })
      expect((await shown(body.badge_id)).body.expires_at).to.equal(expires_at)
      await agents.step(agent_id, 'suspend')
      expect((await agents.badge({ agent_id })).status).to.equal(409)
    })

    it('show a name as text, whatever it is made of', () => {
      const name = `<script>alert('1')</script>&"\u202Eevil\u0000`
      const svg = badgeImage({ name, status: 'active', trust_level: 'key_verified', domain: null })
      expect(svg.match(/<(\w+)/g)?.sort()).to.deep.equal([
        '<g',
        '<rect',
        '<rect',
        '<svg',
        '<text',
        '<text',
        '<title',
      ])
      expect(svg).to.contain('&lt;script&gt;alert(&#39;1&#39;)').and.to.contain('&amp;&quot;evil')
      expect(svg).not.to.match(/\p{C}/u)
    })
  })

  describe('of devices', () => {
    const create = (body: object, apiKey = owner.apiKey) =>
      app.request<DeviceAnswer>('POST', '/v1/devices', { key: apiKey, body })

    it('begin active with one or two keys, and end with revocation at once', async () => {
      const pqKey = await newMlDsaKey()
      const { status, body } = await create({
        name: 'Scanner',
        public_key: key.jwk,
        public_key_pq: pqKey.jwk,
      })
      expect([status, body.kid, body.pq_kid, body.private_key]).to.deep.equal([201, key.kid, pqKey.kid, null])
      expect([await inUse(key.kid), await inUse(pqKey.kid)]).to.deep.equal([body.device_id, body.device_id])
      const path = `/console/api/devices/${body.device_id}`
      expect((await app.request('DELETE', path, { key: (await app.organisation()).apiKey })).status).to.equal(
        404,
      )
      for (const _ of [1, 2])
        expect((await app.request('DELETE', path, { key: owner.apiKey })).status).to.equal(204)
      expect([await inUse(key.kid), await inUse(pqKey.kid)]).to.deep.equal([undefined, undefined])
      const { body: list } = await app.request<{ devices: { status: string; revoked_at: string }[] }>(
        'GET',
        '/console/api/devices',
        { key: owner.apiKey },
      )
      expect(list.devices).to.have.length(1)
      expect(list.devices[0]).to.deep.include({ status: 'revoked' })
      expect((await typesAndEvents()).slice(-2)).to.deep.equal([
        'account device.created',
        'revoke device.revoked',
      ])
      expect((await create({ name: 'Again', public_key: key.jwk })).body.error).to.equal('key_registered')
      expect((await create({ name: 'Elsewhere', public_key: pqKey.jwk })).status).to.equal(422)
    })

    it('without a key get one that is shown once; a key is one device’s, however many ask at once', async () => {
      const made = (await create({ name: 'Till' })).body
      expect(Buffer.from(made.private_key?.d ?? '', 'base64url')).to.have.length(32)
      expect(await inUse(made.kid)).to.equal(made.device_id)
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => create({ name: 'Till', public_key: key.jwk })),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
    })
  })
})
