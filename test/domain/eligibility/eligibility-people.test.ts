/** Eligibility by what is known of people: their consents, their credentials, their checks. */
import { expect } from 'chai'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'
import { entryTypes, postCheck, postComposite } from '../../support/domain/eligibility.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { kycRoutesOf } from '../../support/domain/kyc.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

const CONSENTS = { field: 'valid', op: 'eq', value: true }

describe('eligibility by what is known of people', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  const check = async (source: object, rules: readonly object[] = [CONSENTS], identifier = 'ada') => {
    const dataSources = [{ id: 'about', ...source }]
    const answer = await postCheck(app, owner.apiKey, { identifier, dataSources, rules })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const keyWith = async (scopes: readonly string[]) => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: scopes.join(), scopes },
    })
    return body.apiKey
  }

  it('takes the consent of who is asked about, and of nobody else', async () => {
    const consents = consentRoutesOf(app, owner.apiKey)
    const source = { type: 'consent', purpose: 'newsletter' }
    const { consentId } = await consents.logged({ subjectId: 'ada' })
    const yes = await check(source)
    expect([yes.eligible, yes.members[0]?.type, typeof yes.token]).to.deep.equal([true, 'consent', 'string'])
    expect((await check(source, [CONSENTS], 'bob')).eligible).to.equal(false)
    expect((await check({ ...source, userId: 'bob' })).eligible).to.equal(false)
    expect((await check({ ...source, userId: 'ada' }, [CONSENTS], 'session-1')).eligible).to.equal(true)
    expect((await check({ ...source, purpose: 'profiling' })).eligible).to.equal(false)
    expect((await check({ ...source, controller: CONTROLLER })).eligible).to.equal(true)
    expect((await check({ ...source, controller: 'https://other.example' })).eligible).to.equal(false)
    const none = [{ field: 'status', op: 'eq', value: 'none' }]
    expect((await check(source, none, 'carol')).eligible).to.equal(true)
    await consents.revoke(consentId)
    expect((await check(source)).eligible).to.equal(false)
    expect((await check(source, [{ field: 'reason', op: 'eq', value: 'withdrawn' }])).eligible).to.equal(true)
  })

  it('takes a token of ours as a credential, and does not use it up', async () => {
    const tokens = tokenRoutesOf(app, owner.apiKey)
    const { token, tokenId } = await tokens.issued({
      subject: 'ada',
      claims: { level: 3 },
      audience: 'door',
      singleUse: true,
    })
    const data = { token, audience: 'door' }
    const rules = [
      CONSENTS,
      { field: 'subject', op: 'eq', value: 'ada' },
      { field: 'claims.level', op: 'gte', value: 3 },
    ]
    const source = { type: 'credential', data }
    expect((await check(source, rules)).eligible).to.equal(true)
    expect((await tokens.status(tokenId)).body.status).to.equal('active')
    expect((await check({ ...source, data: { token } })).eligible).to.equal(false)
    const forged = `${token.slice(0, -4)}AAAA`
    const invalid = await check({ ...source, data: { ...data, token: forged } }, rules)
    // Its claims are not told: nothing can be decided about them.
    expect([invalid.eligible, invalid.token]).to.deep.equal([false, null])
    const other = [{ field: 'subject', op: 'ne', value: 'bob' }]
    expect((await check({ ...source, data: { token: forged } }, other)).reason).to.equal('missing_data')
    const stranger = tokenRoutesOf(app, (await app.organisation()).apiKey)
    const foreign = await stranger.issued({ subject: 'ada' })
    expect((await check({ ...source, data: { token: foreign.token } })).eligible).to.equal(false)
    await tokens.revoke(tokenId)
    expect((await check(source)).eligible).to.equal(false)
  })

  it('takes a hybrid token of ours as a credential, and none that was altered, revoked or somebody else’s', async () => {
    const hybrid = hybridRoutesOf(app, owner.apiKey)
    const token = await hybrid.issued({ subject: 'ada', claims: { decision: 1, level: 3 } })
    const rules = [
      CONSENTS,
      { field: 'status', op: 'eq', value: 'active' },
      { field: 'subject', op: 'eq', value: 'ada' },
      { field: 'claims.level', op: 'gte', value: 3 },
    ]
    const eligible = async (presented: object) =>
      (await check({ type: 'credential', data: { token: presented } }, rules)).eligible
    expect(await eligible(token)).to.equal(true)
    const stranger = hybridRoutesOf(app, (await app.organisation()).apiKey)
    const foreign = await stranger.issued({ subject: 'ada', claims: token.claims })
    const raised = { ...token, claims: { decision: 1, level: 4 } }
    for (const other of [{}, raised, { ...token, sig_pq: '' }, foreign])
      expect(await eligible(other)).to.equal(false)
    await tokenRoutesOf(app, owner.apiKey).revoke(token.token_id)
    expect(await eligible(token)).to.equal(false)
  })

  it('answers no NO where what is known of a person cannot be read', async () => {
    await kycRoutesOf(app, owner.apiKey).verified('ellen')
    const { knex } = app.services.database
    await knex('kyc_checks')
      .where({ organisation: owner.organisationId })
      .update({ sealed: Buffer.alloc(64) })
    const before = await entryTypes(app, owner.organisationId)
    const body = {
      identifier: 'ellen',
      dataSources: [{ id: 'about', type: 'kyc' }],
      rules: [{ field: 'status', op: 'eq', value: 'verified' }],
    }
    const { status, body: error } = await postCheck(app, owner.apiKey, body)
    expect([status, error.error, error.eligible]).to.deep.equal([500, 'internal', undefined])
    expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
  })

  it('never takes a person of whom nothing is known for one who was checked', async () => {
    const known = { field: 'status', op: 'eq', value: 'verified' }
    expect((await check({ type: 'kyc' }, [known], 'nobody')).eligible).to.equal(false)
    const none = [
      { field: 'status', op: 'eq', value: 'none' },
      { field: 'level', op: 'eq', value: 'none' },
    ]
    expect((await check({ type: 'kyc' }, none, 'nobody')).eligible).to.equal(true)
    const clear = { field: 'result', op: 'eq', value: 'clear' }
    expect((await check({ type: 'aml' }, [clear], 'nobody')).eligible).to.equal(false)
    expect((await check({ type: 'aml' }, [{ ...clear, value: 'review' }], 'nobody')).eligible).to.equal(true)
  })

  it('mixes them in one tree', async () => {
    await consentRoutesOf(app, owner.apiKey).logged({ subjectId: 'dora' })
    const { status, body } = await postComposite(app, owner.apiKey, {
      dataSources: [
        { id: 'consent', type: 'consent', userId: 'dora', purpose: 'newsletter' },
        { id: 'aml', type: 'aml', userId: 'dora' },
        { id: 'form', type: 'inline', data: { age: 36 } },
      ],
      logicTree: {
        op: 'AND',
        children: [
          { source: 'consent', ...CONSENTS },
          { op: 'NOT', child: { source: 'aml', field: 'result', op: 'eq', value: 'hit' } },
          { source: 'form', field: 'age', op: 'gte', value: 18 },
        ],
      },
    })
    expect([status, body.eligible], JSON.stringify(body)).to.deep.equal([200, true])
    expect(body.aggregatedProof.members.map(({ type }) => type)).to.deep.equal(['consent', 'aml', 'inline'])
  })

  it('reads a source only with the scope that its own route takes', async () => {
    const sources: [scope: string, source: object][] = [
      ['consent', { type: 'consent', purpose: 'newsletter' }],
      ['token', { type: 'credential', data: { token: 'a.b.c' } }],
      ['kyc', { type: 'kyc' }],
      ['aml', { type: 'aml' }],
    ]
    for (const [scope, source] of sources) {
      const body = { identifier: 'ada', dataSources: [{ id: 'about', ...source }], rules: [CONSENTS] }
      const refused = await postCheck(app, await keyWith(['proof']), body)
      expect([refused.status, refused.body.error], scope).to.deep.equal([403, 'insufficient_scope'])
      expect(refused.body.message).to.contain(`"${scope}"`)
      const taken = await postCheck(app, await keyWith(['proof', scope]), body)
      expect(taken.status, JSON.stringify(taken.body)).to.equal(200)
    }
  })

  it('refuses sources that lack what they need', async () => {
    const refused = async (source: object, identifier?: string) => {
      const dataSources = [{ id: 'about', ...source }]
      const { status, body } = await postComposite(app, owner.apiKey, {
        identifier,
        dataSources,
        logicTree: CONSENTS,
      })
      return `${status} ${body.details?.[0]?.path}`
    }
    expect(await refused({ type: 'consent' }, 'ada')).to.equal('422 /dataSources/0/purpose')
    expect(await refused({ type: 'consent', purpose: 'x' })).to.equal('422 /dataSources/0/userId')
    expect(await refused({ type: 'kyc' })).to.equal('422 /dataSources/0/userId')
    expect(await refused({ type: 'aml' })).to.equal('422 /dataSources/0/userId')
    expect(await refused({ type: 'credential' })).to.equal('422 /dataSources/0/data')
    for (const data of [{}, { token: 5 }, { token: '' }])
      expect(await refused({ type: 'credential', data })).to.equal('422 /dataSources/0/data/token')
    for (const audience of [5, '', ['door']])
      expect(await refused({ type: 'credential', data: { token: 'a.b.c', audience } })).to.equal(
        '422 /dataSources/0/data/audience',
      )
  })
})
