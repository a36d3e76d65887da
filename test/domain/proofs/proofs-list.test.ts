/** All proofs of an organisation, as its operators look through them. */
import { expect } from 'chai'
import type { KnownProof, ListedProof } from '../../../src/domain/proofs/schemas-list.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { ADULT, asPresented, asText, generated, PERSON } from '../../support/domain/proof-api.ts'
import { listOf } from '../../support/lists.ts'
import { DATA, verified } from '../../support/verification.ts'

const PROOFS = '/console/api/proofs'

describe('the list of proofs', () => {
  let app: TestApp
  let owner: TestOrganisation
  const list = (key = owner.apiKey) => listOf<ListedProof, 'proofs'>(app, key, PROOFS, 'proofs')
  const idsOf = (rows: readonly ListedProof[]) => rows.map(({ proofId }) => proofId)
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })
  const proofOf = (value: number) =>
    generated(app, owner.apiKey, {
      circuit_id: 'yesno',
      inputs: { data: PERSON, rules: [{ ...ADULT, value }] },
    })

  it('has every proof, newest first, with its decision and what became of it', async () => {
    const yes = await proofOf(18)
    const no = await proofOf(99)
    const attested = await verified(app, owner.apiKey, { data: DATA })
    const { proofs, nextCursor } = await list().page()
    expect(nextCursor).to.equal(null)
    expect(proofs.map(({ proofId, decision, consumedAt }) => [proofId, decision, consumedAt])).to.deep.equal([
      [attested.proofId, null, null],
      [no.proof_id, 'NO', null],
      [yes.proof_id, 'YES', null],
    ])
    expect(proofs[2]).to.include({
      circuitId: 'yesno',
      digest: yes.digest,
      madeElsewhere: false,
      createdAt: yes.created_at,
      merkleIndex: yes.merkle_index,
    })
    await ok(app, 'POST', '/v1/proofs/verify', {
      key: owner.apiKey,
      body: { ...asPresented(yes), consume: true },
    })
    await ok(app, 'POST', '/verify/revoke', {
      key: owner.apiKey,
      body: { verificationId: attested.verificationId },
    })
    expect(idsOf(await list().rows('consumed=true'))).to.deep.equal([yes.proof_id])
    expect(idsOf(await list().rows('consumed=false&decision=NO'))).to.deep.equal([no.proof_id])
    expect(idsOf(await list().rows('decision=YES'))).to.deep.equal([yes.proof_id])
    expect(idsOf(await list().rows('circuitId=yesno'))).to.deep.equal([no.proof_id, yes.proof_id])
    expect((await list().rows())[0]?.revokedAt).to.be.a('string')
  })

  it('leads to each proof, with the statement that its context binds', async () => {
    const made = await proofOf(18)
    const shown = await ok<KnownProof>(app, 'GET', `${PROOFS}/${made.proof_id}`, { key: owner.apiKey })
    expect(shown).to.deep.include({
      ...(await list().rows())[0],
      proof: asText(made),
      publicSignals: made.public_signals,
      context: made.context,
    })
    const again = { proof_id: shown.proofId, proof: shown.proof }
    const { verified } = await ok<{ verified: boolean }>(app, 'POST', '/v1/proofs/verify', {
      key: owner.apiKey,
      body: again,
    })
    expect(verified).to.equal(true)
    const { apiKey: stranger } = await app.organisation()
    expect((await app.request('GET', `${PROOFS}/${made.proof_id}`, { key: stranger })).status).to.equal(404)
    expect(await list(stranger).rows()).to.deep.equal([])
    expect((await list().refused(`cursor=${made.proof_id}`, stranger))[2]).to.equal('query/cursor')
  })

  it('reads no more than it shows, however many there are', async () => {
    await app.services.database.knex.raw(
      `INSERT INTO proofs (id, organisation, entry_index, circuit_id, digest, proof, public_signals, created_at)
        SELECT 'prf_' || lpad(i::text, 20, '0') || substr(:organisation, 25), :organisation, 0,
          CASE WHEN i % 100 = 0 THEN 'yesno' ELSE 'eligibility' END, 'digest-' || i, 'zk1.', '[]', :at::bigint + i / 40
          FROM generate_series(1, 20000) AS i`,
      { organisation: owner.organisationId, at: Date.UTC(2026, 2, 2) },
    )
    await app.services.database.knex.raw('ANALYZE proofs')
    await list().expectFlat('proofs', ['', 'circuitId=yesno', 'from=2026-03-02&to=2026-03-02'])
    const rows = await list().all(200, 'circuitId=yesno')
    expect(rows.map(({ digest }) => digest)).to.deep.equal(
      Array.from({ length: 200 }, (_, i) => `digest-${20_000 - i * 100}`),
    )
  })
})
