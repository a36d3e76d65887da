/**
 * Decisions as clients of the AuthZEN Authorization API 1.0 ask for them: the fixture, requests and demands of its
 * certification scenario (Basic, Batch, Discovery; openid/authzen, certification/authorization-api-1_0-scenario.md), and
 * what the API itself says beyond them.
 */
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet } from 'jose'
import type {
  AuthzenConfiguration,
  DecisionAnswer,
  FailedEvaluation,
} from '../../../src/domain/policies/schemas-decisions.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { type Failure, freeOrganisation } from '../../support/verification.ts'

const EVALUATION = '/access/v1/evaluation'
const EVALUATIONS = '/access/v1/evaluations'

/** The fixture's policy: eight decisions, four of which need properties. */
const RULES = [
  {
    effect: 'permit',
    reason: 'READER',
    rules: [
      { field: 'action.name', op: 'eq', value: 'read' },
      { field: 'subject.id', op: 'in', value: ['alice', 'bob'] },
    ],
  },
  {
    effect: 'permit',
    reason: 'WRITER',
    rules: [
      { field: 'action.name', op: 'eq', value: 'write' },
      { field: 'subject.id', op: 'eq', value: 'alice' },
    ],
    logic: {
      op: 'OR',
      children: [
        { op: 'NOT', child: { field: 'resource.properties.status', op: 'exists' } },
        { field: 'resource.properties.status', op: 'ne', value: 'archived' },
      ],
    },
  },
  {
    effect: 'permit',
    reason: 'ADMIN',
    rules: [
      { field: 'action.name', op: 'eq', value: 'write' },
      { field: 'subject.properties.role', op: 'eq', value: 'admin' },
    ],
  },
  {
    effect: 'permit',
    reason: 'SOFT',
    rules: [
      { field: 'action.name', op: 'eq', value: 'delete' },
      { field: 'subject.id', op: 'eq', value: 'alice' },
      { field: 'action.properties.soft', op: 'eq', value: true },
    ],
  },
]

type Evaluated = DecisionAnswer &
  Failure & {
    readonly evaluations: (DecisionAnswer | FailedEvaluation)[]
  }

const user = (id: string, properties?: object) => ({ type: 'user', id, ...(properties && { properties }) })
const record = (id: string, properties?: object) => ({
  type: 'record',
  id,
  ...(properties && { properties }),
})
const action = (name: string, properties?: object) => ({ name, ...(properties && { properties }) })
const ARCHIVED = record('record-2', { status: 'archived' })
const ALICE_READS = { subject: user('alice'), action: action('read'), resource: record('record-1') }

describe('AuthZEN', () => {
  let app: TestApp
  let key: string
  before(async () => {
    app = await sharedApp()
    ;({ apiKey: key } = await app.organisation())
    const { status, body } = await app.request('PUT', '/console/api/policies/record', {
      key,
      body: { rules: RULES },
    })
    expect(status, JSON.stringify(body)).to.equal(200)
  })
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    app.request<Evaluated>('POST', path, { key, body, headers })
  const decided = async (body: object) => {
    const answer = await ask(EVALUATION, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.headers.get('content-type')).to.match(/^application\/json/)
    return answer.body.decision
  }
  const decidedAll = async (body: object) => {
    const answer = await ask(EVALUATIONS, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.body).not.to.have.property('decision')
    return answer.body.evaluations.map(({ decision }) => decision)
  }
  const entriesOf = async (apiKey: string) => {
    const { body } = await app.request<{ entries: { type: string }[] }>('GET', '/api/audit?limit=100', {
      key: apiKey,
    })
    return body.entries.filter(({ type }) => type === 'gate').length
  }

  describe('evaluation', () => {
    it('decides by who, what and which alone (2.2, core)', async () => {
      expect(await decided(ALICE_READS)).to.equal(true)
      expect(await decided({ ...ALICE_READS, action: action('write') })).to.equal(true)
      expect(await decided({ ...ALICE_READS, subject: user('bob') })).to.equal(true)
      expect(await decided({ ...ALICE_READS, subject: user('bob'), action: action('write') })).to.equal(false)
      const context = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' }
      expect(await decided({ ...ALICE_READS, context })).to.equal(true)
    })

    it('decides by properties of each (2.2, properties)', async () => {
      const writes = { subject: user('alice'), action: action('write'), resource: ARCHIVED }
      expect(await decided(writes)).to.equal(false)
      expect(await decided({ ...writes, subject: user('bob', { role: 'admin' }) })).to.equal(true)
      const deletes = (soft: boolean) => ({ ...ALICE_READS, action: action('delete', { soft }) })
      expect(await decided(deletes(true))).to.equal(true)
      expect(await decided(deletes(false))).to.equal(false)
    })

    it('ignores what it does not know (2.2.8, 2.2.9)', async () => {
      const more = {
        subject: user('alice', { department: 'Sales', role: 'manager' }),
        action: action('read', { method: 'GET' }),
        resource: record('record-1', { status: 'active', owner: 'bob' }),
      }
      expect(await decided(more)).to.equal(true)
      expect(await decided({ ...ALICE_READS, foo: 'bar', futureField: { nested: true } })).to.equal(true)
      expect(await decided({ ...ALICE_READS, subject: { ...user('alice'), more: 1 } })).to.equal(true)
    })

    it('answers 400 to whatever is no request (2.4)', async () => {
      const { subject, action: read, resource } = ALICE_READS
      const bodies: unknown[] = [
        { action: read, resource },
        { subject, resource },
        { subject, action: read },
        { ...ALICE_READS, subject: { id: 'alice' } },
        { ...ALICE_READS, subject: { type: 'user' } },
        { ...ALICE_READS, action: {} },
        { ...ALICE_READS, resource: { id: 'record-1' } },
        { ...ALICE_READS, resource: { type: 'record' } },
        { ...ALICE_READS, subject: 'alice' },
        { ...ALICE_READS, action: { name: 123 } },
        { ...ALICE_READS, context: 'now' },
        { ...ALICE_READS, subject: null },
        [],
        '{"subject"',
        '',
        '{"subject":{"type":"user","id":"a"},"action":{"name":"a"},"resource":{"type":"a","id":"b"},"context":{"n":12345678901234567890}}',
      ]
      for (const path of [EVALUATION, EVALUATIONS])
        for (const body of bodies) {
          const answer = await ask(path, body)
          expect(answer.status, `${path} ${JSON.stringify(body)}`).to.equal(400)
          expect(answer.body.message).to.be.a('string')
        }
      for (const type of ['text/plain', 'application/xml']) {
        const answer = await ask(EVALUATION, JSON.stringify(ALICE_READS), { 'content-type': type })
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_request'])
      }
      const { body } = await ask(EVALUATION, { ...ALICE_READS, action: {} })
      expect(body.details?.[0]).to.deep.include({ path: '/action/name', code: 'required' })
    })

    it('tells who may not ask apart from what is denied', async () => {
      const none = await app.request('POST', EVALUATION, { body: ALICE_READS })
      expect([none.status, none.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer realm="assay"'])
      const { apiKey } = await freeOrganisation(app, ['token'])
      expect((await app.request('POST', EVALUATION, { key: apiKey, body: ALICE_READS })).status).to.equal(403)
      const bearer = await app.request<Evaluated>('POST', EVALUATION, { bearer: key, body: ALICE_READS })
      expect([bearer.status, bearer.body.decision]).to.deep.equal([200, true])
    })

    it('returns the request id that it was sent, and decides the same again (2.5, 2.6)', async () => {
      for (const id of ['bfe9eb29-ab87-4ca3-be83-a1d5d8305716', 'any text: 1/2'])
        for (const body of [ALICE_READS, {}]) {
          const { headers } = await ask(EVALUATION, body, { 'x-request-id': id })
          expect(headers.get('x-request-id')).to.equal(id)
        }
      expect((await ask(EVALUATION, ALICE_READS)).headers.get('x-request-id')).to.match(/^req_/)
      const again = await Promise.all(Array.from({ length: 5 }, () => decided(ALICE_READS)))
      expect(again).to.deep.equal(Array(5).fill(true))
    })

    it('denies what no policy permits, and says in its context why', async () => {
      const { body } = await ask(EVALUATION, { ...ALICE_READS, resource: { type: 'unheard-of', id: '1' } })
      expect(body.decision).to.equal(false)
      expect(body.context).to.deep.include({
        reason_codes: ['DEFAULT_POLICY', 'NO_RULE_PERMITS'],
        policy: 'default',
      })
    })
  })

  describe('evaluations', () => {
    it('are decided in their order, each by its own or the common entities (3.2)', async () => {
      const alice = { subject: user('alice') }
      expect(
        await decidedAll({
          subject: user('bob'),
          resource: record('record-1'),
          evaluations: [{ action: action('read') }, { action: action('write') }],
        }),
      ).to.deep.equal([true, false])
      const active = record('record-1', { status: 'active' })
      expect(
        await decidedAll({
          ...alice,
          action: action('write'),
          evaluations: [{ resource: active }, { resource: ARCHIVED }],
        }),
      ).to.deep.equal([true, false])
      expect(
        await decidedAll({
          action: action('write'),
          resource: ARCHIVED,
          evaluations: [alice, { subject: user('bob', { role: 'admin' }) }],
        }),
      ).to.deep.equal([false, true])
      expect(
        await decidedAll({
          evaluations: [ALICE_READS, { ...ALICE_READS, subject: user('bob'), action: action('write') }],
        }),
      ).to.deep.equal([true, false])
      expect(
        await decidedAll({
          ...alice,
          action: action('write'),
          resource: active,
          evaluations: [{}, { resource: ARCHIVED }],
        }),
      ).to.deep.equal([true, false])
      // An entity is replaced as a whole: the status of the common one is not left in it.
      expect(
        await decidedAll({
          ...alice,
          action: action('write'),
          resource: ARCHIVED,
          evaluations: [{ resource: record('record-1') }],
        }),
      ).to.deep.equal([true])
    })

    it('of which one lacks something are denied in its place, and recorded as far as they were decided (3.4.1)', async () => {
      const { apiKey } = await app.organisation()
      const { status, body } = await app.request<Evaluated>('POST', EVALUATIONS, {
        key: apiKey,
        body: {
          subject: user('alice'),
          action: action('read'),
          options: { evaluations_semantic: 'execute_all', another_option: 'value' },
          evaluations: [{ resource: record('record-1') }, {}, 5, { resource: { type: 'record' } }],
        },
      })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.evaluations.map(({ decision }) => decision)).to.deep.equal([false, false, false, false])
      const errors = body.evaluations.slice(1).map((item) => (item as FailedEvaluation).context.error)
      expect(errors.map(({ status: code, details }) => [code, details[0]?.path])).to.deep.equal([
        [400, '/resource'],
        [400, ''],
        [400, '/resource/id'],
      ])
      expect(await entriesOf(apiKey)).to.equal(1)
    })

    it('are one evaluation where there are none (3.4.2, 3.4.3)', async () => {
      for (const more of [{}, { evaluations: [] }]) {
        const { status, body } = await ask(EVALUATIONS, { ...ALICE_READS, ...more })
        expect([status, body.decision, body.context.policy]).to.deep.equal([200, true, 'record'])
        expect(body).not.to.have.property('evaluations')
      }
    })

    it('end after the first denial or the first permission where that is asked for, errors being denials', async () => {
      const { apiKey } = await app.organisation()
      await app.request('PUT', '/console/api/policies/record', { key: apiKey, body: { rules: RULES } })
      const reads = { action: action('read'), resource: record('record-1') }
      const [yes, no, wrong] = [{ subject: user('alice') }, { subject: user('eve') }, { subject: 5 }]
      const asked = async (semantic: string, ...evaluations: object[]) => {
        const before = await entriesOf(apiKey)
        const { status, body } = await app.request<Evaluated>('POST', EVALUATIONS, {
          key: apiKey,
          body: { ...reads, evaluations, options: { evaluations_semantic: semantic } },
        })
        expect(status, JSON.stringify(body)).to.equal(200)
        return [body.evaluations.map(({ decision }) => decision), (await entriesOf(apiKey)) - before]
      }
      expect(await asked('execute_all', yes, no, yes)).to.deep.equal([[true, false, true], 3])
      expect(await asked('deny_on_first_deny', yes, no, yes)).to.deep.equal([[true, false], 2])
      expect(await asked('deny_on_first_deny', yes, wrong, yes)).to.deep.equal([[true, false], 1])
      expect(await asked('permit_on_first_permit', no, wrong, yes, yes)).to.deep.equal([
        [false, false, true],
        2,
      ])
      expect(await asked('permit_on_first_permit', no, no)).to.deep.equal([[false, false], 2])
      const unknown = await ask(EVALUATIONS, {
        ...reads,
        evaluations: [yes],
        options: { evaluations_semantic: 'all' },
      })
      expect(unknown.status).to.equal(400)
    })

    it('are at most 100, whose entities beside them are right', async () => {
      const many = (count: number) => ({ ...ALICE_READS, evaluations: Array(count).fill({}) })
      expect((await decidedAll(many(100))).length).to.equal(100)
      expect((await ask(EVALUATIONS, many(101))).status).to.equal(400)
      for (const wrong of [{ subject: 'alice' }, { evaluations: {} }, { options: 'execute_all' }])
        expect((await ask(EVALUATIONS, { ...many(1), ...wrong })).status).to.equal(400)
    })

    it('are bounded with what each takes from beside them, and count as ten requests', async () => {
      const { apiKey } = await app.organisation()
      const asked = (count: number) => {
        const context = { note: 'x'.repeat(900_000) }
        const body = { ...ALICE_READS, context, evaluations: Array(count).fill({}) }
        return app.request<Evaluated>('POST', EVALUATIONS, { key: apiKey, body })
      }
      const { status, headers } = await asked(4)
      expect(status).to.equal(200)
      const [limit, left] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) =>
        Number(headers.get(name)),
      )
      expect(Number(limit) - Number(left)).to.equal(10)
      const refused = await asked(100)
      expect([refused.status, refused.body.error]).to.deep.equal([422, 'batch_too_large'])
      expect(refused.body.message).to.contain('4 MiB')
      expect(await entriesOf(apiKey)).to.equal(4)
    })

    it('are signed and recorded each, and answered the same to a repeated request', async () => {
      const headers = { 'idempotency-key': `evaluations-${Date.now()}` }
      const body = { ...ALICE_READS, evaluations: [{}, {}, { subject: 5 }] }
      const [first, second] = [await ask(EVALUATIONS, body, headers), await ask(EVALUATIONS, body, headers)]
      expect(second.headers.get('idempotency-replayed')).to.equal('true')
      expect(second.body).to.deep.equal(first.body)
      const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
      const signed = first.body.evaluations.slice(0, 2) as DecisionAnswer[]
      const ids = await Promise.all(
        signed.map(async ({ decision, context }) => {
          const { payload, protectedHeader } = await compactVerify(context.jws, keys)
          const said = JSON.parse(new TextDecoder().decode(payload))
          expect([protectedHeader.typ, said.decision, said.jti]).to.deep.equal([
            'pd+jws',
            decision,
            context.decision_id,
          ])
          return said.leaf_hash
        }),
      )
      expect(new Set(ids).size).to.equal(2)
    })

    it('are all paid, or none is recorded', async () => {
      const { apiKey } = await freeOrganisation(app)
      const reads = (count: number) =>
        app.request<Evaluated>('POST', EVALUATIONS, {
          key: apiKey,
          body: { ...ALICE_READS, evaluations: Array(count).fill({}) },
        })
      const { status, headers } = await reads(60)
      expect([status, headers.get('x-free-remaining')]).to.deep.equal([200, '40'])
      expect((await reads(41)).status).to.equal(402)
      expect(await entriesOf(apiKey)).to.equal(60)
      expect((await reads(40)).headers.get('x-free-remaining')).to.equal('0')
    })
  })

  it('is found by its configuration, whose identifier is that of the service (6)', async () => {
    const other = await startTestApp({ env: { BASE_URL: 'https://pdp.example' } })
    try {
      const { status, headers, body } = await other.request<AuthzenConfiguration>(
        'GET',
        '/.well-known/authzen-configuration',
      )
      expect(status).to.equal(200)
      expect(headers.get('content-type')).to.match(/^application\/json/)
      expect(headers.get('cache-control')).to.equal('public, max-age=3600')
      expect(body).to.deep.equal({
        policy_decision_point: 'https://pdp.example',
        access_evaluation_endpoint: 'https://pdp.example/access/v1/evaluation',
        access_evaluations_endpoint: 'https://pdp.example/access/v1/evaluations',
      })
    } finally {
      await other.close()
    }
  })
})
