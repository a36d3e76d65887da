/** What results cost and how they are counted. */
import { expect } from 'chai'
import type { Usage } from '../../../src/domain/usage/schemas.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import {
  DATA,
  freeOrganisation,
  isSigned,
  postBatch,
  postVerify,
  setSubscription,
} from '../../support/verification.ts'

const DAY_MS = 24 * 3_600_000
const FREE = 100

describe('usage', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const usageOf = async (key: string, of = app) =>
    (await of.request<Usage>('GET', '/api/usage', { key })).body
  const resultsOf = async (organisation: string, of = app) =>
    of.services.database.knex('verifications').where({ organisation }).pluck('id')
  const items = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))

  it('starts at nothing', async () => {
    const { apiKey } = await app.organisation()
    expect(await usageOf(apiKey)).to.deep.equal({
      proofCounts: { total: 0, today: 0, month: 0 },
      avgProofSize: 0,
      byCategory: {},
      free: null,
    })
  })

  it('counts every result once, with the size of its proof where it has one', async () => {
    const { apiKey } = await app.organisation()
    const { body } = await postVerify(app, apiKey)
    await postBatch(app, apiKey, [...items(2), 'wrong'])
    const proofBytes = Buffer.from(body.proof.slice('zk1.'.length), 'base64url').length
    const { proofCounts, ...rest } = await usageOf(apiKey)
    expect(proofCounts.total).to.equal(3)
    expect(rest).to.deep.equal({
      avgProofSize: proofBytes,
      byCategory: { batch: 2, verify: 1 },
      free: null,
    })
  })

  it('is of the UTC day and month', async () => {
    let now = Date.parse('2026-01-31T23:59:59.999Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const counts = async () => (await usageOf(apiKey, own)).proofCounts
      await postBatch(own, apiKey, items(2))
      expect(await counts()).to.deep.equal({ total: 2, today: 2, month: 2 })
      now += 1
      await postBatch(own, apiKey, items(1))
      expect(await counts()).to.deep.equal({ total: 3, today: 1, month: 1 })
      now += DAY_MS
      expect(await counts()).to.deep.equal({ total: 3, today: 0, month: 1 })
    } finally {
      await own.close()
    }
  })

  it('takes nothing from whoever has a subscription, and says nothing of free results', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app)
    await setSubscription(app, organisationId, 'active')
    const { headers } = await postBatch(app, apiKey, items(3))
    expect(headers.has('x-free-remaining')).to.equal(false)
    expect((await usageOf(apiKey)).free).to.deep.include({ granted: FREE, used: 0, remaining: FREE })
  })

  it('counts free results down, a signed NO like a YES, and errors not at all', async () => {
    const { apiKey } = await freeOrganisation(app)
    const first = await postVerify(app, apiKey, {
      data: DATA,
      options: { rules: [{ field: 'age', op: 'gt', value: 99 }] },
    })
    expect([first.status, first.body.decision, first.headers.get('x-free-remaining')]).to.deep.equal([
      200,
      'NO',
      '99',
    ])
    expect((await postVerify(app, apiKey, { data: {} })).status).to.equal(422)
    const second = await postBatch(app, apiKey, [...items(4), 'wrong'])
    expect(second.headers.get('x-free-remaining')).to.equal('95')
    expect((await usageOf(apiKey)).free).to.deep.include({ granted: FREE, used: 5, remaining: 95 })
  })

  it('refuses with 402 when the free results are used up, item by item, and again works with a subscription', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app)
    await postBatch(app, apiKey, items(97))
    const partly = await postBatch(app, apiKey, items(5))
    expect(partly.status).to.equal(200)
    expect(partly.body.results.map((result) => (isSigned(result) ? 'signed' : result.error))).to.deep.equal([
      'signed',
      'signed',
      'signed',
      'free_allocation_used',
      'free_allocation_used',
    ])
    expect(partly.headers.get('x-free-remaining')).to.equal('0')
    for (const answer of [await postBatch(app, apiKey, items(1)), await postVerify(app, apiKey)]) {
      expect([answer.status, answer.body.error]).to.deep.equal([402, 'free_allocation_used'])
    }
    expect(await resultsOf(organisationId)).to.have.length(FREE)
    await setSubscription(app, organisationId, 'active')
    expect((await postVerify(app, apiKey)).status).to.equal(200)
  })

  it('refuses with 402 whoever has no subscription and was never given anything', async () => {
    const { apiKey, organisationId } = await app.organisation()
    await setSubscription(app, organisationId, 'inactive')
    for (const answer of [await postVerify(app, apiKey), await postBatch(app, apiKey, items(2))]) {
      expect([answer.status, answer.body.error]).to.deep.equal([402, 'subscription_inactive'])
    }
    expect(await resultsOf(organisationId)).to.deep.equal([])
  })

  it('gives exactly what is left to callers that ask at the same time', async () => {
    const { apiKey, organisationId } = await freeOrganisation(app)
    await postBatch(app, apiKey, items(90))
    const asked = Array.from({ length: 50 }, (_, n) =>
      n % 5 === 0 ? postVerify(app, apiKey) : postBatch(app, apiKey, items(1)),
    )
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(10)
    expect(statuses.filter((status) => status === 402)).to.have.length(40)
    expect(await resultsOf(organisationId)).to.have.length(FREE)
    const usage = await usageOf(apiKey)
    expect(usage.proofCounts.total).to.equal(FREE)
    expect(usage.free).to.deep.include({ used: FREE, remaining: 0 })
  })

  it('repeats the answer to the last free result, though nothing is left', async () => {
    const { apiKey } = await freeOrganisation(app)
    await postBatch(app, apiKey, items(99))
    const headers = { 'idempotency-key': 'the-last' }
    const first = await postVerify(app, apiKey, { data: DATA }, headers)
    const again = await postVerify(app, apiKey, { data: DATA }, headers)
    expect([first.status, again.status]).to.deep.equal([200, 200])
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect((await postVerify(app, apiKey)).status).to.equal(402)
  })

  it('goes on with the next free results when the first ones are used up', async () => {
    const { apiKey, organisationId: organisation } = await freeOrganisation(app)
    const at = Date.now()
    const later = { account: `acc_${organisation}`, organisation, granted: 5, created_at: at }
    await app.services.database.knex('free_proof_grants').insert({ ...later, expires_at: at + 60 * DAY_MS })
    await postBatch(app, apiKey, items(100))
    expect((await postBatch(app, apiKey, items(2))).headers.get('x-free-remaining')).to.equal('3')
    expect((await usageOf(apiKey)).free).to.deep.include({ granted: 105, used: 102, remaining: 3 })
  })

  it('goes on with the next ones, however many are used up before them', async () => {
    const { apiKey, organisationId: organisation } = await freeOrganisation(app)
    const at = Date.now()
    const grants = Array.from({ length: 8 }, (_, n) => ({
      account: `acc_${n}_${organisation}`,
      organisation,
      granted: 1,
      created_at: at,
      expires_at: at + DAY_MS + n,
    }))
    await app.services.database.knex('free_proof_grants').insert(grants)
    await postBatch(app, apiKey, items(grants.length))
    const { body, headers } = await postBatch(app, apiKey, items(1))
    expect(body.results.every(isSigned)).to.equal(true)
    expect(headers.get('x-free-remaining')).to.equal(String(FREE - 1))
  })

  it('gives one batch the free results of several accounts, those that end first before the others', async () => {
    const { apiKey, organisationId: organisation } = await freeOrganisation(app)
    const at = Date.now()
    const grants = [
      { account: `acc_a_${organisation}`, granted: 3, expires_at: at + DAY_MS },
      { account: `acc_b_${organisation}`, granted: 150, expires_at: at + 60 * DAY_MS },
      { account: `acc_c_${organisation}`, granted: 7, expires_at: at - 1 },
    ]
    const { knex } = app.services.database
    await knex('free_proof_grants').insert(
      grants.map((grant) => ({ ...grant, organisation, created_at: at - DAY_MS })),
    )
    const usedOf = async (account: string | undefined) =>
      Number(
        (
          await knex('ledger_counters')
            .where({ organisation, counter: `free/${account}` })
            .first()
        )?.value ?? 0,
      )
    const { body, headers } = await postBatch(app, apiKey, items(10))
    expect(body.results.every(isSigned)).to.equal(true)
    expect(headers.get('x-free-remaining')).to.equal(String(3 + FREE + 150 - 10))
    expect(await usedOf(grants[0]?.account)).to.equal(3)
    expect(await usedOf(grants[1]?.account)).to.equal(0)
    for (const more of [93, 100]) await postBatch(app, apiKey, items(more))
    const last = await postBatch(app, apiKey, items(60))
    expect(last.body.results.filter(isSigned)).to.have.length(50)
    expect(await usedOf(grants[1]?.account)).to.equal(150)
    expect(await usedOf(grants[2]?.account)).to.equal(0)
    expect(await resultsOf(organisation)).to.have.length(3 + FREE + 150)
  })

  it('answers with the result that was made and paid, though nobody can say what is left', async () => {
    const own = await startTestApp()
    try {
      const { apiKey, organisationId } = await freeOrganisation(own)
      const { knex } = own.services.database
      // The commit that counts the result also takes the table away that the header is read from.
      await knex.raw(`CREATE FUNCTION take_away() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN ALTER TABLE IF EXISTS free_proof_grants RENAME TO taken_away; RETURN NEW; END $$`)
      await knex.raw(
        'CREATE TRIGGER taken BEFORE INSERT ON usage_days FOR EACH ROW EXECUTE FUNCTION take_away()',
      )
      const back = () => knex.raw('ALTER TABLE taken_away RENAME TO free_proof_grants')
      for (const ask of [() => postVerify(own, apiKey), () => postBatch(own, apiKey, items(1))]) {
        const { status, headers, body } = await ask()
        expect([status, headers.has('x-free-remaining')], JSON.stringify(body)).to.deep.equal([200, false])
        await back()
      }
      expect(await resultsOf(organisationId, own)).to.have.length(2)
    } finally {
      await own.close()
    }
  })

  it('lets free results expire after 30 days', async () => {
    let now = Date.parse('2026-01-01T00:00:00.000Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await freeOrganisation(own)
      expect((await usageOf(apiKey, own)).free?.expiresAt).to.equal('2026-01-31T00:00:00.000Z')
      now += 30 * DAY_MS - 1
      expect((await postBatch(own, apiKey, items(1))).headers.get('x-free-remaining')).to.equal('99')
      now += 1
      const answer = await postBatch(own, apiKey, items(1))
      expect([answer.status, answer.body.error]).to.deep.equal([402, 'free_allocation_used'])
      expect((await usageOf(apiKey, own)).free).to.equal(null)
    } finally {
      await own.close()
    }
  })

  it('is told to any key of the organisation, and of no other', async () => {
    const { apiKey } = await freeOrganisation(app)
    await postBatch(app, apiKey, items(1))
    const other = await app.organisation()
    expect((await usageOf(other.apiKey)).proofCounts.total).to.equal(0)
    expect((await app.request('GET', '/api/usage')).status).to.equal(401)
  })
})
