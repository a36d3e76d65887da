/** Two server processes on one PostgreSQL: a digest that 64 clients spend through both is spent once. */
import { expect } from 'chai'
import type { ProofGenerated, ProofVerified } from '../../src/domain/proofs/schemas.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { ADULT_INPUTS, asPresented } from '../support/proof-api.ts'

const CLIENTS = 64

describe('proofs on two servers', () => {
  const { DATABASE_URL } = process.env
  let cluster: Cluster | undefined
  before(async function () {
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    // What proofs are bound to is the address that all servers have in common.
    cluster = await startCluster(DATABASE_URL, 2, { BASE_URL: 'http://assay.example' })
  })
  after(async () => {
    const codes = await cluster?.end()
    expect(codes?.every((code) => code === 0) ?? true).to.equal(true)
  })

  it(`of ${CLIENTS} clients that spend the same digest through both, one does and all others hear of it`, async () => {
    const { shops, adminKey: key } = cluster as Cluster
    const [one, two] = shops
    if (!one || !two) throw new Error('there are not two servers')
    const made = await one.request('POST', '/v1/proofs/generate', {
      key,
      body: { circuit_id: 'yesno', inputs: ADULT_INPUTS },
    })
    expect(made.status, JSON.stringify(made.body)).to.equal(200)
    const proof = made.body as ProofGenerated
    const body = { ...asPresented(proof), consume: true }
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) =>
        (i % 2 === 0 ? one : two).request('POST', '/v1/proofs/verify', { key, body }),
      ),
    )
    const spent = answers
      .filter(({ status }) => status === 200)
      .map(({ body: answer }) => answer as ProofVerified)
    expect(spent).to.have.length(1)
    const consumedAt = spent[0]?.consumed_at
    const refused = answers.filter(({ status }) => status === 409).map(({ body: refusal }) => refusal)
    expect(refused).to.have.length(CLIENTS - 1)
    for (const refusal of refused) {
      const { error, reason, digest, consumed_at: at } = refusal as Record<string, unknown>
      expect({ error, reason, digest, at }).to.deep.equal({
        error: 'double_spend',
        reason: 'DOUBLE_SPEND',
        digest: proof.digest,
        at: consumedAt,
      })
    }
  })
})
