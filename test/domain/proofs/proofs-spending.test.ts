/** A proof is spent once: whoever comes second hears when the first did, however they come. */
import { expect } from 'chai'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { artifacts } from '../../support/circuits/circuits.ts'
import {
  ADULT_INPUTS,
  asPresented,
  entriesOf,
  generated,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { rerandomise } from '../../support/reference/groth16.ts'

const START = Date.parse('2026-06-01T12:00:00Z')
const AT_ONCE = 16

describe('spending proofs', function () {
  this.timeout(60_000)
  let now = START
  let app: TestApp
  let owner: TestOrganisation
  let key: string
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    owner = await app.organisation()
    key = owner.apiKey
  })
  after(() => app.close())
  beforeEach(() => {
    now = START
  })

  const consume = (presented: object, headers = {}) =>
    postVerifyProof(app, key, { ...presented, consume: true }, headers)

  const expectSpent = (answer: Awaited<ReturnType<typeof consume>>, digest: string, at: string) => {
    expect(answer.status).to.equal(409)
    const { error, reason, digest: told, consumed_at } = answer.body
    expect({ error, reason, digest: told, consumed_at }).to.deep.equal({
      error: 'double_spend',
      reason: 'DOUBLE_SPEND',
      digest,
      consumed_at: at,
    })
  }

  describe('a proof that is spent', () => {
    let made: ProofGenerated
    let consumedAt: string
    before(async () => {
      made = await generated(app, key)
      const { status, body } = await consume(asPresented(made))
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.include({ valid: true, verified: true, decision: 1, digest: made.digest })
      consumedAt = body.consumed_at ?? ''
    })

    it('leaves one entry for the check and one for the spending, in this order', async () => {
      const entries = await entriesOf(app, made.proof_id)
      expect(entries.map(({ type, digest, circuit_id }) => [type, digest, circuit_id])).to.deep.equal(
        ['prove', 'verify', 'spend'].map((type) => [type, made.digest, 'yesno']),
      )
      expect(entries.every(({ key_id }) => /^key_/.test(key_id))).to.equal(true)
    })

    it('is refused the second time with the time of the first, which counts and alerts, and logs nothing', async () => {
      const spends = async () =>
        (await app.services.metrics.json()).find(({ name }) => name === 'double_spend_total')?.values[0]
          ?.value ?? 0
      const before = await spends()
      expectSpent(await consume(asPresented(made)), made.digest, consumedAt)
      expect(await spends()).to.equal(before + 1)
      expect(await entriesOf(app, made.proof_id)).to.have.length(3)
      await app.services.security.close()
      const { body } = await app.request<{ alerts: { type: string; subject: string }[] }>(
        'GET',
        '/api/security/alerts',
        { key },
      )
      expect(body.alerts.map(({ type, subject }) => [type, subject])).to.deep.include([
        'double_spend',
        made.digest,
      ])
    })

    it('is refused made anew, and as one text', async () => {
      const proof = rerandomise(artifacts.yesno.verificationKey, made.proof, 5n, 7n)
      expectSpent(await consume({ ...asPresented(made), proof }), made.digest, consumedAt)
      expectSpent(
        await consume({ ...asPresented(made), proof, proof_id: undefined }),
        made.digest,
        consumedAt,
      )
    })

    it('is valid and no longer verified for whoever only looks', async () => {
      expect(await reasonsOf(app, key, asPresented(made))).to.deep.equal(['DOUBLE_SPEND'])
    })

    it('stays spent when its time is over', async () => {
      const brief = await generated(app, key, {
        circuit_id: 'yesno',
        inputs: ADULT_INPUTS,
        context: { ttl: 60 },
      })
      const first = await consume(asPresented(brief))
      now += 61_000
      expectSpent(await consume(asPresented(brief)), brief.digest, first.body.consumed_at ?? '')
    })
  })

  it('what is not verified is not spent', async () => {
    const made = await generated(app, key, {
      circuit_id: 'yesno',
      inputs: ADULT_INPUTS,
      context: { ttl: 60 },
    })
    const wrong = { ...asPresented(made), public_signals: made.public_signals.with(0, '0') }
    for (const presented of [
      wrong,
      { ...asPresented(made), proof_id: 'prf_0' },
      { ...asPresented(made), circuit_id: 'kyc' },
    ]) {
      const { status, body } = await consume(presented)
      expect([status, body.verified, body.consumed_at]).to.deep.equal([200, false, undefined])
    }
    now += 60_000
    expect((await consume(asPresented(made))).body.reason_codes).to.deep.equal(['EXPIRED'])
    now = START
    expect((await consume(asPresented(made))).body.verified).to.equal(true)
  })

  it('of many at once one spends it, and none of the others does', async () => {
    const made = await generated(app, key)
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => consume(asPresented(made))))
    const [won, ...others] = answers.sort((a, b) => a.status - b.status)
    expect(won?.status).to.equal(200)
    for (const answer of others) expectSpent(answer, made.digest, won?.body.consumed_at ?? '')
    expect((await entriesOf(app, made.proof_id)).map(({ type }) => type)).to.deep.equal([
      'prove',
      'verify',
      'spend',
    ])
  })

  it('an Idempotency-Key gives the answer of the first spending again', async () => {
    const made = await generated(app, key)
    const headers = { 'idempotency-key': 'spend-1' }
    const first = await consume(asPresented(made), headers)
    const again = await consume(asPresented(made), headers)
    expect(again.status).to.equal(200)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
  })

  describe('a nullifier', () => {
    const newToken = async () =>
      (
        await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
          key,
          body: { subject: 'user-1', ttl: 3600 },
        })
      ).body.tokenId
    const proofOf = (tokenId: string) =>
      generated(app, key, { circuit_id: 'token_validation', inputs: { tokenId } })

    it('is spent with the digest: a second proof of the same token can neither be spent nor verified', async () => {
      const tokenId = await newToken()
      const [first, second] = [await proofOf(tokenId), await proofOf(tokenId)]
      expect(second.digest).not.to.equal(first.digest)
      const spent = await consume(asPresented(first))
      expect(spent.status, JSON.stringify(spent.body)).to.equal(200)
      expectSpent(await consume(asPresented(second)), second.digest, spent.body.consumed_at ?? '')
      expect(await reasonsOf(app, key, asPresented(second))).to.deep.equal(['DOUBLE_SPEND'])
    })

    it('of two proofs at once one is spent', async () => {
      const tokenId = await newToken()
      const proofs = [await proofOf(tokenId), await proofOf(tokenId)]
      const answers = await Promise.all(proofs.map((proof) => consume(asPresented(proof))))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409])
    })

    it('of a token that was used up otherwise can neither be spent nor verified', async () => {
      const body = { subject: 'user-1', ttl: 3600, singleUse: true }
      const { body: issued } = await app.request<{ tokenId: string; token: string }>(
        'POST',
        '/api/tokens/generate',
        { key, body },
      )
      const made = await proofOf(issued.tokenId)
      expect(await reasonsOf(app, key, asPresented(made))).to.deep.equal([])
      const use = { key, body: { token: issued.token, consume: true } }
      const used = await app.request<{ consumed: boolean }>('POST', '/api/tokens/validate', use)
      expect(used.body.consumed).to.equal(true)
      expect(await reasonsOf(app, key, asPresented(made))).to.deep.equal(['DOUBLE_SPEND'])
      expect((await consume(asPresented(made))).status).to.equal(409)
    })

    it('that is revoked can not be spent', async () => {
      const tokenId = await newToken()
      const made = await proofOf(tokenId)
      await app.request('POST', '/api/tokens/revoke', { key, body: { tokenId } })
      const { status, body } = await consume(asPresented(made))
      expect([status, body.verified, body.reason_codes]).to.deep.equal([200, false, ['CREDENTIAL_REVOKED']])
    })

    it('of a circuit that spends none is free: yesno proofs of one salt differ in nothing but that', async () => {
      const [first, second] = [await generated(app, key), await generated(app, key)]
      for (const made of [first, second]) expect((await consume(asPresented(made))).status).to.equal(200)
    })
  })
})
