/** Eligibility with hermes as a source: its verdict is a fact, its failure is none. */
import { expect } from 'chai'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { entryTypes, postCheck, postComposite } from '../../support/domain/eligibility.ts'
import { createProxy, MEMBERS, USER_ID } from '../../support/domain/hermes.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { json, startTargetServer, type TargetServer } from '../../support/servers/target-server.ts'
import { freeOrganisation } from '../../support/verification.ts'

const LISTED = { source: 'register', field: 'verdict', op: 'eq', value: 'YES' }

describe('eligibility by what hermes says', () => {
  let app: TestApp
  let owner: TestOrganisation
  let target: TargetServer
  before(async () => {
    target = await startTargetServer()
    target.on('/members', json({ members: MEMBERS }))
    target.on('/broken', json({}, 500))
    target.on('/text', (_, response) => {
      response.writeHead(200).end('no JSON')
    })
    app = await startTestApp({ env: { EGRESS_OPEN_PROXY: 'on' } })
    owner = await app.organisation()
  })
  after(async () => {
    await app.close()
    await target.close()
  })

  const slugOf = async (path: string, key?: string, requireToken = false): Promise<string> =>
    (await createProxy(app, { destinationUrl: `${target.url}${path}`, requireToken }, key)).slug
  const ask = (slug: string, source: object = {}, identifier = '1') =>
    postCheck(app, owner.apiKey, {
      identifier,
      dataSources: [{ id: 'register', type: 'hermes', slug, ...source }],
      rules: [LISTED],
    })

  it('takes the verdict of an own route as a fact', async () => {
    const slug = await slugOf('/members', owner.apiKey, true)
    const yes = await ask(slug, { criteria: { name: 'Ada', age: { gte: 18 } } })
    expect([yes.status, yes.body.eligible], JSON.stringify(yes.body)).to.deep.equal([200, true])
    const no = await ask(slug, { criteria: { name: 'Bob', age: { gte: 18 } } })
    expect([no.status, no.body.eligible, no.body.token]).to.deep.equal([200, false, null])
    expect(no.body).not.to.have.property('reason')
  })

  it('asks an open route as well, and for the identifier where there are no criteria', async () => {
    const slug = await slugOf('/members')
    expect((await ask(slug)).body.eligible).to.equal(true)
    expect((await ask(slug, {}, '3')).body.eligible).to.equal(false)
  })

  it('mixes it with other sources in one tree', async () => {
    const slug = await slugOf('/members', owner.apiKey)
    const answer = await postComposite(app, owner.apiKey, {
      dataSources: [
        { id: 'register', type: 'hermes', slug, criteria: { name: 'Ada' } },
        { id: 'form', type: 'inline', data: { accepted: true } },
      ],
      logicTree: { op: 'AND', children: [LISTED, { field: 'form.accepted', op: 'eq', value: true }] },
    })
    expect([answer.status, answer.body.eligible], JSON.stringify(answer.body)).to.deep.equal([200, true])
    expect(answer.body.aggregatedProof.members.map(({ type }) => type)).to.deep.equal(['hermes', 'inline'])
  })

  it('answers 502 when it fails, and never NO', async () => {
    const cases = [
      ['/broken', 'upstream_status'],
      ['/text', 'upstream_invalid'],
    ] as const
    for (const [path, code] of cases) {
      const slug = await slugOf(path, owner.apiKey)
      const before = await entryTypes(app, owner.organisationId)
      const { status, body } = await ask(slug, { criteria: { name: 'Ada' } })
      expect([status, body.error], path).to.deep.equal([502, 'source_failed'])
      expect(body.details?.[0]).to.include({ path: '/dataSources/0', code })
      expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
    }
  })

  it('tells of a route whose organisation has no results left, and not as if it were its own', async () => {
    const other = await freeOrganisation(app)
    const slug = await slugOf('/members', other.apiKey)
    const { knex } = app.services.database
    await ask(slug)
    await knex('ledger_counters').where({ organisation: other.organisationId }).update({ value: 100 })
    const { status, body } = await ask(slug)
    expect([status, body.error]).to.deep.equal([502, 'source_failed'])
    expect(body.message).to.equal('The organisation that created the hermes route has no results left.')
    expect(body.details?.[0]).to.include({ path: '/dataSources/0', code: 'free_allocation_used' })
  })

  it('answers 402 where an own route has no results left, as that route itself does', async () => {
    const { organisationId, apiKey } = await freeOrganisation(app, ['proof', 'verify'])
    const slug = await slugOf('/members', apiKey)
    const question = {
      identifier: '1',
      dataSources: [{ id: 'register', type: 'hermes', slug }],
      rules: [LISTED],
    }
    expect((await postCheck(app, apiKey, question)).status).to.equal(200)
    const { knex } = app.services.database
    await knex('ledger_counters').where({ organisation: organisationId }).update({ value: 100 })
    const before = await entryTypes(app, organisationId)
    const { status, body } = await postCheck(app, apiKey, question)
    expect([status, body.error]).to.deep.equal([402, 'free_allocation_used'])
    const direct = await app.request<object>('GET', `/hermes/${slug}?id=1`, { key: apiKey })
    expect(direct.status).to.equal(402)
    expect(direct.body).to.include({ error: body.error, message: body.message })
    expect(await entryTypes(app, organisationId)).to.deep.equal(before)
  })

  it("says what is wrong with a slug or a question, and opens nobody else's closed route", async () => {
    const other = await app.organisation()
    const closed = await slugOf('/members', other.apiKey, true)
    const open = await slugOf('/members')
    const cases: [slug: string, source: object, path: string][] = [
      ['111111111111', {}, '/dataSources/0/slug'],
      [closed, {}, '/dataSources/0/slug'],
      [open, { criteria: {} }, '/dataSources/0/criteria'],
      [open, { criteria: { name: { startsWith: 'A' } } }, '/dataSources/0/criteria/name/startsWith'],
    ]
    const dots = await ask(open, {}, '..')
    expect(dots.body.details?.[0]?.path, 'the identifier of the whole').to.equal('/identifier')
    for (const [slug, source, path] of cases) {
      const { status, body } = await ask(slug, source)
      expect([status, body.error, body.details?.[0]?.path], JSON.stringify(body)).to.deep.equal([
        422,
        'validation_failed',
        path,
      ])
    }
  })

  it('needs the scope that asking hermes needs', async () => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'proofs', scopes: ['proof'] },
    })
    const slug = await slugOf('/members', owner.apiKey, true)
    const answer = await postCheck(app, body.apiKey, {
      identifier: '1',
      dataSources: [{ id: 'register', type: 'hermes', slug }],
      rules: [LISTED],
    })
    expect([answer.status, answer.body.error]).to.deep.equal([403, 'insufficient_scope'])
  })

  it('commits nothing twice for a repeated Idempotency-Key: each step answers as it did', async () => {
    const slug = await slugOf('/members', owner.apiKey)
    const headers = { 'idempotency-key': 'once' }
    const body = {
      identifier: '1',
      dataSources: [{ id: 'register', type: 'hermes', slug }],
      rules: [LISTED],
    }
    const first = await postCheck(app, owner.apiKey, body, headers)
    const before = await entryTypes(app, owner.organisationId)
    const again = await postCheck(app, owner.apiKey, body, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
  })

  it('repeats its answer and asks no target again, whatever has become of target and route', async () => {
    const passing = await startTargetServer()
    passing.on('/members', json({ members: MEMBERS }))
    const destinationUrl = `${passing.url}/members`
    const { slug, id } = await createProxy(app, { destinationUrl }, owner.apiKey)
    const body = {
      identifier: '1',
      dataSources: ['register', 'other'].map((id) => ({ id, type: 'hermes', slug })),
      rules: [{ ...LISTED, source: 'other' }],
    }
    const headers = { 'idempotency-key': 'target-gone' }
    const first = await postCheck(app, owner.apiKey, body, headers)
    expect([first.status, first.body.eligible], JSON.stringify(first.body)).to.deep.equal([200, true])
    await passing.close()
    const again = await postCheck(app, owner.apiKey, body, headers)
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([200, 'true'])
    expect(again.body).to.deep.equal(first.body)
    const deletion = { key: owner.apiKey, body: { userId: USER_ID } }
    expect((await app.request('DELETE', `/proxy/${id}`, deletion)).status).to.equal(200)
    expect((await postCheck(app, owner.apiKey, body, headers)).body).to.deep.equal(first.body)
    expect(passing.requests).to.have.length(2)
  })

  /** Asks, and does something while the target is waited for. */
  const meanwhile = async <A>(ask: () => A, act: () => Promise<unknown>): Promise<Awaited<A>> => {
    let answerNow = (): void => undefined
    const held = new Promise<void>((resolve) => {
      answerNow = resolve
    })
    const arrived = new Promise<void>((resolve) => {
      target.on('/held', async (request, response) => {
        resolve()
        await held
        return json({ members: MEMBERS })(request, response)
      })
    })
    const answer = ask()
    await arrived
    await act()
    answerNow()
    return await answer
  }

  it('gives nobody a YES after a withdrawal or revocation that was answered while the target was waited for', async () => {
    const { apiKey, organisationId } = owner
    const register = { id: 'register', type: 'hermes', slug: await slugOf('/held', apiKey) }
    const rules = [{ field: 'own.valid', op: 'eq', value: true }, LISTED]
    const consents = consentRoutesOf(app, apiKey)
    const tokens = tokenRoutesOf(app, apiKey)
    const makes = [
      async () => {
        const { consentId } = await consents.logged({ subjectId: '1' })
        return [{ type: 'consent', purpose: 'newsletter' }, () => consents.revoke(consentId)] as const
      },
      async () => {
        const { token, tokenId } = await tokens.issued({ subject: '1' })
        return [{ type: 'credential', data: { token } }, () => tokens.revoke(tokenId)] as const
      },
    ]
    const asks = [
      (question: object) => postCheck(app, apiKey, { ...question, rules }),
      (question: object) =>
        postComposite(app, apiKey, { ...question, logicTree: { op: 'AND', children: rules } }),
    ]
    for (const make of makes)
      for (const ask of asks) {
        const [source, revoke] = await make()
        const question = { identifier: '1', dataSources: [{ id: 'own', ...source }, register] }
        const before = await entryTypes(app, organisationId)
        const { status, body } = await meanwhile(() => ask(question), revoke)
        expect([status, body.error], JSON.stringify(body)).to.deep.equal([409, 'conflict'])
        const since = (await entryTypes(app, organisationId)).slice(before.length)
        expect(since, 'no proof and no token').to.deep.equal(['revoke', 'verify'])
        expect((await ask(question)).body.eligible).to.equal(false)
      }
  })

  it('gives a YES where the rules hold by the end as well, whatever else was changed meanwhile', async () => {
    const { apiKey } = owner
    const register = { id: 'register', type: 'hermes', slug: await slugOf('/held', apiKey) }
    const rules = [{ field: 'own.valid', op: 'eq', value: true }, LISTED]
    const consents = consentRoutesOf(app, apiKey)
    const { consentId } = await consents.logged({ subjectId: '2' })
    const dataSources = [{ id: 'own', type: 'consent', purpose: 'newsletter' }, register]
    const { status, body } = await meanwhile(
      () => postCheck(app, apiKey, { identifier: '2', dataSources, rules }),
      async () => {
        await consents.revoke(consentId)
        await consents.logged({ subjectId: '2' })
      },
    )
    expect([status, body.eligible], JSON.stringify(body)).to.deep.equal([200, true])
  })
})
