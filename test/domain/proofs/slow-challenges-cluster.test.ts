/** Two server processes on one PostgreSQL: a challenge takes five answers in all and one that is verified, through whichever server. */
import { expect } from 'chai'
import type { TestApp, TestOrganisation } from '../../support/app.ts'
import type { Client } from '../../support/client.ts'
import {
  AGE_QUESTION,
  challengeRoutesOf,
  keeperOf,
  type Presented,
  proveKyc,
} from '../../support/domain/presentations.ts'
import { usingTwoServers } from '../../support/servers/cluster.ts'

const NO_PROOF = { proof: 'zk1.AAAA', public_signals: [] } as unknown as Presented
const CLIENTS = 40

describe('challenges on two servers', () => {
  const cluster = usingTwoServers({ BASE_URL: 'http://assay.example' })

  const servers = () => {
    const { clients, adminKey: key } = cluster()
    // What the routes need of an app is its requests.
    const routes = clients.map((client: Client) => challengeRoutesOf(client as TestApp, key))
    const [one, two] = routes
    if (!one || !two) throw new Error('there are not two servers')
    return { one, two, key, app: clients[0] as TestApp }
  }
  const organisation = async (app: TestApp, key: string): Promise<TestOrganisation> => {
    const { body } = await app.request<TestOrganisation>('POST', '/console/api/organisations', {
      key,
      body: { name: 'Issuer' },
    })
    return body
  }

  it(`of ${CLIENTS} wrong answers through both, five are taken`, async () => {
    const { one, two } = servers()
    const { challenge_id: id } = await one.asked()
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => (i % 2 ? one : two).answer(id, NO_PROOF)),
    )
    expect(answers.filter(({ status }) => status === 200)).to.have.length(5)
    const { state, attempts } = (await two.find(id)).body
    expect([state, attempts]).to.deep.equal(['failed', 5])
  })

  it('of four right answers through both, one is on record', async () => {
    const { one, two, app, key } = servers()
    const issuer = await organisation(app, key)
    const keeper = await keeperOf(app, issuer)
    const { challenge_id: id, context } = await one.asked({
      ...AGE_QUESTION,
      issuers: [issuer.organisationId],
    })
    const now = Date.now()
    const made = await Promise.all([0, 1000, 2000, 3000].map((back) => proveKyc(keeper, context, now - back)))
    const answers = await Promise.all(made.map((proof, i) => (i % 2 ? one : two).answer(id, proof)))
    expect(answers.every(({ status }) => status === 200 || status === 409)).to.equal(true)
    const [mine, theirs] = [(await one.find(id)).body, (await two.find(id)).body]
    expect(mine.state).to.equal('verified')
    expect(theirs.result).to.deep.equal(mine.result)
    const spends = await Promise.all(
      [one, two].map(async (routes) => (await routes.answer(id, made[0] as Presented)).body.reason),
    )
    expect(spends).to.deep.equal(['CHALLENGE_ANSWERED', 'CHALLENGE_ANSWERED'])
  })

  it('of many that are asked through both, no more than a thousand wait', async () => {
    const { one, two, app, key } = servers()
    const asker = await organisation(app, key)
    const { clients } = cluster()
    const routes = clients.map((client) => challengeRoutesOf(client as TestApp, asker.apiKey))
    expect([one, two]).to.have.length(routes.length)
    let asked = 0
    const refused: number[] = []
    while (refused.length === 0) {
      const answers = await Promise.all(Array.from({ length: 64 }, (_, i) => (routes[i % 2] ?? one).create()))
      asked += answers.filter(({ status }) => status === 201).length
      refused.push(...answers.filter(({ status }) => status !== 201).map(({ status }) => status))
    }
    expect(asked).to.equal(1000)
    expect(new Set(refused)).to.deep.equal(new Set([409]))
  })
})
