/** Two servers share the deliveries of one database: each is made once, by one of them, and both make some. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { ok } from '../../support/client.ts'
import { createCertificates } from '../../support/servers/certificates.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'
import { DATABASE_URL, onPostgres } from '../../support/servers/database.ts'
import { startTargetServer, type TargetServer } from '../../support/servers/target-server.ts'
import { deliveryOf, requestsTo, until } from '../../support/webhooks.ts'

const BATCHES = 12
const BATCH_ITEMS = 100
const DELIVERIES = BATCHES * BATCH_ITEMS
/** How long the receiver takes, so that one server alone has not done all before the other sees any. */
const ANSWER_MS = 10
const GIVE_UP_MS = 180_000
const PATH = '/shared'

onPostgres.describe('webhooks of several servers', function () {
  this.timeout(300_000)
  const directory = mkdtempSync(join(tmpdir(), 'assay-webhooks-servers-'))
  const certificates = createCertificates({ names: ['127.0.0.1'] })
  let receiver: TargetServer
  let cluster: Cluster
  before(async () => {
    receiver = await startTargetServer({ certificates })
    const caFile = join(directory, 'ca.pem')
    writeFileSync(caFile, certificates.ca)
    cluster = await startCluster(DATABASE_URL as string, 2, {
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_CA_FILE: caFile,
    })
  })
  after(async () => {
    await cluster.end()
    await receiver.close()
    rmSync(directory, { recursive: true })
  })

  /** Deliveries that each server says it has made. */
  const madeBy = (): Promise<number[]> =>
    Promise.all(
      cluster.clients.map(async (client) => {
        const text = await ok<string>(client, 'GET', '/metrics')
        return Number(/^webhook_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1] ?? 0)
      }),
    )

  it('each arrive exactly once, never twice at a time, and both servers make some', async () => {
    const [shop] = cluster.clients
    if (shop === undefined) throw new Error('no server')
    const inFlight = new Set<string>()
    const twice: string[] = []
    receiver.on(PATH, async (request, response) => {
      const { delivery_id } = deliveryOf(request)
      if (inFlight.has(delivery_id)) twice.push(delivery_id)
      inFlight.add(delivery_id)
      await pause(ANSWER_MS)
      inFlight.delete(delivery_id)
      response.writeHead(204).end()
    })
    const key = cluster.adminKey
    const body = { label: 'shared', url: receiver.url + PATH, events: ['proof.verified'] }
    await ok(shop, 'POST', '/api/webhooks', { key, body })
    for (let batch = 0; batch < BATCHES; batch++) {
      const items = Array.from({ length: BATCH_ITEMS }, (_, item) => ({ batch, item }))
      await ok(shop, 'POST', '/verify/batch', { key, body: { items } })
    }
    await until('all arrive', () => requestsTo(receiver, PATH).length >= DELIVERIES, GIVE_UP_MS)
    await until('all are counted', async () => {
      const [one = 0, other = 0] = await madeBy()
      return one + other >= DELIVERIES
    })
    const ids = requestsTo(receiver, PATH).map((request) => deliveryOf(request).delivery_id)
    expect(new Set(ids).size).to.equal(DELIVERIES)
    expect(twice).to.deep.equal([])
    expect(ids).to.have.length(DELIVERIES)
    for (const made of await madeBy()) expect(made).to.be.greaterThan(0)
  })
})
