/** What was used on each day. */
import { expect } from 'chai'
import type { UsageDays } from '../../../src/domain/usage/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { createPod } from '../../support/domain/pods.ts'
import { readsOf } from '../../support/query-plans.ts'
import { postBatch, postVerify } from '../../support/verification.ts'

const DAY_MS = 86_400_000

describe('usage by day', () => {
  let now = Date.parse('2026-03-30T23:59:59.000Z')
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const days = async (query = '', key = owner.apiKey) =>
    (await ok<UsageDays>(app, 'GET', `/console/api/usage?${query}`, { key })).days
  const nothing = (day: string) => ({ day, results: 0, proofs: 0, byCategory: {}, charges: [] })

  it('counts results by category and what pods charged, on the UTC day of each', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    await postVerify(app, owner.apiKey)
    await postBatch(app, owner.apiKey, [{ n: 1 }, { n: 2 }])
    now += DAY_MS
    for (let n = 0; n < 3; n++)
      await ok(app, 'POST', `/pod/${podId}/verify`, {
        headers: { 'x-pod-key': podKey },
        body: { data: { n } },
      })
    expect(await days('from=2026-03-29&to=2026-03-31')).to.deep.equal([
      {
        day: '2026-03-31',
        results: 3,
        proofs: 3,
        byCategory: { pod: 3 },
        charges: [{ currency: 'GBP', amount: 1.05 }],
      },
      { day: '2026-03-30', results: 3, proofs: 1, byCategory: { batch: 2, verify: 1 }, charges: [] },
      nothing('2026-03-29'),
    ])
    const other = await app.organisation()
    expect(await days('from=2026-03-31&to=2026-03-31', other.apiKey)).to.deep.equal([nothing('2026-03-31')])
  })

  it('is of the last thirty days, of the thirty up to a day, or of as many as are asked for', async () => {
    const today = new Date(now).toISOString().slice(0, 10)
    const usual = await days()
    expect([usual.length, usual[0]?.day]).to.deep.equal([30, today])
    const upTo = await days('to=2026-02-28')
    expect([upTo.length, upTo[0]?.day, upTo.at(-1)?.day]).to.deep.equal([30, '2026-02-28', '2026-01-30'])
    expect(await days('from=2024-01-01&to=2024-12-31')).to.have.length(366)
    for (const [query, path] of [
      ['from=2024-01-01&to=2025-01-01', 'query/from'],
      ['from=2026-03-02&to=2026-03-01', 'query/from'],
      ['from=2999-01-01', 'query/from'],
      ['from=yesterday', 'query/from'],
      ['to=2026-03-01T00:00:00Z', 'query/to'],
      ['to=9999-01-01', 'query/to'],
    ] as const) {
      const { status, body } = await app.request<{ details: { path: string }[] }>(
        'GET',
        `/console/api/usage?${query}`,
        { key: owner.apiKey },
      )
      expect([status, body.details[0]?.path], query).to.deep.equal([400, path])
    }
  })

  it('reads the days of the window alone, of the organisation alone', async () => {
    const { knex } = app.services.database
    await knex.raw(
      `INSERT INTO usage_days (organisation, day, category, results, proofs, proof_bytes)
        SELECT CASE WHEN i % 2 = 0 THEN :organisation ELSE 'org_' END, i / 2, 'verify', 1, 0, 0
        FROM generate_series(2, 20000) AS i`,
      { organisation: owner.organisationId },
    )
    await knex.raw('ANALYZE usage_days')
    const reads = await readsOf(app.services.database, async () => {
      const [last] = await days('from=1990-01-01&to=1990-01-31')
      expect(last).to.include({ day: '1990-01-31', results: 1 })
    })
    const [read] = reads.filter(({ text }) => text.includes('"usage_days"'))
    expect(read?.rows).to.be.at.most(62)
  })
})
