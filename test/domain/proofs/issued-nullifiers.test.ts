/** Rows that lead from a nullifier to who issued what it belongs to: kept while a proof may still say YES of that, then swept. */
import { expect } from 'chai'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { generated, reasonsOf } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('issued nullifiers', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
  })
  after(() => app.close())

  const counts = async (): Promise<Record<string, number>> => {
    const rows = await app.services.database
      .knex('issued_nullifiers')
      .where({ organisation: owner.organisationId })
      .select('circuit_id')
    return Object.fromEntries(
      ['token_validation', 'quantum_safe_token', 'consent_verification'].map((circuit) => [
        circuit,
        rows.filter(({ circuit_id }) => circuit_id === circuit).length,
      ]),
    )
  }

  it('of tokens go a day after these have expired, those of consents stay', async () => {
    const { apiKey: key } = owner
    const tokens = tokenRoutesOf(app, key)
    const hybrids = hybridRoutesOf(app, key)
    const started = clock.now()
    const expiresAt = new Date(started + HOUR_MS).toISOString()
    const brief = await tokens.issued({ ttl: 3600 })
    await tokens.issued({ ttl: 30 * 24 * 3600 })
    await hybrids.issued({ exp: Math.floor(started / 1000) + 3600 })
    await consentRoutesOf(app, key).logged({ expiresAt })
    expect(await counts()).to.deep.equal({
      token_validation: 2,
      quantum_safe_token: 1,
      consent_verification: 1,
    })
    clock.offsetMs = HOUR_MS + DAY_MS - 60_000
    await tokens.issued()
    expect(await counts()).to.include({ token_validation: 3, quantum_safe_token: 1 })
    clock.offsetMs = 3 * HOUR_MS + DAY_MS
    await hybrids.issued()
    expect(await counts()).to.deep.equal({
      token_validation: 2,
      quantum_safe_token: 1,
      consent_verification: 1,
    })
    // What is swept lets nothing in: the token is as expired as it was.
    const no = await generated(app, key, {
      circuit_id: 'token_validation',
      inputs: { tokenId: brief.tokenId },
    })
    expect(no.decision).to.equal(0)
    expect(
      await reasonsOf(app, key, {
        proof_id: no.proof_id,
        proof: no.proof,
        public_signals: no.public_signals,
      }),
    ).to.deep.equal([])
  })
})
