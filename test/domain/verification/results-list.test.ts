/** All results of an organisation, as its operators look through them. */
import { expect } from 'chai'
import type { ListedResult } from '../../../src/domain/verification/schemas-list.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { listOf } from '../../support/lists.ts'
import { DATA, postBatch, signedResult, verified } from '../../support/verification.ts'

const RESULTS = '/console/api/results'
const ADULT = { field: 'age', op: 'gte', value: 18 }

describe('the list of results', () => {
  let app: TestApp
  let owner: TestOrganisation
  const list = (key = owner.apiKey) => listOf<ListedResult, 'results'>(app, key, RESULTS, 'results')
  const idsOf = (rows: readonly ListedResult[]) => rows.map(({ verificationId }) => verificationId)
  const decided = async (value: number) => {
    const item = { data: DATA, options: { rules: [{ ...ADULT, value }] } }
    return (await signedResult(app, owner.apiKey, item)).verificationId
  }
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  /** Writes results straight into the table. */
  const fill = async (count: number, { at }: { at: number }) => {
    await app.services.database.knex.raw(
      `INSERT INTO verifications (id, organisation, entry_index, leaf_hash, decision, digest, circuit_id, jws, jws_hash, issued_at)
        SELECT 'ver_' || lpad(i::text, 20, '0') || substr(:organisation, 25), :organisation, 0, decode(repeat('00', 32), 'hex'),
          CASE WHEN i % 2 = 0 THEN 'NO' ELSE 'YES' END, 'digest-' || i, CASE WHEN i % 100 = 0 THEN 'yesno' ELSE 'eligibility' END,
          'jws', sha256((:organisation || i)::bytea), :at::bigint + i / 40 FROM generate_series(1, :count) AS i`,
      { organisation: owner.organisationId, count, at },
    )
    await app.services.database.knex.raw('ANALYZE verifications')
  }

  it('has every result, newest first, with what became of it', async () => {
    const yes = await verified(app, owner.apiKey, { data: DATA, options: { rules: [ADULT] } })
    const no = await decided(99)
    const attested = await signedResult(app, owner.apiKey)
    const { results, nextCursor } = await list().page()
    expect(nextCursor).to.equal(null)
    expect(
      results.map(({ verificationId, decision, status }) => [verificationId, decision, status]),
    ).to.deep.equal([
      [attested.verificationId, null, 'VALID'],
      [no, 'NO', 'VALID'],
      [yes.verificationId, 'YES', 'VALID'],
    ])
    expect(results[2]).to.include({
      digest: yes.digest,
      proofId: yes.proofId,
      circuitId: yes.circuitId,
      qrUrl: yes.qrUrl,
      merkleIndex: yes.merkleIndex,
      consumedAt: null,
      revokedAt: null,
    })
    await ok(app, 'POST', '/v1/proofs/verify', {
      key: owner.apiKey,
      body: { proof_id: yes.proofId, proof: yes.proof, consume: true },
    })
    await ok(app, 'POST', '/verify/revoke', { key: owner.apiKey, body: { verificationId: no } })
    expect(idsOf(await list().rows('consumed=true'))).to.deep.equal([yes.verificationId])
    expect(idsOf(await list().rows('consumed=false'))).to.deep.equal([attested.verificationId, no])
    expect(idsOf(await list().rows('decision=NO'))).to.deep.equal([no])
    expect(idsOf(await list().rows(`circuitId=${yes.circuitId}&decision=YES`))).to.deep.equal([
      yes.verificationId,
    ])
    const [, revoked, consumed] = await list().rows()
    expect(revoked).to.include({ status: 'REVOKED' })
    expect(revoked?.revokedAt).to.be.a('string')
    expect(consumed?.consumedAt).to.be.a('string')
  })

  it('is of this organisation alone, for those who may read its log', async () => {
    const mine = await decided(1)
    const stranger = await app.organisation()
    expect(await list(stranger.apiKey).page()).to.deep.equal({ results: [], nextCursor: null })
    const fault = [400, 'invalid_query', 'query/cursor']
    expect(await list().refused(`cursor=${mine}`, stranger.apiKey)).to.deep.equal(fault)
    expect(await list().refused('cursor=ver_00000000000000000000000000')).to.deep.equal(fault)
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['verify'] },
    })
    expect((await list().refused('', body.apiKey))[0]).to.equal(403)
  })

  it('refuses filters that it does not know, by their names', async () => {
    expect(await list().refused('decision=MAYBE')).to.deep.equal([400, 'invalid_query', 'query/decision'])
    expect(await list().refused('consumed=perhaps')).to.deep.equal([400, 'invalid_query', 'query/consumed'])
    expect(await list().refused('limit=201')).to.deep.equal([400, 'invalid_query', 'query/limit'])
    expect(await list().refused('limit=0')).to.deep.equal([400, 'invalid_query', 'query/limit'])
    expect(await list().refused('to=yesterday')).to.deep.equal([400, 'invalid_query', 'query/to'])
    expect((await list().refused('state=VALID'))[1]).to.equal('unknown_parameter')
  })

  it('goes from page to page without gap or repetition, within its window', async () => {
    await fill(250, { at: Date.UTC(2026, 2, 2) })
    const rows = await list().all(60)
    expect(rows.map(({ digest }) => digest)).to.deep.equal(
      Array.from({ length: 250 }, (_, i) => `digest-${250 - i}`),
    )
    expect(await list().rows('to=2026-03-01')).to.deep.equal([])
    expect(await list().all(60, 'from=2026-03-02&to=2026-03-02&decision=NO')).to.have.length(125)
    await postBatch(app, owner.apiKey, [DATA])
    expect(await list().rows('from=2026-03-03')).to.have.length(1)
  })

  it('reads no more than it shows, however many there are', async () => {
    await fill(20_000, { at: Date.UTC(2026, 2, 2) })
    await list().expectFlat('verifications', ['', 'circuitId=yesno', 'from=2026-03-02&to=2026-03-02'])
  })
})
