/**
 * Two server processes on one PostgreSQL and one Redis: the limit of pods holds over both to the request, and a pod
 * that is suspended on one verifies on none.
 */
import { expect } from 'chai'
import type { PodCreated } from '../../../src/domain/pods/schemas.ts'
import { type Client, ok, type TestResponse } from '../../support/client.ts'
import { createPod } from '../../support/domain/pods.ts'
import type { Owner } from '../../support/domain/tills.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const REQUESTS = 1200
const LIMIT = 1000
const CLIENTS = 16
const ATTEMPTS = 5

/** What the tests look at of any answer. */
type Answered = TestResponse<{ error?: string }>

const remaining = ({ headers }: Answered): number => Number(headers.get('x-ratelimit-remaining'))

describe('pods on two servers', () => {
  const { DATABASE_URL, REDIS_URL } = process.env
  let cluster: Cluster | undefined
  let clients: readonly Client[]
  let pod: PodCreated
  let countedLocally = 0

  before(async function () {
    if (!DATABASE_URL || !REDIS_URL) {
      console.log('      SKIPPED: needs DATABASE_URL and REDIS_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2, {
      RATE_LIMITS: 'on',
      RATE_LIMIT_PER_MINUTE: '5',
      TRUST_PROXY: '127.0.0.1/32',
      LOG_LEVEL: 'warn',
    })
    for (const { process: child } of cluster.servers) {
      child.stdout?.on('data', (text) => {
        if (String(text).includes('counted locally')) countedLocally++
      })
    }
    clients = cluster.clients
    const key = cluster.adminKey
    const body = { name: 'Pods' }
    const { apiKey } = await ok<Owner>(one(), 'POST', '/console/api/organisations', { key, body })
    pod = await createPod(one(), apiKey)
  })

  after(async () => {
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  const one = () => clients[0] as Client
  const fromAddress = (address: string) => ({ 'x-pod-key': pod.podKey, 'x-forwarded-for': address })
  /** Refused for its body, after it was counted. */
  const ask = (index: number, address: string, body = {}): Promise<Answered> =>
    (clients[index % clients.length] as Client).request('POST', `/pod/${pod.podId}/verify`, {
      headers: fromAddress(address),
      body,
    })

  /** All requests from one address, on both servers. */
  const askAll = async (address: string): Promise<Answered[]> => {
    const answers: Answered[] = []
    let next = 0
    const client = async (): Promise<void> => {
      while (next < REQUESTS) answers.push(await ask(next++, address))
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    return answers
  }

  it('an address gets exactly 1,000 answers in an hour, whichever server it asks', async () => {
    // Where Redis is too slow each server counts for itself, and says so; then another address is counted.
    let answers: Answered[] = []
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      countedLocally = 0
      answers = await askAll(`198.51.100.${10 + attempt}`)
      if (countedLocally === 0) break
    }
    expect(countedLocally, 'Redis was too slow each time').to.equal(0)
    const counted = answers.filter(({ status }) => status === 422)
    expect(counted).to.have.length(LIMIT)
    expect(answers.filter(({ status }) => status === 429)).to.have.length(REQUESTS - LIMIT)
    expect(counted.map(remaining).sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: LIMIT }, (_, index) => index),
    )
    expect((await ask(0, '198.51.100.2')).status).to.equal(422)
    expect(remaining(await ask(1, '198.51.100.2'))).to.equal(LIMIT - 2)
  })

  it('a pod that is suspended on one server is refused by the other at once', async () => {
    const verify = (index: number) => ask(index, '198.51.100.3', { a: 1 })
    for (const index of clients.keys()) expect((await verify(index)).status).to.equal(200)
    const path = `/console/api/pods/${pod.podId}`
    await ok(one(), 'PATCH', path, { key: cluster?.adminKey, body: { status: 'SUSPENDED' } })
    for (const index of clients.keys()) expect((await verify(index)).body.error).to.equal('pod_suspended')
  })
})
