/**
 * Two server processes on one PostgreSQL and one Redis: what is revoked on one of them is refused by the other at
 * once, and not when its memory of the last second has run out.
 */
import { once } from 'node:events'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Client } from '../../support/client.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import type { Owner } from '../../support/domain/tills.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

/** How long a server would remember, if nobody told it. */
const MEMORY_MS = 1000
const ROUNDS = 10

describe('revocations on two servers', () => {
  const { DATABASE_URL, REDIS_URL } = process.env
  let cluster: Cluster
  let a: Client
  let b: Client
  let owner: Owner
  let listener: Redis
  let announcements: string
  const heard: string[] = []

  before(async function () {
    if (!DATABASE_URL || !REDIS_URL) {
      console.log('      SKIPPED: needs DATABASE_URL and REDIS_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
    ;[a, b] = cluster.clients as [Client, Client]
    const made = await a.request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'cluster' },
    })
    owner = made.body as Owner
    listener = new Redis(REDIS_URL)
    listener.on('pmessage', (_pattern, channel: string) => heard.push(channel.split(':').slice(-2).join(':')))
    await once(listener, 'ready')
    const { searchParams } = new URL(cluster.redisUrl ?? REDIS_URL)
    announcements = `${searchParams.get('keyPrefix')}assay:bus:*`
  })

  after(async () => {
    listener?.disconnect()
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  /**
   * Does it on one server while the other remembers that the credential works. Only rounds that took less time
   * than a memory lasts show anything.
   * @returns the statuses of the credential's next use on the other server
   */
  const afterRevocation = async (
    prepare: () => Promise<{ use: () => Promise<number>; revoke: () => Promise<unknown> }>,
  ): Promise<number[]> => {
    const statuses: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { use, revoke } = await prepare()
      const startedAt = performance.now()
      expect(await use()).to.equal(200)
      await revoke()
      const status = await use()
      if (performance.now() - startedAt < MEMORY_MS) statuses.push(status)
    }
    expect(statuses).not.to.deep.equal([])
    // Only now: whoever revokes waits for all that listen, and this one would never answer.
    await listener.psubscribe(announcements)
    await (await prepare()).revoke()
    await listener.punsubscribe(announcements)
    return statuses
  }

  it('a revoked key is refused at once', async () => {
    heard.length = 0
    const statuses = await afterRevocation(async () => {
      const made = await a.request('POST', '/console/api/keys', { key: owner.apiKey, body: {} })
      const { apiKey, keyId } = made.body as { apiKey: string; keyId: string }
      return {
        use: async () => (await b.request('GET', '/console/api/me', { key: apiKey })).status,
        revoke: () => a.request('DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey }),
      }
    })
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
    expect(heard).to.include('recent:key-by-digest')
  })

  it('a session that a change of password ended is refused at once', async () => {
    heard.length = 0
    const { email, password } = await signUp(a)
    let current = password
    const statuses = await afterRevocation(async () => {
      const { headers: changing } = await signIn(a, { email, password: current })
      const { headers: other } = await signIn(a, { email, password: current })
      return {
        use: async () => (await b.request('GET', '/console/api/me', { headers: other })).status,
        async revoke() {
          const body = { currentPassword: current, newPassword: `${current}!` }
          const { status } = await a.request('PUT', '/console/api/password', { headers: changing, body })
          expect(status).to.equal(204)
          current = body.newPassword
        },
      }
    })
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
    expect(heard).to.include('recent:session-with-role')
  })

  it('an ended session is refused at once', async () => {
    heard.length = 0
    const account = await signUp(a)
    const statuses = await afterRevocation(async () => {
      const { headers } = await signIn(a, account)
      return {
        use: async () => (await b.request('GET', '/console/api/me', { headers })).status,
        revoke: () => a.request('DELETE', '/console/api/session', { headers }),
      }
    })
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
    expect(heard).to.include('recent:session-with-role')
  })

  it("a revoked terminal's token is refused at once", async () => {
    const statuses = await afterRevocation(async () => {
      const key = owner.apiKey
      const made = await a.request('POST', '/console/api/terminals', { key, body: { label: 'till' } })
      const { terminalId, terminalSecret, apiKey } = made.body as Record<string, string>
      const { body } = await a.request('POST', '/api/merchant/terminals/authenticate', {
        key: apiKey,
        body: { terminalId, terminalSecret },
      })
      const { token } = body as { token: string }
      return {
        use: async () => {
          const answer = await b.request('POST', '/api/merchant/transactions/sync', {
            bearer: token,
            body: { transactions: [] },
          })
          // An empty upload is refused as such once the token was accepted.
          return answer.status === 401 ? 401 : 200
        },
        revoke: () => a.request('DELETE', `/console/api/terminals/${terminalId}`, { key }),
      }
    })
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
  })
})
