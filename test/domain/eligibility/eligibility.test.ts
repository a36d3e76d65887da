/** Eligibility through the real app: facts of several sources, the rules over them, the proof and the token. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { eligibility } from '../../../src/circuits/mappers/eligibility.ts'
import type { CompositeAnswer, EligibilityAnswer } from '../../../src/domain/eligibility/schemas-answers.ts'
import type { TokenVerdict } from '../../../src/domain/tokens/schemas.ts'
import { contextElement, type ProofContext } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import type { TestResponse } from '../../support/client.ts'
import {
  checkProof,
  commitmentOf,
  entryTypes,
  postCheck,
  postComposite,
  type Refusal,
} from '../../support/domain/eligibility.ts'
import { freeOrganisation, setSubscription } from '../../support/verification.ts'

const ADULT = { field: 'age', op: 'gte', value: 18 }
const inline = (id: string, data: object) => ({ id, type: 'inline', data })
const ADA = inline('application', { age: 36, country: 'GB', name: 'Ada' })

const nodeHash = (left: string, right: string): string =>
  createHash('sha256')
    .update(Buffer.concat([Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex')]))
    .digest('hex')
const leafHash = (text: string): string => createHash('sha256').update(`\0${text}`).digest('hex')

describe('eligibility', () => {
  let app: TestApp
  let owner: TestOrganisation
  let ada: EligibilityAnswer
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    ada = await checked({
      identifier: 'customer-1007',
      dataSources: [ADA],
      rules: [ADULT, { field: 'country', op: 'eq', value: 'GB' }],
      tokenConfig: { ttl: 600, audience: 'checkout', singleUse: true },
    })
  })

  const checked = async (body: object, key = owner.apiKey): Promise<EligibilityAnswer> => {
    const answer = await postCheck(app, key, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const composed = async (body: object, key = owner.apiKey): Promise<CompositeAnswer> => {
    const answer = await postComposite(app, key, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const refused = async (
    body: object,
    post: (app: TestApp, key: string, body: object) => Promise<TestResponse<Refusal>> = postCheck,
  ) => {
    const { status, body: error } = await post(app, owner.apiKey, body)
    const [detail] = error.details ?? []
    return { status, error: error.error, path: detail?.path, message: detail?.message }
  }
  const validate = async (token: string | null, extra: object = {}): Promise<TokenVerdict> =>
    (
      await app.request<TokenVerdict>('POST', '/api/tokens/validate', {
        bearer: owner.apiKey,
        body: { token, ...extra },
      })
    ).body

  it('gives whoever fulfils all rules a token as it was configured', async () => {
    expect(ada).to.include({ eligible: true, circuitId: 'eligibility' })
    expect(ada).not.to.have.property('reason')
    const verdict = await validate(ada.token, { audience: 'checkout' })
    expect(verdict).to.deep.include({
      valid: true,
      tokenId: ada.tokenId,
      subject: 'customer-1007',
      audience: 'checkout',
      singleUse: true,
      claims: { eligible: true, proof_id: ada.proofId, digest: ada.digest },
    })
    expect(verdict.expiresAt).to.equal(ada.tokenExpiresAt)
  })

  it('gives nobody else one, and proves that too', async () => {
    const answer = await checked({
      identifier: 'c',
      dataSources: [inline('a', { age: 17 })],
      rules: [ADULT],
      tokenConfig: {},
    })
    expect(answer).to.include({ eligible: false, token: null, tokenId: null, tokenExpiresAt: null })
    expect(eligibility.read(answer.publicInputs).decision).to.equal(0n)
    const { proofId: proof_id, circuitId: circuit_id, proof, publicInputs: public_signals } = answer
    expect(
      await checkProof(app, owner.apiKey, { proof_id, circuit_id, proof, public_signals }),
    ).to.deep.include({ valid: true, verified: true, decision: 0 })
  })

  it('never takes missing data for a yes, however it is asked', async () => {
    const dataSources = [inline('a', {})]
    expect(await checked({ identifier: 'c', dataSources, rules: [ADULT] })).to.include({
      eligible: false,
      reason: 'missing_data',
      token: null,
    })
    const logicTree = { op: 'NOT', child: { source: 'a', ...ADULT } }
    expect(await composed({ dataSources, logicTree })).to.include({ eligible: false, reason: 'missing_data' })
  })

  it('stores the proof: it is verified later, and shows none of the data', async () => {
    const { proofId: proof_id, circuitId: circuit_id, proof, publicInputs: public_signals } = ada
    expect(
      await checkProof(app, owner.apiKey, { proof_id, circuit_id, proof, public_signals }),
    ).to.deep.include({ valid: true, verified: true, decision: 1, digest: ada.digest })
    expect(JSON.stringify(ada)).not.to.match(/"Ada\\*"|"GB"|customer/)
    const rows = await app.services.database
      .knex('ledger_entries')
      .where({ digest: ada.digest, type: 'prove' })
      .select('entry')
    expect(rows).to.have.length(1)
    expect(rows[0].entry).not.to.match(/"Ada\\*"|customer/)
  })

  it('binds the sources by commitments that open one by one', () => {
    const [member] = ada.members
    const { salts, root, count, context, publicInputs } = ada
    expect(count).to.equal(1)
    const { id: source, type, data } = ADA
    expect(member).to.deep.equal({
      source,
      type,
      commitment: commitmentOf(salts.application ?? '', { source, type, data }),
    })
    expect(root).to.equal(leafHash(member?.commitment ?? ''))
    expect(context.statement.sources_root).to.equal(root)
    expect(eligibility.read(publicInputs).ctx).to.equal(contextElement(context as ProofContext))
  })

  it('looks rules up in the source that they name, by either way of naming it', async () => {
    const dataSources = [inline('a', { age: 17 }), inline('b', { age: 36 })]
    const inB = [
      { ...ADULT, source: 'b' },
      { ...ADULT, field: '/b/age' },
      { ...ADULT, field: 'b.age' },
      { ...ADULT, field: '/age', source: 'b' },
    ]
    const inA = { ...ADULT, field: 'a.age' }
    const [yes, no] = await Promise.all(
      [inB, [...inB, inA]].map((rules) => checked({ identifier: 'c', dataSources, rules })),
    )
    expect([yes?.eligible, no?.eligible]).to.deep.equal([true, false])
  })

  it('proves what does not fit eligibility with composite', async () => {
    const rules = [{ field: 'country', op: 'in', value: ['GB', 'IE'] }]
    const answer = await checked({ identifier: 'c', dataSources: [ADA], rules })
    expect(answer).to.include({ eligible: true, circuitId: 'composite' })
  })

  it('decides trees of all five operators', async () => {
    const dataSources = [inline('x', { yes: true, no: false })]
    const leaf = (field: string) => ({ source: 'x', field, op: 'eq', value: true })
    const [yes, no] = [leaf('yes'), leaf('no')]
    const cases: [tree: object, eligible: boolean][] = [
      [{ op: 'AND', children: [yes, { op: 'NOT', child: no }, { op: 'OR', children: [no, yes] }] }, true],
      [{ op: 'NOR', children: [no, { op: 'NAND', children: [yes, yes] }] }, true],
      [{ op: 'NAND', children: [yes, { op: 'NOT', child: no }] }, false],
    ]
    for (const [logicTree, eligible] of cases)
      expect((await composed({ dataSources, logicTree })).eligible, JSON.stringify(logicTree)).to.equal(
        eligible,
      )
  })

  it('looks a rule up in its source, and refuses what else stands in its node', async () => {
    const dataSources = [inline('register', { age: 17 }), inline('claimed', { age: 36 })]
    const rule = { source: 'register', field: 'claimed.age', op: 'gte', value: 18 }
    const logicTree = { op: 'NOT', child: { op: 'NOT', child: rule } }
    expect(await composed({ dataSources, logicTree })).to.include({ eligible: false, reason: 'missing_data' })
    for (const odd of [
      { ...rule, children: [] },
      { ...rule, child: ADULT },
      { op: 'NOT', children: [], child: rule },
    ]) {
      const answer = await postComposite(app, owner.apiKey, { dataSources, logicTree: odd })
      expect([answer.status, (answer.body as { error?: string }).error]).to.deep.equal([
        422,
        'unknown_member',
      ])
    }
  })

  it('aggregates over the sources and tells of no part whether it holds', async () => {
    const logicTree = {
      op: 'OR',
      children: [
        { source: 'a', field: 'ok', op: 'eq', value: true },
        { source: 'b', field: 'ok', op: 'eq', value: true },
      ],
    }
    const answers = await Promise.all(
      [true, false].map((ok) =>
        composed({ dataSources: [inline('a', { ok }), inline('b', { ok: !ok })], logicTree }),
      ),
    )
    for (const { eligible, aggregatedProof } of answers) {
      expect(eligible).to.equal(true)
      const { root, count, members, circuitId } = aggregatedProof
      expect([count, circuitId, members.map(({ source }) => source)]).to.deep.equal([
        2,
        'composite',
        ['a', 'b'],
      ])
      const [left = '', right = ''] = members.map(({ commitment }) => leafHash(commitment))
      expect(root).to.equal(nodeHash(left, right))
    }
    // What is public of the rules is the same, whichever part holds.
    const [one, other] = answers.map(({ aggregatedProof }) => aggregatedProof.context.statement)
    expect(one?.program_hash).to.equal(other?.program_hash)
    const shape = (value: unknown): unknown =>
      value !== null && typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shape(member)]))
        : typeof value
    expect(shape(answers[0])).to.deep.equal(shape(answers[1]))
  })

  it('refuses rules and sources that it could only misread', async () => {
    const dataSources = [ADA]
    const two = [ADA, inline('other', {})]
    const check = (changes: object) => ({ identifier: 'c', dataSources, rules: [ADULT], ...changes })
    const cases: [body: object, error: string, path: string][] = [
      [check({ identifier: undefined }), 'validation_failed', '/identifier'],
      [check({ dataSources: [] }), 'validation_failed', '/dataSources'],
      [check({ rules: [] }), 'validation_failed', '/rules'],
      [check({ rules: Array(17).fill(ADULT) }), 'tree_too_large', '/rules'],
      [check({ dataSources: [ADA, ADA] }), 'validation_failed', '/dataSources/1/id'],
      [check({ dataSources: [{ id: 'a', type: 'inline' }] }), 'validation_failed', '/dataSources/0/data'],
      [check({ dataSources: [{ id: 'a', type: 'hermes' }] }), 'validation_failed', '/dataSources/0/slug'],
      [check({ dataSources: [{ id: 'a', type: 'magic' }] }), 'validation_failed', '/dataSources/0/type'],
      [check({ dataSources: [inline('a.b', {})] }), 'validation_failed', '/dataSources/0/id'],
      [check({ dataSources: two }), 'validation_failed', '/rules/0/field'],
      [check({ rules: [{ ...ADULT, source: 'nobody' }] }), 'validation_failed', '/rules/0/source'],
      [check({ rules: [{ ...ADULT, value: '18' }] }), 'validation_failed', '/rules/0/value'],
      [check({ tokenConfig: { ttl: 0 } }), 'validation_failed', '/tokenConfig/ttl'],
    ]
    for (const [body, error, path] of cases)
      expect(await refused(body), JSON.stringify(body)).to.deep.include({ status: 422, error, path })
    const unsupported = await refused(check({ dataSources: [{ id: 'a', type: 'magic' }] }))
    expect(unsupported.message).to.contain('"inline", "hermes", "kyc", "aml", "consent", "credential"')
    const long = (source: string, field: string) =>
      check({ dataSources: [inline(source, {})], rules: [{ ...ADULT, source, field }] })
    const tooLong = await refused(long('s'.repeat(32), 'f'.repeat(240)))
    expect(tooLong).to.deep.include({ status: 422, path: '/rules/0/field' })
    expect(tooLong.message).to.contain(`at most 223 characters: 256 with the source ${'s'.repeat(32)}`)
    expect((await postCheck(app, owner.apiKey, long('s'.repeat(32), 'f'.repeat(223)))).status).to.equal(200)
    const tree = { op: 'AND', children: [{ source: 'nobody', ...ADULT }] }
    expect(await refused({ dataSources, logicTree: tree }, postComposite)).to.deep.include({
      status: 422,
      path: '/logicTree/children/0/source',
    })
    expect(await refused({ dataSources, logicTree: { op: 'AND' } }, postComposite)).to.deep.include({
      status: 422,
      path: '/logicTree/children',
    })
  })

  it('refuses what no circuit holds, before anything is recorded', async () => {
    const before = await entryTypes(app, owner.organisationId)
    const rules = [{ field: 'name', op: 'startsWith', value: 'A' }]
    const said = await refused({ identifier: 'c', dataSources: [ADA], rules })
    expect(said).to.deep.include({ status: 422, error: 'not_provable' })
    const dataSources = [inline('a', { age: 1.23456789 })]
    const exact = await refused({ identifier: 'c', dataSources, rules: [ADULT] })
    expect(exact).to.deep.include({ status: 422, error: 'not_provable' })
    expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
  })

  it('repeats answer and token to the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' }
    const body = { identifier: 'c', dataSources: [ADA], rules: [ADULT] }
    const first = await postCheck(app, owner.apiKey, body, headers)
    const before = await entryTypes(app, owner.organisationId)
    const again = await postCheck(app, owner.apiKey, body, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
  })

  it('repeats answers also to who has no free result left by then, or no subscription', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app, ['proof'])
    const subscriber = await app.organisation()
    const dataSources = [ADA]
    const [checked, composed] = [
      { identifier: 'c', dataSources, rules: [ADULT] },
      { dataSources, logicTree: ADULT },
    ]
    const headers = { 'idempotency-key': 'last' }
    const asks = [
      () => postCheck(app, apiKey, checked, headers),
      () => postComposite(app, apiKey, composed, headers),
      () => postCheck(app, subscriber.apiKey, checked, headers),
    ]
    const setUsed = (value: number) =>
      app.services.database.knex('ledger_counters').where({ organisation: organisationId }).update({ value })
    await postCheck(app, apiKey, checked)
    await setUsed(98)
    const firsts = []
    for (const ask of asks) firsts.push(await ask())
    expect(firsts.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    await setSubscription(app, subscriber.organisationId, 'inactive')
    for (const key of [apiKey, subscriber.apiKey])
      expect((await postCheck(app, key, checked)).status).to.equal(402)
    for (const [i, ask] of asks.entries()) {
      const again = await ask()
      expect([again.status, again.headers.get('idempotency-replayed')], `${i}`).to.deep.equal([200, 'true'])
      expect(again.body).to.deep.equal(firsts[i]?.body)
    }
  })

  it('commits proof and token together, for one free result, and nothing when none is left', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app, ['proof'])
    const before = await entryTypes(app, organisationId)
    const body = { identifier: 'c', dataSources: [ADA], rules: [ADULT] }
    const answer = await postCheck(app, apiKey, body)
    expect([answer.status, answer.headers.get('x-free-remaining')]).to.deep.equal([200, '99'])
    expect((await entryTypes(app, organisationId)).slice(before.length)).to.deep.equal(['prove', 'attest'])
    const { knex } = app.services.database
    await knex('ledger_counters').where({ organisation: organisationId }).update({ value: 100 })
    const unpaid = await postCheck(app, apiKey, body)
    expect([unpaid.status, unpaid.body.error]).to.deep.equal([402, 'free_allocation_used'])
  })
})
