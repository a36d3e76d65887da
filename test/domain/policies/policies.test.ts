/** Policies through the real app: what is in force, how it is replaced, and what it decides. */
import { createHash, randomUUID } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet } from 'jose'
import { systemCaller } from '../../../src/caller.ts'
import { CIRCUITS } from '../../../src/circuits/catalogue.ts'
import type {
  PolicyPage,
  PolicyRule,
  PolicyTried,
  StoredPolicy,
} from '../../../src/domain/policies/schemas.ts'
import type { DecisionAnswer } from '../../../src/domain/policies/schemas-decisions.ts'
import { findPolicies } from '../../../src/domain/policies/store.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { readsOf } from '../../support/query-plans.ts'
import { type Failure, freeOrganisation } from '../../support/verification.ts'

const PERMIT_SMALL: PolicyRule = {
  effect: 'permit',
  reason: 'SMALL',
  rules: [{ field: 'context.amount', op: 'lte', value: 100 }],
  obligations: [{ id: 'log', parameters: { level: 'full' } }],
}
const DENY_BLOCKED: PolicyRule = {
  effect: 'deny',
  reason: 'BLOCKED',
  rules: [{ field: 'subject.properties.blocked', op: 'eq', value: true }],
  obligations: [{ id: 'alert' }],
}

const permitBelow = (amount: number): PolicyRule => ({
  effect: 'permit',
  rules: [{ field: 'context.amount', op: 'lt', value: amount }],
})

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hasher = createHash('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest('hex')
}

describe('policies', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  const read = (id: string, key = owner.apiKey) =>
    app.request<StoredPolicy & Failure>('GET', `/console/api/policies/${id}`, { key })
  const write = (id: string, body: object, key = owner.apiKey) =>
    app.request<StoredPolicy & Failure & { version: number }>('PUT', `/console/api/policies/${id}`, {
      key,
      body,
    })
  const newPolicy = async (rules: readonly object[]): Promise<string> => {
    const id = `order-${randomUUID().slice(0, 8)}`
    const { status, body } = await write(id, { rules })
    expect(status, JSON.stringify(body)).to.equal(200)
    return id
  }
  const decide = async (type: string, context?: object, properties: object = {}, key = owner.apiKey) => {
    const body = {
      subject: { type: 'user', id: 'ada', properties },
      action: { name: 'pay' },
      resource: { type, id: 'A-1' },
      context,
    }
    const answer = await app.request<DecisionAnswer & Failure>('POST', '/v1/nior/policy/decide', {
      key,
      body,
    })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  /** Decision, codes and names of obligations, as one thing to compare. */
  const summary = ({ decision, context }: DecisionAnswer) => [
    decision,
    context.reason_codes,
    context.obligations.map(({ id }) => id),
  ]

  it('are there for each circuit from the start, and deny everything else', async () => {
    for (const id of ['simple_yesno', 'yesno']) {
      const { status, body } = await read(id)
      expect(status).to.equal(200)
      expect(body).to.deep.include({ policyId: id, version: 0, seeded: true, updatedAt: null })
      expect(body.rules).to.have.length(1)
    }
    expect((await read('default')).body).to.deep.include({ version: 0, seeded: true, rules: [] })
    expect((await read('order')).status).to.equal(404)
    const answer = await decide('order', { amount: 1 })
    expect(summary(answer)).to.deep.equal([false, ['DEFAULT_POLICY', 'NO_RULE_PERMITS'], []])
    expect(answer.context).to.include({ policy: 'default', policy_version: 0 })
  })

  it('permit what a rule permits, with its reason and obligations', async () => {
    const type = await newPolicy([PERMIT_SMALL, DENY_BLOCKED])
    expect(summary(await decide(type, { amount: 100 }, { blocked: false }))).to.deep.equal([
      true,
      ['SMALL'],
      ['log'],
    ])
    expect(summary(await decide(type, { amount: 101 }, { blocked: false }))).to.deep.equal([
      false,
      ['NO_RULE_PERMITS'],
      [],
    ])
  })

  it('let a denial override every permission, in whatever order they stand', async () => {
    for (const rules of [
      [PERMIT_SMALL, DENY_BLOCKED],
      [DENY_BLOCKED, PERMIT_SMALL],
    ]) {
      const type = await newPolicy(rules)
      expect(summary(await decide(type, { amount: 1 }, { blocked: true }))).to.deep.equal([
        false,
        ['BLOCKED'],
        ['alert'],
      ])
    }
  })

  it('never permit for want of data, neither what permits nor what denies', async () => {
    const type = await newPolicy([PERMIT_SMALL, DENY_BLOCKED])
    expect(summary(await decide(type, {}, { blocked: false }))).to.deep.equal([false, ['MISSING_DATA'], []])
    expect(summary(await decide(type, { amount: 1 }))).to.deep.equal([false, ['MISSING_DATA'], []])
  })

  it('permit when one of several rules does', async () => {
    const type = await newPolicy([
      PERMIT_SMALL,
      { effect: 'permit', rules: [{ field: 'subject.id', op: 'eq', value: 'ada' }] },
    ])
    expect(summary(await decide(type, { amount: 500 }))).to.deep.equal([true, ['RULE_PERMITS'], []])
    expect(summary(await decide(type, { amount: 5 }))).to.deep.equal([
      true,
      ['SMALL', 'RULE_PERMITS'],
      ['log'],
    ])
  })

  it('decide by the default where a type has none of its own', async () => {
    const { apiKey } = await app.organisation()
    await write('default', { rules: [PERMIT_SMALL] }, apiKey)
    const answer = await decide('whatever is this', { amount: 5 }, {}, apiKey)
    expect(answer.decision).to.equal(true)
    expect(answer.context).to.include({ policy: 'default', policy_version: 1 })
  })

  it('decide by the default about a type named like a circuit as well, until one of that name is written', async () => {
    const { apiKey } = await app.organisation()
    await write('default', { rules: [PERMIT_SMALL] }, apiKey)
    for (const { id } of CIRCUITS) {
      const answer = await decide(id, { amount: 5 }, {}, apiKey)
      expect([answer.decision, answer.context.policy, answer.context.policy_version], id).to.deep.equal([
        true,
        'default',
        1,
      ])
    }
    await write('yesno', { rules: [] }, apiKey)
    const { decision, context } = await decide('yesno', { amount: 5 }, {}, apiKey)
    expect([decision, context.policy]).to.deep.equal([false, 'yesno'])
  })

  it('are never taken for those of another type, whatever its name holds', async () => {
    const { apiKey } = await app.organisation()
    await write('order', { rules: [PERMIT_SMALL] }, apiKey)
    for (const type of ['order/', 'order/refund', '/order'])
      expect((await decide(type, { amount: 1 }, {}, apiKey)).context, type).to.include({ policy: 'default' })
  })

  it('belong to one organisation', async () => {
    const type = await newPolicy([PERMIT_SMALL])
    const { apiKey } = await app.organisation()
    expect((await read(type, apiKey)).status).to.equal(404)
    expect((await decide(type, { amount: 1 }, {}, apiKey)).decision).to.equal(false)
  })

  it('are listed by name, each with the version in force, page by page', async () => {
    const { apiKey, organisationId } = await app.organisation()
    const page = (query = '') =>
      app.request<PolicyPage & Failure>('GET', `/console/api/policies${query}`, { key: apiKey })
    expect((await page()).body).to.deep.equal({ policies: [], nextCursor: null })
    for (const [name, versions] of [
      ['refund', 1],
      ['default', 1],
      ['order', 3],
      ['yesno', 2],
    ] as const)
      for (let version = 0; version < versions; version++)
        expect((await write(name, { rules: [PERMIT_SMALL], version }, apiKey)).status, name).to.equal(200)
    expect((await write('order', { rules: [] }, apiKey)).status).to.equal(200)
    const { policies } = (await page()).body
    expect(policies.map(({ policyId, version, ruleCount }) => [policyId, version, ruleCount])).to.deep.equal([
      ['default', 1, 1],
      ['order', 4, 0],
      ['refund', 1, 1],
      ['yesno', 2, 1],
    ])
    for (const { policyId, updatedAt } of policies)
      expect((await read(policyId, apiKey)).body.updatedAt).to.equal(updatedAt)
    const shown = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: PolicyPage } = await page(`?limit=1${cursor && `&cursor=${cursor}`}`)
      shown.push(...body.policies)
      cursor = body.nextCursor
    }
    expect(shown).to.deep.equal(policies)
    expect((await page('?cursor=1')).status).to.equal(400)

    // However many versions there are, each name takes a look or two.
    const { database } = app.services
    await database.knex.raw(
      `INSERT INTO policies (organisation, name, version, rules, entry_index, created_at)
        SELECT organisation, name, 10 + i, rules, entry_index, created_at
          FROM policies, generate_series(1, 2000) AS i WHERE organisation = ? AND name = 'order' AND version = 1`,
      [organisationId],
    )
    await database.knex.raw('ANALYZE policies')
    const reads = await readsOf(database, () => findPolicies(database, organisationId, { limit: 20 }))
    expect(reads[0]?.rows, JSON.stringify(reads[0]?.indexes)).to.be.at.most(60)
    expect((await page()).body.policies[1]).to.include({ policyId: 'order', version: 2010 })
  })

  it('are replaced version by version, and decide anew at once', async () => {
    const type = await newPolicy([PERMIT_SMALL])
    expect((await decide(type, { amount: 1 })).decision).to.equal(true)
    const second = await write(type, { version: 1, rules: [] })
    expect(second.body).to.deep.include({ version: 2, seeded: false, rules: [] })
    const answer = await decide(type, { amount: 1 })
    expect([answer.decision, answer.context.policy_version]).to.deep.equal([false, 2])
    const stale = await write(type, { version: 1, rules: [PERMIT_SMALL] })
    expect([stale.status, stale.body.error, stale.body.version]).to.deep.equal([409, 'conflict', 2])
    expect((await write(type, { version: 0, rules: [] })).status).to.equal(409)
    expect((await write('order-unknown', { version: 1, rules: [] })).status).to.equal(404)
    expect((await read(type)).body).to.deep.equal(second.body)
    expect(second.body.hash).to.equal(sha256('[]'))
  })

  it('give one of many that replace the same version the last word, and tell the others', async () => {
    const type = await newPolicy([])
    const caller = systemCaller(owner.organisationId, 'test')
    // Together from the first step on, which requests are only by chance.
    const replace = (_: unknown, amount: number) =>
      app.services.policies.replace(caller, type, { version: 1, rules: [permitBelow(amount)] })
    const settled = await Promise.allSettled(Array.from({ length: 8 }, replace))
    expect(settled.filter(({ status }) => status === 'fulfilled')).to.have.length(1)
    for (const one of settled) if (one.status === 'rejected') expect(one.reason.code).to.equal('conflict')
  })

  it('are replaced once where the answer was lost and the same is sent again, whole as well', async () => {
    const { apiKey, organisationId } = await app.organisation()
    const entries = () =>
      app.services.database.knex('ledger_entries').where({ organisation: organisationId }).select('idx')
    const { body: read0 } = await read('yesno', apiKey)
    for (const [version, change] of [
      [1, { ...read0, rules: [PERMIT_SMALL] }],
      [2, { version: 1, rules: [DENY_BLOCKED] }],
      [3, { rules: [PERMIT_SMALL, DENY_BLOCKED] }],
    ] as const) {
      const before = await entries()
      const first = await write('yesno', change, apiKey)
      expect([first.status, first.body.version], JSON.stringify(first.body)).to.deep.equal([200, version])
      expect((await write('yesno', change, apiKey)).body).to.deep.equal(first.body)
      expect(await entries()).to.have.length(before.length + 1)
    }
    const odd = await write(
      'yesno',
      { version: 2, seeded: true, rules: [PERMIT_SMALL, DENY_BLOCKED] },
      apiKey,
    )
    expect([odd.status, odd.body.error]).to.deep.equal([422, 'read_only'])
    expect((await write('yesno', { version: 2, rules: [] }, apiKey)).status).to.equal(409)
  })

  it('are all taken where many replace whatever is there, one version for each', async () => {
    const type = await newPolicy([])
    const caller = systemCaller(owner.organisationId, 'test')
    const replace = (_: unknown, amount: number) =>
      app.services.policies.replace(caller, type, { rules: [permitBelow(amount)] })
    const written = await Promise.all(Array.from({ length: 8 }, replace))
    expect(written.map(({ version }) => version).sort()).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9])
    const same = await Promise.all(Array.from({ length: 8 }, () => write(type, { rules: [DENY_BLOCKED] })))
    expect(same.map(({ status, body }) => [status, body.version])).to.deep.equal(Array(8).fill([200, 10]))
  })

  it('refuse rules that could not be read when they are needed', async () => {
    const rule = { field: 'context.amount', op: 'lte', value: 1 }
    const cases: [rules: object[], error: string, path: string][] = [
      [[{ effect: 'permit' }], 'validation_failed', '/rules/0/rules'],
      [[{ effect: 'maybe', rules: [rule] }], 'validation_failed', '/rules/0/effect'],
      [
        [PERMIT_SMALL, { effect: 'deny', rules: [{ ...rule, value: 'x' }] }],
        'validation_failed',
        '/rules/1/rules/0/value',
      ],
      [[{ effect: 'permit', reason: 'in words', rules: [rule] }], 'validation_failed', '/rules/0/reason'],
      [Array(2).fill({ effect: 'permit', rules: Array(9).fill(rule) }), 'tree_too_large', '/rules'],
    ]
    for (const [rules, error, path] of cases) {
      const { status, body } = await write('order', { rules })
      expect([status, body.error, body.details?.[0]?.path], JSON.stringify(body)).to.deep.equal([
        422,
        error,
        path,
      ])
    }
  })

  it('are not changed by a key that only has things verified', async () => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'till', scopes: ['verify'] },
    })
    expect((await read('yesno', body.apiKey)).status).to.equal(200)
    const refused = await write('yesno', { rules: [] }, body.apiKey)
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
  })

  it('decide under a signature that binds the request, the policy and the place in the ledger', async () => {
    const type = await newPolicy([PERMIT_SMALL])
    const { decision, context } = await decide(type, { amount: 5 })
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await compactVerify(context.jws, keys)
    expect(protectedHeader).to.include({ alg: 'EdDSA', typ: 'pd+jws' })
    const signed = JSON.parse(Buffer.from(payload).toString())
    expect(signed).to.deep.include({
      jti: context.decision_id,
      decision,
      reason_codes: ['SMALL'],
      policy: type,
      policy_version: 1,
      org: owner.organisationId,
    })
    const request = {
      subject: { type: 'user', id: 'ada', properties: {} },
      action: { name: 'pay' },
      resource: { type, id: 'A-1' },
      context: { amount: 5 },
    }
    const salt = Buffer.from(context.salt, 'base64url')
    expect(signed.request_commitment).to.equal(sha256('commitment/1', salt, canonicalize(request) ?? ''))
    const leaf_hash = Buffer.from(signed.leaf_hash, 'hex')
    const row = await app.services.database.knex('ledger_entries').where({ leaf_hash }).first('type', 'entry')
    expect(row.type).to.equal('gate')
    expect(row.entry).not.to.contain('"ada"')
    expect(JSON.parse(row.entry).data).to.include({ decisionId: context.decision_id, decision, version: 1 })
  })

  it('use up free results like any signed one, and then say so', async () => {
    const { apiKey } = await freeOrganisation(app)
    const body = {
      subject: { type: 'user', id: 'ada' },
      action: { name: 'pay' },
      resource: { type: 'order', id: 'A-1' },
    }
    const answer = await app.request('POST', '/v1/nior/policy/decide', { key: apiKey, body })
    expect([answer.status, answer.headers.get('x-free-remaining')]).to.deep.equal([200, '99'])
  })

  describe('a dry run', () => {
    const attempt = (id: string, body: object, key = owner.apiKey) =>
      app.request<PolicyTried & Failure>('POST', `/console/api/policies/${id}/try`, { key, body })
    const treeSize = async (): Promise<number> =>
      (await app.request<{ treeSize: number }>('GET', '/api/audit?limit=1', { key: owner.apiKey })).body
        .treeSize

    it('decides by the rules that are sent, which are put nowhere, and records nothing', async () => {
      const id = await newPolicy([])
      const before = await treeSize()
      const { status, body } = await attempt(id, {
        rules: [PERMIT_SMALL],
        facts: { context: { amount: 100 } },
      })
      expect([status, body]).to.deep.equal([
        200,
        {
          decision: 'YES',
          reasonCodes: ['SMALL'],
          obligations: PERMIT_SMALL.obligations,
          policyId: id,
          version: null,
        },
      ])
      const more = await attempt(id, { rules: [PERMIT_SMALL], facts: { context: { amount: 101 } } })
      expect(more.body).to.deep.include({ decision: 'NO', reasonCodes: ['NO_RULE_PERMITS'] })
      expect((await read(id)).body.rules).to.deep.equal([])
      expect(await treeSize()).to.equal(before)
    })

    it('decides by the policy in force without rules, as a real decision would', async () => {
      const id = await newPolicy([PERMIT_SMALL])
      const facts = { context: { amount: 1 } }
      expect((await attempt(id, { facts })).body).to.include({ decision: 'YES', policyId: id, version: 1 })
      const unknown = await attempt(`${id}-unknown`, { facts })
      expect(unknown.body).to.include({ decision: 'NO', policyId: 'default', version: 0 })
      const payer = { identifier: 'ada', context: { amount: 5, currency: 'GBP' } }
      expect((await attempt('simple_yesno', { facts: payer })).body).to.include({
        decision: 'YES',
        version: 0,
      })
      const unpaid = { identifier: 'ada', context: { amount: 5, currency: 'GBX' } }
      expect((await attempt('simple_yesno', { facts: unpaid })).body.decision).to.equal('NO')
    })

    it('sees what a real decision sees, and refuses what none would', async () => {
      const permit = (field: string, op: string, value?: unknown) => [
        { effect: 'permit', rules: [{ field, op, ...(value !== undefined && { value }) }] },
      ]
      const outcome = async (id: string, rules: object[], facts: object) => {
        const { status, body } = await attempt(id, { rules, facts })
        return status === 200 ? body.decision : `${body.error} ${body.details?.[0]?.path}`
      }
      // A field that lacks its `context.`: tried on facts that lack it too it would hold, and never in earnest.
      expect(await outcome('order', permit('amount', 'lte', 100), { amount: 5 })).to.equal(
        'unknown_member /facts/amount',
      )
      const absent = permit('context.amount', 'exists', false)
      expect(await outcome('order', absent, { identifier: 'ada' })).to.equal(
        'unknown_member /facts/identifier',
      )
      expect(await outcome('kyc', absent, { identifier: 'ada', subject: { id: 'ada' } })).to.equal(
        'unknown_member /facts/identifier',
      )
      // What a circuit is asked about is no fact, and its context is never missing.
      const inputs = { identifier: 'ada', context: { inputs: { index: 1 } } }
      expect(await outcome('audit_proof', permit('context.inputs', 'exists'), inputs)).to.equal('NO')
      const unnamed = permit('currency_known', 'eq', false)
      expect(await outcome('yesno', unnamed, { identifier: 'ada' })).to.equal('YES')
      expect(await outcome('yesno', permit('context', 'exists'), { identifier: 'ada' })).to.equal('YES')
    })

    it('has the policy decide that really would where a resource has the type of a circuit’s name', async () => {
      const question = {
        subject: { type: 'user', id: 'ada' },
        action: { name: 'read' },
        resource: { type: 'kyc', id: 'k-1' },
        context: { amount: 5, currency: 'GBP' },
      }
      const { body: decided } = await app.request<DecisionAnswer>('POST', '/access/v1/evaluation', {
        key: owner.apiKey,
        body: question,
      })
      const { body: tried } = await attempt('kyc', { facts: question })
      const { policy, policy_version, reason_codes } = decided.context
      expect([tried.policyId, tried.version, tried.reasonCodes]).to.deep.equal([
        policy,
        policy_version,
        reason_codes,
      ])
      expect(policy).to.equal('default')
    })

    it('refuses rules that can’t be read, and is of the own organisation only', async () => {
      const wrong = await attempt('order', {
        rules: [{ effect: 'permit', rules: [{ field: 'a', op: 'near' }] }],
        facts: {},
      })
      expect(wrong.status).to.equal(422)
      expect(wrong.body.details?.[0]?.path).to.match(/^\/rules\/0/)
      expect((await attempt('order', { rules: [] })).body.details?.[0]?.path).to.equal('/facts')
      const id = await newPolicy([PERMIT_SMALL])
      const other = await app.organisation()
      const { body } = await attempt(id, { facts: { context: { amount: 1 } } }, other.apiKey)
      expect(body).to.include({ decision: 'NO', policyId: 'default' })
    })
  })
})
