/** Two server processes on one PostgreSQL: what is withdrawn on one of them holds no more on the other, at once. */
import { expect } from 'chai'
import type { TestApp } from '../../support/app.ts'
import type { Client } from '../../support/client.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const ROUNDS = 10
const SUBJECTS = 8
const ASK = { purpose: 'newsletter' }

describe('consents on two servers', () => {
  let cluster: Cluster
  let a: ReturnType<typeof consentRoutesOf>
  let b: ReturnType<typeof consentRoutesOf>

  before(async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
    const [first, second] = cluster.clients as [Client, Client]
    const made = await first.request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'cluster' },
    })
    const { apiKey } = made.body as { apiKey: string }
    // What these routes need of an app, a shop has.
    const routesAt = (shop: Client) => consentRoutesOf(shop as unknown as TestApp, apiKey)
    a = routesAt(first)
    b = routesAt(second)
  })

  after(async () => {
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  it('a withdrawal counts on the other one from the moment in which it was answered', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const subjectId = `person-${round}`
      const { consentId } = await a.logged({ subjectId })
      // Whatever could be remembered is asked for before.
      for (const server of [a, b]) {
        expect(await server.reason({ subjectId, ...ASK })).to.equal(undefined)
        expect(await server.reason({ consentId })).to.equal(undefined)
      }
      await a.revoke(consentId)
      expect(await b.reason({ subjectId, ...ASK })).to.equal('withdrawn')
      expect(await b.reason({ consentId })).to.equal('withdrawn')
      expect((await b.status(consentId)).body.status).to.equal('withdrawn')
    }
  })

  it('one person has one pseudonym on both, also where both meet the organisation for the first time', async () => {
    const people = Array.from({ length: SUBJECTS }, (_, i) => `both-${i}`)
    await Promise.all(people.map((subjectId, i) => (i % 2 === 0 ? a : b).logged({ subjectId })))
    for (const [i, subjectId] of people.entries())
      expect(await (i % 2 === 0 ? b : a).reason({ subjectId, ...ASK })).to.equal(undefined)
  })

  it('records and withdrawals that meet get versions of their own and one answer each', async () => {
    const made = await Promise.all(
      Array.from({ length: SUBJECTS }, (_, i) => (i % 2 === 0 ? a : b).logged({ subjectId: 'raced' })),
    )
    expect(made.map(({ version }) => version).sort()).to.deep.equal(made.map((_, i) => i + 1))
    const last = made.find(({ version }) => version === SUBJECTS)?.consentId ?? ''
    const answers = await Promise.all(
      Array.from({ length: SUBJECTS }, (_, i) => (i % 2 === 0 ? a : b).revoke(last)),
    )
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).to.equal(1)
    for (const server of [a, b])
      expect(await server.reason({ subjectId: 'raced', ...ASK })).to.equal('withdrawn')
  })
})
