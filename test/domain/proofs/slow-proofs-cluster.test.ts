/** Two server processes on one PostgreSQL: what 64 clients spend through both, a proof or an aggregate, is spent once. */
import { expect } from 'chai'
import pg from 'pg'
import type { ProofGenerated, ProofVerified } from '../../../src/domain/proofs/schemas.ts'
import { ADULT_INPUTS, asPresented } from '../../support/domain/proof-api.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

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
    const { clients, adminKey: key } = cluster as Cluster
    const [one, two] = clients
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

  it(`of ${CLIENTS} clients that spend an aggregate or one of its members through both, one does, with all of it or that alone`, async () => {
    const { clients, adminKey: key, databaseUrl } = cluster as Cluster
    const [one, two] = clients
    if (!one || !two) throw new Error('there are not two servers')
    const made = async (body: object): Promise<ProofGenerated> => {
      const answer = await one.request('POST', '/v1/proofs/generate', { key, body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body as ProofGenerated
    }
    const proofOf = () => made({ circuit_id: 'yesno', inputs: ADULT_INPUTS })
    const aggregateOf = (...members: readonly ProofGenerated[]) =>
      made({
        circuit_id: 'proof_aggregation',
        inputs: { proofIds: members.map(({ proof_id }) => proof_id) },
      })
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      const spendsOf = async (...proofs: readonly ProofGenerated[]): Promise<number[]> => {
        const ids = proofs.map(({ proof_id }) => proof_id)
        const sql = "SELECT proof_id FROM ledger_entries WHERE proof_id = ANY($1) AND type = 'spend'"
        const { rows } = await client.query<{ proof_id: string }>(sql, [ids])
        return ids.map((id) => rows.filter(({ proof_id }) => proof_id === id).length)
      }
      const race = async (contenders: readonly ProofGenerated[]) => {
        const answers = await Promise.all(
          Array.from({ length: CLIENTS }, async (_, i) => {
            // Every contender is spent through both servers.
            const contender = contenders[Math.floor(i / 2) % contenders.length] as ProofGenerated
            const body = { ...asPresented(contender), consume: true }
            const answer = await (i % 2 === 0 ? one : two).request('POST', '/v1/proofs/verify', { key, body })
            const told = answer.body as ProofVerified
            return {
              contender,
              status: answer.status,
              isWon: answer.status === 200 && told.consumed === true,
            }
          }),
        )
        expect(answers.every(({ status }) => status === 200 || status === 409)).to.equal(true)
        const won = answers.filter(({ isWon }) => isWon)
        expect(won).to.have.length(1)
        return won[0]?.contender
      }

      const deep = await proofOf()
      const parts = [await proofOf(), await aggregateOf(deep)]
      const whole = await aggregateOf(...parts)
      expect(await race([whole])).to.equal(whole)
      expect(await spendsOf(whole, ...parts, deep)).to.deep.equal([1, 1, 1, 1])

      const members = [await proofOf(), await proofOf(), await proofOf()]
      const [, middle] = members
      const other = await aggregateOf(...members)
      const isWhole = (await race([other, middle as ProofGenerated])) === other
      const rest = isWhole ? 1 : 0
      expect(await spendsOf(other, ...members)).to.deep.equal([rest, rest, 1, rest])
    } finally {
      await client.end()
    }
  })
})
