/** `expect` on the circuit routes: what is presented and differs is not proved, and nothing is used up. */
import { expect } from 'chai'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { asking, countEntries, expectUnproven } from '../../support/circuits/circuit-questions.ts'
import { tokenSignals } from '../../support/circuits/signed-signals.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { asPresented, generated, reasonsOf } from '../../support/domain/proof-api.ts'
import { terminalTill } from '../../support/domain/tills.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { onEmbedded } from '../../support/servers/database.ts'

type Path = Parameters<typeof asking>[1]
type Field = Parameters<typeof expectUnproven>[1]

describe('expectations of what a circuit is asked about', function () {
  this.timeout(120_000)
  // Only forward: what the ledger records never lies before what it has recorded.
  let ahead = 0
  const clock = { now: () => Date.now() + ahead }
  let app: TestApp
  let owner: TestOrganisation
  let key: string
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    key = owner.apiKey
  })
  after(() => app.close())

  /** Right ones at once are proved; each wrong one alone is its reason, and each of the others is 422. */
  const holdTo = async (
    path: Path,
    field: Field,
    body: object,
    right: Record<string, unknown>,
    wrong: Record<string, unknown>,
    prefix = '',
  ) => {
    const ask = asking(app, path)
    const before = await countEntries(app, owner.organisationId, 'verify')
    for (const [name, value] of Object.entries(wrong)) {
      const answer = await ask(key, { ...body, expect: { ...right, [name]: value } })
      expectUnproven(answer, field, [`${prefix}EXPECTATION_${name.toUpperCase()}`])
    }
    const all = ['circuit_id', 'issuers', 'audience', 'purpose', 'nonce', 'statement', 'status', 'decision']
    for (const name of all.filter((one) => !(one in wrong))) {
      const value =
        { issuers: ['x'], statement: { x: 1 }, status: 'active', decision: 1 }[name as 'issuers'] ?? 'x'
      const answer = await ask(key, { ...body, expect: { [name]: value } })
      expect([answer.status, answer.body.error], name).to.deep.equal([422, 'validation_failed'])
      expect(answer.body.details?.[0]?.path).to.equal(`/expect/${name}`)
    }
    expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
    const proven = await ask(key, { ...body, expect: right })
    expect([proven.status, proven.body[field]], JSON.stringify(proven.body)).to.deep.equal([200, true])
  }

  it('hold a token to them, by its text and by its id', async () => {
    const audience = 'https://gate.example'
    const claims = { level: 'gold', seats: 2 }
    const { token, tokenId } = await tokenRoutesOf(app, key).issued({ audience, claims })
    ahead += 10_000
    const right = {
      issuers: [owner.organisationId],
      audience,
      statement: { level: 'gold' },
      status: 'active',
      max_age_seconds: 60,
    }
    const wrong = {
      issuers: ['org_other'],
      audience: 'https://other.example',
      statement: { level: 'silver' },
      status: 'used',
      max_age_seconds: 5,
    }
    for (const body of [
      { token, audience },
      { tokenId, audience },
    ])
      await holdTo('token-validation', 'token_valid', body, right, wrong)
    const inputs = await tokenSignals(app, owner.organisationId)
    await holdTo(
      'token-validation',
      'token_valid',
      { inputs },
      { max_age_seconds: 60 },
      {
        audience,
      },
    )
  })

  onEmbedded.it('hold a consent to them, by its id and by its receipt', async () => {
    const { consentId, receipt } = await consentRoutesOf(app, key).logged({ purposes: ['newsletter'] })
    ahead += 10_000
    const right = {
      issuers: [app.url],
      statement: { consentId, controller: CONTROLLER, purposes: ['newsletter'] },
      max_age_seconds: 60,
    }
    const wrong = {
      issuers: ['org_other'],
      statement: { controller: 'https://other.example' },
      max_age_seconds: 5,
    }
    for (const consent of [{ consentId }, { receipt }])
      await holdTo(
        'consent-verification',
        'consent_verified',
        { ...consent, purpose: 'newsletter' },
        right,
        wrong,
      )
  })

  onEmbedded.it('hold a hybrid token to them', async () => {
    const token = await hybridRoutesOf(app, key).issued({ claims: { decision: 1, level: 'gold' } })
    ahead += 10_000
    await holdTo(
      'quantum-safe-token',
      'quantum_safe_valid',
      { token },
      {
        issuers: [owner.organisationId],
        statement: { level: 'gold' },
        status: 'active',
        decision: 1,
        max_age_seconds: 60,
      },
      {
        issuers: ['org_other'],
        statement: { level: 'silver' },
        status: 'revoked',
        decision: 0,
        max_age_seconds: 5,
      },
    )
  })

  onEmbedded.it('hold each of several proofs to them, and say which differs', async () => {
    const [first, second] = [await generated(app, key), await generated(app, key)]
    const proofIds = [first.proof_id, second.proof_id]
    ahead += 10_000
    const right = {
      circuit_id: 'yesno',
      issuers: [owner.organisationId],
      audience: app.url,
      statement: { op: 'gte' },
      decision: 1,
      max_age_seconds: 60,
    }
    for (const body of [{ proofIds }, { inputs: { proofIds } }]) {
      const differing = await asking(app, 'proof-aggregation')(key, {
        ...body,
        expect: { ...right, nonce: first.context.nonce },
      })
      expectUnproven(differing, 'aggregation_valid', ['MEMBER_1_EXPECTATION_NONCE'])
      const old = await asking(app, 'proof-aggregation')(key, { ...body, expect: { max_age_seconds: 5 } })
      expectUnproven(old, 'aggregation_valid', [
        'MEMBER_0_EXPECTATION_MAX_AGE_SECONDS',
        'MEMBER_1_EXPECTATION_MAX_AGE_SECONDS',
      ])
    }
    const odd = await asking(app, 'proof-aggregation')(key, { proofIds, expect: { status: 'active' } })
    expect([odd.status, odd.body.details?.[0]?.path]).to.deep.equal([422, '/expect/status'])
    const { body: aggregate } = await asking(app, 'proof-aggregation')(key, { proofIds, expect: right })
    expect(aggregate.aggregation_valid).to.equal(true)
    for (const one of [first, second]) expect(await reasonsOf(app, key, asPresented(one))).to.deep.equal([])
  })

  it('hold a payment to them', async () => {
    const till = await terminalTill(app, owner, { floorLimit: 49.99 })
    const payment = till.payment({ at: clock.now() - 500 })
    expect((await till.sync([payment])).body.synced).to.equal(1)
    const { proofData, amount, currency, timestamp } = payment
    ahead += 10_000
    await holdTo(
      'offline-validation',
      'offline_valid',
      { proofData, amount, currency, timestamp },
      { issuers: [owner.organisationId], statement: { currency: 'GBP' }, max_age_seconds: 60 },
      { issuers: ['org_other'], statement: { currency: 'EUR' }, nonce: 'another', max_age_seconds: 5 },
    )
  })

  it('are none of an entry of the caller’s own', async () => {
    const answer = await asking(app, 'audit-proof')(key, { index: 0, expect: { nonce: 'x' } })
    expect([answer.status, answer.body.error]).to.deep.equal([422, 'unknown_member'])
  })
})
