/** Two server processes on one PostgreSQL: a single-use token, and a ticket, that both are shown at once count once. */
import { expect } from 'chai'
import type { Client } from '../../support/client.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import type { Owner } from '../../support/domain/tills.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const PRESENTATIONS = 50
const ROUNDS = 3

describe('tokens and tickets on two servers', () => {
  let cluster: Cluster
  let owner: Owner

  before(async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
    const made = await (cluster.clients[0] as Client).request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'gate' },
    })
    owner = made.body as Owner
  })
  after(async () => {
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  /** Calls both servers in turn, all at once. */
  const atOnce = <T>(call: (shop: Client) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: PRESENTATIONS }, (_, i) => call(cluster.clients[i % 2] as Client)))

  it(`use a token up once of ${PRESENTATIONS} consumptions`, async () => {
    const key = owner.apiKey
    for (let round = 0; round < ROUNDS; round++) {
      const made = await (cluster.clients[round % 2] as Client).request('POST', '/api/tokens/generate', {
        key,
        body: { subject: 'member-7', type: 'qr', singleUse: true },
      })
      const { token } = made.body as { token: string }
      const answers = await atOnce((shop) =>
        shop.request('POST', '/api/tokens/validate', { key, body: { token, consume: true } }),
      )
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
      expect(answers.filter(({ status }) => status === 409)).to.have.length(PRESENTATIONS - 1)
    }
  })

  it(`use a ticket up once of ${PRESENTATIONS} that are handed in, alone or in batches`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const issuing = ticketRoutesOf(cluster.clients[round % 2] as Client, owner.apiKey)
      const [alone, inBatch] = [await issuing.issued(), await issuing.issued()]
      const answers = await atOnce((shop) => ticketRoutesOf(shop, owner.apiKey).handIn([alone.qr_payload]))
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
      expect(answers.filter(({ status }) => status === 409)).to.have.length(PRESENTATIONS - 1)
      const batches = await atOnce((shop) =>
        ticketRoutesOf(shop, owner.apiKey).handIn([inBatch.qr_payload, 'nonsense', inBatch.qr_payload]),
      )
      expect(batches.filter(({ status }) => status === 200)).to.have.length(PRESENTATIONS)
      expect(batches.reduce((sum, { body }) => sum + body.accepted, 0)).to.equal(1)
    }
  })
})
