/** The answers to examples that the documents show are those that a server gives now. */
import { expect } from 'chai'
import { ANSWER_URL, exampleAnswers } from '../../src/server/example-answers.ts'
import { routes } from '../../src/server/routes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { callExample, isShown, keptAnswer, shapeOf } from '../support/example-answers.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

/** An identity provider and certificates for passes are the operator's; transactions are synced instead. */
const REFUSED = [
  'confirmIdentityLink',
  'createBackup',
  'deleteIdentityLink',
  'finishProviderSignIn',
  'getLogHead',
  'startIdentityLink',
  'startProviderSignIn',
  'submitOfflineTransactions',
  'tokenPass',
]

const shownAnswers = exampleAnswers(ANSWER_URL)

onEmbedded.describe('answers to examples', () => {
  let dns: DnsServer
  let app: TestApp
  before(async () => {
    dns = await startDnsServer()
    // One of its own: the chat refuses a text that another file's tests posted before.
    app = await startTestApp({ env: { DNS_SERVERS: dns.address } })
  })
  after(async () => {
    await app.close()
    await dns.close()
  })

  for (const route of routes)
    it(`of ${route.name} have the shape that is shown (npm run docs:answers)`, async () => {
      const answer = await callExample(app, route)
      const now = isShown(route, answer.status) ? keptAnswer(app, answer) : undefined
      const shown = shownAnswers[route.name]
      expect(shown && { ...shown, body: shapeOf(shown.body) }).to.deep.equal(
        now && { ...now, body: shapeOf(now.body) },
      )
    })

  it('are refusals only of what an operator must set up first, or what is never done', () => {
    const refused = Object.entries(shownAnswers).filter(([, { status }]) => status >= 400)
    expect(refused.map(([name]) => name)).to.have.members(REFUSED)
  })

  it('are of operations that there are', () => {
    expect(routes.map(({ name }) => name)).to.include.members(Object.keys(shownAnswers))
  })
})
