/** More proofs than can be made soon: the excess is told to come back, and the rest is served. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { generated, postGenerate } from '../../support/domain/proof-api.ts'

/** One runs and 64 of one organisation wait. */
const ACCEPTED = 65
const FLOOD = 90

describe('a flood of proofs', function () {
  this.timeout(120_000)
  let app: TestApp
  before(async () => {
    app = await startTestApp({ env: { PROVER_THREADS: '1' } })
  })
  after(() => app.close())

  it('is served as far as the queue goes, refused with 503 and Retry-After beyond, and forgotten afterwards', async () => {
    const [busy, other] = [await app.organisation(), await app.organisation()]
    const body = {
      circuit_id: 'simple_yesno',
      inputs: { data: { a: 1 }, rules: [{ field: 'a', op: 'eq', value: 1 }] },
    }
    const flood = Array.from({ length: FLOOD }, () => postGenerate(app, busy.apiKey, body))
    const [elsewhere, ...answers] = await Promise.all([postGenerate(app, other.apiKey, body), ...flood])
    expect(elsewhere?.status).to.equal(200)
    const refused = answers.filter(({ status }) => status === 503)
    // Those that end while others still arrive make room.
    expect(answers.filter(({ status }) => status === 200).length).to.be.at.least(ACCEPTED - 1)
    expect(refused.length).to.be.above(0)
    expect(answers.every(({ status }) => status === 200 || status === 503)).to.equal(true)
    for (const { headers, body } of refused) {
      expect(body.error).to.equal('prover_overloaded')
      expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    }
    const recorded = await app.services.database.knex('proofs').where({ organisation: busy.organisationId })
    expect(recorded).to.have.length(answers.filter(({ status }) => status === 200).length)
    expect(await generated(app, busy.apiKey)).to.include({ decision: 1 })
  })
})
