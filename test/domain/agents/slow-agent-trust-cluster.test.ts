/** Two server processes on one PostgreSQL: no agent spends more than its day has, and no nonce counts on both. */
import { expect } from 'chai'
import type { Client } from '../../support/client.ts'
import { agentJws, agentRequestJws, agentTrustOf, freshNonce } from '../../support/domain/agent-trust.ts'
import { type AgentKey, agentRoutesOf, newAgentKey } from '../../support/domain/agents.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const AUDIENCE = 'https://shop.example'
const REQUESTS = 100
const NONCES = 20

describe('agents on two servers', () => {
  const { DATABASE_URL } = process.env
  let cluster: Cluster
  let key: AgentKey
  let agentId: string
  let trusts: ReturnType<typeof agentTrustOf>[]

  before(async function () {
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2, { BASE_URL: AUDIENCE })
    const { clients } = cluster
    const [one] = clients as [Client]
    const made = await one.request<{ apiKey: string }>('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'Agents' },
    })
    trusts = clients.map((client) => agentTrustOf(client, made.body.apiKey))
    key = await newAgentKey()
    const limits = { currency: 'EUR', per_day: 100 }
    agentId = (await agentRoutesOf(one, made.body.apiKey).active(key, { limits })).agent_id
  })
  after(async () => {
    const codes = await cluster?.end()
    if (codes) expect(codes.every((code) => code === 0)).to.equal(true)
  })
  const trustOf = (index: number) => trusts[index % trusts.length] as ReturnType<typeof agentTrustOf>

  it('spend the limit of their day to the cent and no more', async () => {
    const wanted = { action: 'pay', amount: 3, currency: 'EUR', payee: 'shop.example' }
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) =>
        trustOf(index).authorise({
          agent_id: agentId,
          ...wanted,
          jws: agentRequestJws(key, AUDIENCE, wanted),
        }),
      ),
    )
    expect(answers.every(({ status }) => status === 200)).to.equal(true)
    const allowed = answers.filter(({ body }) => body.decision === 'ALLOW')
    const left = allowed.map(({ body }) => Number(body.remaining.per_day)).sort((a, b) => b - a)
    expect(left).to.deep.equal(Array.from({ length: 33 }, (_, index) => 97 - 3 * index))
    const denied = answers.filter(({ body }) => body.decision === 'DENY')
    expect(denied).to.have.length(REQUESTS - 33)
    for (const { body } of denied) {
      expect(body.reasons).to.deep.equal(['PER_DAY_EXCEEDED'])
      expect(body.remaining).to.deep.equal({ per_day: 1 })
    }
  })

  it('are recognised by a nonce on one of them only', async () => {
    for (let round = 0; round < NONCES; round++) {
      const jws = agentJws(key, AUDIENCE, { nonce: freshNonce() })
      const answers = await Promise.all([0, 1].map((index) => trustOf(index).verify({ jws })))
      const fresh = answers.map(({ body }) => body.nonce_fresh).sort()
      expect(fresh).to.deep.equal([false, true])
    }
  })
})
