/** Proofs that are handed in together: each is judged for itself, and what holds is recorded in one commit. */
import { expect } from 'chai'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { ListedProof } from '../../../src/domain/proofs/schemas-list.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  asPresented,
  asText,
  entriesOf,
  generated,
  postSync,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { listOf } from '../../support/lists.ts'

describe('handing proofs in', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let stranger: TestOrganisation
  let known: ProofGenerated
  let foreign: ProofGenerated
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    stranger = await app.organisation()
    known = await generated(app, owner.apiKey)
    foreign = await generated(app, stranger.apiKey)
  })

  const item = ({ proof, public_signals }: ProofGenerated, more: object = {}) => ({
    proof,
    publicInputs: public_signals,
    ...more,
  })
  const unknown = () => item(foreign, { circuitId: 'yesno', createdAt: '2026-01-01T00:00:00Z' })

  it('counts what was unknown, what was known, and tells what is wrong with the rest, in their places', async () => {
    const wrong = { ...item(known), publicInputs: known.public_signals.with(0, '0'), circuitId: 'yesno' }
    const { status, body } = await postSync(app, owner.apiKey, [
      unknown(),
      wrong,
      item(known, { proofId: known.proof_id }),
      'nonsense',
      { proof: asText(known) },
      { proofId: 7, proof: 'x' },
      unknown(),
    ])
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ synced: 1, updated: 3 })
    expect(body.proofs.map(({ index, status, digest }) => [index, status, digest])).to.deep.equal([
      [0, 'synced', foreign.digest],
      [2, 'updated', known.digest],
      [4, 'updated', known.digest],
      [6, 'updated', foreign.digest],
    ])
    expect(body.proofs[3]?.proofId).to.equal(body.proofs[0]?.proofId)
    expect(body.errors.map(({ index, reasonCodes }) => [index, reasonCodes.join()])).to.deep.equal([
      [1, 'PROOF_INVALID'],
      [3, 'ITEM_MALFORMED'],
      [5, 'ITEM_MALFORMED'],
    ])
  })

  it('what was recorded so is known, and never verified: nobody can say what its ctx binds', async () => {
    const { body } = await postSync(app, owner.apiKey, [unknown()])
    expect(body).to.include({ synced: 0, updated: 1 })
    const proofId = body.proofs[0]?.proofId ?? ''
    expect(await entriesOf(app, proofId)).to.have.deep.nested.property('[0].data', {
      decision: 'YES',
      origin: 'sync',
      claimedAt: '2026-01-01T00:00:00Z',
    })
    const list = listOf<ListedProof, 'proofs'>(app, owner.apiKey, '/console/api/proofs', 'proofs')
    expect((await list.rows('decision=YES')).find((row) => row.proofId === proofId)?.madeElsewhere).to.equal(
      true,
    )
    const presented = { proof_id: proofId, proof: foreign.proof, public_signals: foreign.public_signals }
    expect(await reasonsOf(app, owner.apiKey, presented)).to.deep.equal(['CONTEXT_UNKNOWN'])
    const consumed = await postVerifyProof(app, owner.apiKey, { ...presented, consume: true })
    expect([consumed.status, consumed.body.verified]).to.deep.equal([200, false])
  })

  it('a foreign proof is recorded as a YES only where its circuit asks the question itself', async () => {
    const issuer = await app.organisation()
    const { body } = await app.request<{ proof: string; circuitId: string }>('POST', '/verify', {
      key: issuer.apiKey,
      body: { data: { age: 12 } },
    })
    const { proof, circuitId } = body
    const synced = await postSync(app, owner.apiKey, [{ proof, circuitId }])
    expect(synced.body.synced).to.equal(1)
    const [entry] = await entriesOf(app, synced.body.proofs[0]?.proofId ?? '')
    expect(entry?.data).to.deep.equal({ decision: null, origin: 'sync' })
    const { proofId } = synced.body.proofs[0] ?? {}
    const list = listOf<ListedProof, 'proofs'>(app, owner.apiKey, '/console/api/proofs', 'proofs')
    expect((await list.rows()).find((row) => row.proofId === proofId)).to.include({
      decision: null,
      madeElsewhere: true,
    })
    for (const decision of ['YES', 'NO'])
      expect((await list.rows(`decision=${decision}`)).map((row) => row.proofId)).to.not.include(proofId)
  })

  it('a known proof handed in under an id of nobody’s stays verified', async () => {
    const { body } = await postSync(app, owner.apiKey, [
      item(known, { proofId: 'prf_0', circuitId: 'yesno' }),
      // Without its circuit only the digest tells which one it is.
      { proof: asText(known), proofId: 'prf_0' },
    ])
    expect(body.errors).to.deep.equal([])
    expect(body.updated).to.equal(2)
    expect(await reasonsOf(app, owner.apiKey, { proof: asText(known) })).to.deep.equal([])
  })

  it('a known proof handed in under an id of nobody’s is checked as what it is, and not recorded again', async () => {
    const fresh = await generated(app, owner.apiKey)
    const unnamed = item(fresh, { proofId: 'prf_0', circuitId: 'yesno' })
    const { body } = await postSync(app, owner.apiKey, [unnamed])
    expect(body).to.deep.equal({
      synced: 0,
      updated: 1,
      proofs: [{ index: 0, status: 'updated', proofId: fresh.proof_id, digest: fresh.digest }],
      errors: [],
    })
    const rows = await app.services.database.knex('proofs').where({ digest: fresh.digest }).select('id')
    expect(rows).to.deep.equal([{ id: fresh.proof_id }])
    expect((await entriesOf(app, fresh.proof_id)).map(({ type }) => type)).to.deep.equal(['prove', 'verify'])
    await postVerifyProof(app, owner.apiKey, { ...asPresented(fresh), consume: true })
    const spent = await postSync(app, owner.apiKey, [unnamed])
    expect(spent.body.errors).to.deep.equal([
      { index: 0, proofId: fresh.proof_id, reasonCodes: ['DOUBLE_SPEND'] },
    ])
  })

  it('each known proof that holds leaves an entry, a spent one does not', async () => {
    const fresh = await generated(app, owner.apiKey)
    const presented = { proofId: fresh.proof_id, ...item(fresh) }
    await postSync(app, owner.apiKey, [presented, presented])
    await postVerifyProof(app, owner.apiKey, {
      proof_id: fresh.proof_id,
      proof: asText(fresh),
      consume: true,
    })
    const { body } = await postSync(app, owner.apiKey, [presented])
    expect(body).to.deep.equal({
      synced: 0,
      updated: 0,
      proofs: [],
      errors: [{ index: 0, proofId: fresh.proof_id, reasonCodes: ['DOUBLE_SPEND'] }],
    })
    expect((await entriesOf(app, fresh.proof_id)).map(({ type }) => type)).to.deep.equal([
      'prove',
      'verify',
      'verify',
      'verify',
      'spend',
    ])
  })

  it('an Idempotency-Key gives the first answer again, and records nothing more', async () => {
    const headers = { 'idempotency-key': 'sync-1' }
    const fresh = await generated(app, owner.apiKey)
    const first = await postSync(app, owner.apiKey, [item(fresh)], headers)
    const again = await postSync(app, owner.apiKey, [item(fresh)], headers)
    expect(again.body).to.deep.equal(first.body)
    expect(await entriesOf(app, fresh.proof_id)).to.have.length(2)
  })

  it('more than 100 are refused as a whole, and none are answered with zeros', async () => {
    const many = await postSync(
      app,
      owner.apiKey,
      Array.from({ length: 101 }, () => ({})),
    )
    expect([many.status, many.body.error]).to.deep.equal([422, 'batch_too_large'])
    const none = await postSync(app, owner.apiKey, [])
    expect([none.status, none.body]).to.deep.equal([200, { synced: 0, updated: 0, proofs: [], errors: [] }])
    const full = await postSync(
      app,
      owner.apiKey,
      Array.from({ length: 100 }, () => ({})),
    )
    expect(full.body.errors).to.have.length(100)
  })
})
