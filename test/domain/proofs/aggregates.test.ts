/** Aggregates: no fresher than the proofs that they stand for, and spent with all of them or not at all. */
import { expect } from 'chai'
import { consentVerification } from '../../../src/circuits/mappers/consent_verification.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { BatchOutcomes } from '../../../src/domain/tickets/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  ADULT,
  ADULT_INPUTS,
  asPresented,
  entriesOf,
  generated,
  PERSON,
  postGenerate,
  postSimpleVerify,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'

const START = Date.parse('2026-06-01T12:00:00Z')
const AT_ONCE = 50

describe('aggregates of proofs', function () {
  this.timeout(120_000)
  let now = START
  let app: TestApp
  let owner: TestOrganisation
  let key: string
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
    key = owner.apiKey
    now = START
  })

  const proofOf = (ttl?: number) =>
    generated(app, key, { circuit_id: 'yesno', inputs: ADULT_INPUTS, ...(ttl && { context: { ttl } }) })
  const newToken = async () =>
    (
      await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
        key,
        body: { subject: 'user-1', ttl: 3600 },
      })
    ).body.tokenId
  const tokenProof = (tokenId: string) =>
    generated(app, key, { circuit_id: 'token_validation', inputs: { tokenId } })
  const postAggregate = (members: readonly ProofGenerated[], context?: object) =>
    postGenerate(app, key, {
      circuit_id: 'proof_aggregation',
      inputs: { proofIds: members.map(({ proof_id }) => proof_id) },
      ...(context && { context }),
    })
  const aggregate = async (members: readonly ProofGenerated[], context?: object): Promise<ProofGenerated> => {
    const { status, body } = await postAggregate(members, context)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const reasons = (made: ProofGenerated) => reasonsOf(app, key, asPresented(made))
  const consume = (made: ProofGenerated) => postVerifyProof(app, key, { ...asPresented(made), consume: true })

  it('say when they were attested, and end with the first of their members', async () => {
    const [brief, longer] = [await proofOf(60), await proofOf(600)]
    const made = await aggregate([longer, brief, await proofOf()], { ttl: 3600 })
    expect(made.context.statement.attested_at).to.equal(START / 1000)
    expect(made.context.exp).to.equal(brief.context.exp)
    expect(made.expires_at).to.equal(brief.expires_at)
    expect((await aggregate([longer], { ttl: 30 })).context.exp).to.equal(START / 1000 + 30)
    expect((await aggregate([await proofOf()])).context).to.not.have.property('exp')
    expect(await reasons(made)).to.deep.equal([])
    now += 60_000
    expect(await reasons(made)).to.deep.equal(['EXPIRED', 'MEMBER_1_EXPIRED'])
    expect((await consume(made)).body).to.include({ verified: false, consumed: false })
  })

  it('are no longer verified once what a member shows is revoked, and say which', async () => {
    const tokenId = await newToken()
    const made = await aggregate([await proofOf(), await tokenProof(tokenId)])
    expect(await reasons(made)).to.deep.equal([])
    await app.request('POST', '/api/tokens/revoke', { key, body: { tokenId } })
    expect(await reasons(made)).to.deep.equal(['MEMBER_1_CREDENTIAL_REVOKED'])
    const { status, body } = await consume(made)
    expect([status, body.verified, body.consumed]).to.deep.equal([200, false, false])
  })

  it('are no longer verified once a member is spent, and then spend none of the others', async () => {
    const members = [await proofOf(), await proofOf()]
    const made = await aggregate(members)
    expect((await consume(members[1] as ProofGenerated)).status).to.equal(200)
    expect(await reasons(made)).to.deep.equal(['MEMBER_1_DOUBLE_SPEND'])
    expect((await consume(made)).body).to.include({ verified: false, consumed: false })
    expect(await reasons(members[0] as ProofGenerated)).to.deep.equal([])
  })

  it('are spent with all members, with an entry for each', async () => {
    const members = [await proofOf(), await tokenProof(await newToken())]
    const made = await aggregate(members)
    const { status, body } = await consume(made)
    expect([status, body.consumed], JSON.stringify(body)).to.deep.equal([200, true])
    for (const one of [made, ...members]) {
      const spends = (await entriesOf(app, one.proof_id)).filter(({ type }) => type === 'spend')
      expect(spends.map(({ digest, data }) => [digest, data.event])).to.deep.equal([
        [one.digest, 'proof.spent'],
      ])
      const again = await consume(one)
      expect([again.status, again.body.consumed_at]).to.deep.equal([409, body.consumed_at])
    }
  })

  it('hold what other aggregates stand for to the same, and spend that too', async () => {
    const [deep, near] = [await proofOf(), await proofOf()]
    const inner = await aggregate([deep])
    const [made, other] = [await aggregate([near, inner]), await aggregate([near, inner])]
    expect((await consume(made)).body.consumed).to.equal(true)
    for (const one of [deep, near, inner]) expect((await consume(one)).status).to.equal(409)
    const spends = (await entriesOf(app, deep.proof_id)).filter(({ type }) => type === 'spend')
    expect(spends).to.have.length(1)
    expect(await reasons(other)).to.deep.equal([
      'MEMBER_0_DOUBLE_SPEND',
      'MEMBER_1_MEMBER_0_DOUBLE_SPEND',
      'MEMBER_1_DOUBLE_SPEND',
    ])
  })

  it('count each proof once: those whose parts overlap are not made', async () => {
    const [deep, near] = [await proofOf(), await proofOf()]
    const [inner, other] = [await aggregate([deep]), await aggregate([near, deep])]
    const outer = await aggregate([inner])
    for (const members of [
      [inner, deep],
      [near, inner, deep],
      [inner, other],
      [outer, inner],
      [outer, deep],
      [deep, outer],
      [outer, other],
    ]) {
      const { status, body } = await postAggregate(members)
      expect([status, body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
      expect(body.message).to.contain('show the same, or spend the same nullifier')
    }
    expect((await aggregate([near, outer])).decision).to.equal(1)
  })

  it('of another organisation are refused with whatever their context says of the members', async () => {
    const member = await proofOf()
    const made = await aggregate([member])
    const other = await app.organisation()
    const { proof, public_signals } = made
    const expected = { audience: 'https://shop.example', purpose: 'proof', nonce: made.context.nonce }
    for (const named of [
      null,
      {},
      'x',
      { digest: 'zz', decision: 1 },
      { digest: 'aa', decision: {} },
      { digest: ['x'], decision: 1 },
      { digest: 7, decision: 1 },
      { digest: member.digest, decision: 1.5 },
      { digest: member.digest, decision: '1' },
      { digest: member.digest },
      { digest: member.digest.toUpperCase(), decision: 1 },
    ])
      for (const members of [[named], [named, { digest: member.digest, decision: 1 }]]) {
        const statement = { ...made.context.statement, members }
        const context = { ...made.context, statement }
        const sent = { proof, context, expect: expected }
        const { status, body } = await postVerifyProof(app, other.apiKey, { ...sent, public_signals })
        expect([status, body.valid, body.verified], JSON.stringify(named)).to.deep.equal([200, true, false])
        expect(body.reason_codes).to.include('MEMBERS_MISMATCH')
        expect(body.reason_codes.filter((code) => /^MEMBER_/.test(code))).to.deep.equal([])
        const simple = await postSimpleVerify(app, other.apiKey, { ...sent, publicInputs: public_signals })
        expect([simple.status, simple.body.reasonCodes]).to.deep.equal([200, body.reason_codes])
      }
  })

  it('judge the time of a member when they are made: its `now` may lie further back later', async () => {
    const made = await aggregate([await tokenProof(await newToken())])
    now += 10 * 60_000
    expect(await reasons(made)).to.deep.equal([])
  })

  it('are no longer verified once what a member shows has expired, and say which', async () => {
    await kycRoutesOf(app, key).verified('user-2', annaWith({ expiresAt: '2026-06-01' }))
    const ofPerson = (disclose: boolean) =>
      generated(app, key, {
        circuit_id: 'kyc',
        inputs: {
          userId: 'user-2',
          minLevel: 'basic',
          latestBirthDate: '2000-01-01',
          unique: false,
          disclose,
        },
      })
    const hybrid = await hybridRoutesOf(app, key).issued({ exp: START / 1000 + 3600 })
    const ofHybrid = { circuit_id: 'quantum_safe_token', inputs: { token: hybrid } }
    const inner = await aggregate([await generated(app, key, ofHybrid)])
    const [token, untold] = [await tokenProof(await newToken()), await ofPerson(false)]
    const made = await aggregate([await proofOf(), token, await ofPerson(true), inner])
    const silent = await aggregate([untold])
    now = START + 3600 * 1000 - 1
    expect(await reasons(made)).to.deep.equal([])
    now += 1
    const over = ['MEMBER_1_CREDENTIAL_EXPIRED', 'MEMBER_3_MEMBER_0_CREDENTIAL_EXPIRED']
    expect(await reasons(made)).to.deep.equal(over)
    now = START + 3 * 86_400_000
    await newToken()
    const all = ['MEMBER_1_CREDENTIAL_EXPIRED', 'MEMBER_2_CREDENTIAL_EXPIRED', over[1]]
    expect(await reasons(made)).to.deep.equal(all)
    expect((await consume(made)).body).to.include({ verified: false, consumed: false })
    // It doesn't tell which credential it shows.
    expect(await reasons(silent)).to.deep.equal([])
  })

  it('stay verified where a member said NO of what had expired, since that is so still', async () => {
    const tokenId = await newToken()
    now += 3600 * 1000
    const no = await tokenProof(tokenId)
    const made = await aggregate([await proofOf(), no])
    expect([no.decision, made.decision]).to.deep.equal([0, 0])
    now += 3 * 86_400_000
    expect(await reasons(made)).to.deep.equal([])
  })

  it('are not made of two proofs that spend the same, also inside of another aggregate', async () => {
    const tokenId = await newToken()
    const refused = async (...members: readonly ProofGenerated[]) => {
      const { status, body } = await postAggregate(members)
      return `${status} ${body.reason} ${body.message}`
    }
    expect(await refused(await tokenProof(tokenId), await tokenProof(tokenId))).to.match(
      /^422 STATEMENT_FALSE .*same nullifier/,
    )
    const inner = await aggregate([await tokenProof(tokenId)])
    expect(await refused(await tokenProof(tokenId), inner)).to.match(/^422 STATEMENT_FALSE .*same nullifier/)
  })

  it('count a NO among their members as one, and then open nothing', async () => {
    const inputs = { data: PERSON, rules: [{ ...ADULT, value: 99 }] }
    const no = await generated(app, key, { circuit_id: 'yesno', inputs })
    const made = await aggregate([await proofOf(), no])
    expect(made.decision).to.equal(0)
    expect((await consume(made)).body).to.include({ verified: true, consumed: false })
    expect(await reasons(no)).to.deep.equal([])
  })

  it('hold their members to what these show, and read no points of theirs', async () => {
    const members = [await proofOf(), await proofOf()]
    const made = await aggregate(members)
    const ids = members.map(({ proof_id }) => proof_id)
    await app.services.database.knex('proofs').whereIn('id', ids).update({ proof: 'zk1.' })
    expect(await reasons(made)).to.deep.equal([])
    await app.services.database
      .knex('proofs')
      .where({ id: ids[1] })
      .update({ public_signals: JSON.stringify(members[0]?.public_signals) })
    expect(await reasons(made)).to.include('MEMBER_1_SIGNALS_MISMATCH')
  })

  it('are not verified where a member is of a version of its circuit that was replaced', async () => {
    const { consentId } = await consentRoutesOf(app, key).logged({ subjectId: 'user-1' })
    const inputs = { consentId, purpose: 'newsletter' }
    const member = await generated(app, key, { circuit_id: 'consent_verification', inputs })
    const made = await aggregate([await proofOf(), member])
    // Version 1 told neither status nor issuer.
    const names = consentVerification.publicNames
    const former = member.public_signals.filter(
      (_, i) => !['disclosedStatus', 'organisation', 'disclose'].includes(names[i] ?? ''),
    )
    expect(former).to.have.length(10)
    await app.services.database
      .knex('proofs')
      .where({ id: member.proof_id })
      .update({ public_signals: JSON.stringify(former) })
    expect(await reasons(made)).to.deep.equal(['MEMBER_1_SIGNAL_COUNT'])
    const { status, body } = await consume(made)
    expect([status, body.verified, body.consumed]).to.deep.equal([200, false, false])
  })

  it('are not spent where a member says not who acts, also inside of another aggregate', async () => {
    await kycRoutesOf(app, key).verified('user-1')
    const inputs = { userId: 'user-1', minLevel: 'basic', latestBirthDate: '2000-01-01', unique: false }
    const anybody = await generated(app, key, { circuit_id: 'kyc', inputs })
    const inner = await aggregate([anybody])
    for (const made of [inner, await aggregate([await proofOf(), inner])]) {
      expect(await reasons(made)).to.deep.equal([])
      const { status, body } = await consume(made)
      expect([status, body.verified, body.consumed]).to.deep.equal([200, true, false])
      expect(body.reason_codes).to.deep.equal(['NOT_UNIQUE'])
      const gate = await ticketRoutesOf(app, key).handIn([asPresented(made)])
      expect(gate.body.accepted).to.equal(0)
      expect(gate.body.results[0]).to.deep.include({ consumed: false, reason_codes: ['NOT_UNIQUE'] })
    }
  })

  it('are spent at the gate with all members, or refused there', async () => {
    const members = [await proofOf(), await proofOf()]
    const [made, other] = [await aggregate(members), await aggregate(members)]
    const handIn = async (...proofs: readonly ProofGenerated[]) =>
      (
        await app.request<BatchOutcomes>('POST', '/v1/qr/proofs/batch', {
          key,
          body: { proofs: proofs.map(asPresented) },
        })
      ).body
    const { accepted, results } = await handIn(made, other, ...members)
    expect(accepted).to.equal(1)
    expect(results.map(({ status, reason_codes }) => [status, reason_codes])).to.deep.equal([
      ['spent', undefined],
      ['invalid', ['MEMBER_0_DOUBLE_SPEND']],
      ['DOUBLE_SPEND', undefined],
      ['DOUBLE_SPEND', undefined],
    ])
    const spends = await entriesOf(app, (members[1] as ProofGenerated).proof_id)
    expect(spends.map(({ type }) => type)).to.deep.equal(['prove', 'spend'])
  })

  it(`of ${AT_ONCE} that spend the aggregate or a member at once, one wins each, and nothing is half spent`, async () => {
    const members = [await proofOf(), await proofOf(), await proofOf()]
    const made = await aggregate(members)
    const contenders = [made, members[1] as ProofGenerated]
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, i) => {
        const one = contenders[i % 2] as ProofGenerated
        const { status, body } = await consume(one)
        return { digest: one.digest, won: status === 200 && body.consumed === true }
      }),
    )
    const winners = answers.filter(({ won }) => won)
    expect(winners).to.have.length(1)
    const isWhole = winners[0]?.digest === made.digest
    const spent = await Promise.all(
      members.map(async ({ proof_id }) =>
        (await entriesOf(app, proof_id)).some(({ type }) => type === 'spend'),
      ),
    )
    expect(spent).to.deep.equal([isWhole, true, isWhole])
  })
})
