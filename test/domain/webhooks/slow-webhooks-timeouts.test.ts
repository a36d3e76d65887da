/** Receivers that can't be reached, take too long, or can't be trusted: three attempts, then dropped. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Certificates, createCertificates } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/server-process.ts'
import { startTargetServer } from '../../support/servers/target-server.ts'
import {
  answer,
  findWebhook,
  newPath,
  register,
  requestsTo,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

const ATTEMPT_TIMEOUT_MS = 8_000
const GIVE_UP_MS = 60_000

/** A certificate that signed itself with the server's key, and ended yesterday. */
const expired = ({ key }: Certificates): Certificates => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-expired-'))
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  writeFileSync(file('key'), key)
  writeFileSync(file('extensions'), 'subjectAltName=IP:127.0.0.1\n')
  const signed = ['-signkey', file('key'), '-days', '-1', '-extfile', file('extensions')]
  try {
    openssl('req', '-new', '-key', file('key'), '-subj', '/CN=127.0.0.1', '-out', file('request'))
    openssl('x509', '-req', '-in', file('request'), ...signed, '-out', file('cert'))
    const cert = readFileSync(file('cert'), 'utf8')
    return { ca: cert, cert, key }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('webhook deliveries that fail', () => {
  let context: WebhookApp
  let past: Certificates
  before(async () => {
    const own = createCertificates({ names: ['127.0.0.1'] })
    past = expired(own)
    context = await startWebhookApp({ extraCa: past.ca })
  })
  after(() => context.close())

  /** Has one event delivered to a URL. @returns the endpoint once the event was dropped, and how long that took */
  const dropped = async (url: string) => {
    const { app } = context
    const { apiKey } = await app.organisation()
    const { id } = await register(app, { key: apiKey }, { url, events: ['proof.verified'] })
    const begun = performance.now()
    await verify(app, apiKey)
    await until('dropped', async () => (await findWebhook(app, apiKey, id)).failureCount === 1, GIVE_UP_MS)
    return { shown: await findWebhook(app, apiKey, id), ms: performance.now() - begun }
  }

  it('since nobody listens are dropped without a status', async () => {
    const { shown } = await dropped(`https://127.0.0.1:${await freePort()}/`)
    expect(shown).to.include({ active: true, lastStatus: null })
    expect(shown.lastDeliveryAt).to.be.a('string')
  })

  it('since the host has no address are dropped without a status', async () => {
    expect((await dropped('https://nobody.invalid/')).shown.lastStatus).to.equal(null)
  })

  it('since the certificate has expired, or is of an unknown authority, send nothing', async () => {
    const unknown = createCertificates({ names: ['127.0.0.1'] })
    for (const certificates of [past, unknown]) {
      const receiver = await startTargetServer({ certificates })
      receiver.on('/', answer(204))
      const { shown } = await dropped(`${receiver.url}/`)
      expect(shown.lastStatus).to.equal(null)
      expect(receiver.requests).to.deep.equal([])
      await receiver.close()
    }
  })

  it('since the receiver takes the request and never answers end after 8 seconds, three times', async () => {
    const { receiver } = context
    const path = newPath()
    receiver.on(path, () => undefined)
    const { shown, ms } = await dropped(receiver.url + path)
    expect(shown.lastStatus).to.equal(null)
    expect(requestsTo(receiver, path)).to.have.length(3)
    expect(ms).to.be.at.least(3 * ATTEMPT_TIMEOUT_MS - 100)
  })

  it('since the status line drips in a byte at a time end after 8 seconds, three times', async () => {
    const { receiver } = context
    const path = newPath()
    receiver.on(path, ({ headers }, response) => {
      expect(headers['x-service-event']).to.equal('proof.verified')
      const { socket } = response
      const line = 'HTTP/1.1 200 OK\r\nX-Slow: '.split('')
      const timer = setInterval(() => {
        if (socket?.destroyed) clearInterval(timer)
        else socket?.write(line.shift() ?? 'x')
      }, 250)
      socket?.on('error', () => clearInterval(timer))
    })
    const { shown } = await dropped(receiver.url + path)
    expect(shown.lastStatus).to.equal(null)
    expect(requestsTo(receiver, path)).to.have.length(3)
  })

  it('since the receiver accepts connections and says nothing end after 8 seconds, three times', async () => {
    let connections = 0
    const sockets = new Set<{ destroy(): void }>()
    const silent = createTcpServer((socket) => {
      connections += 1
      sockets.add(socket)
      socket.on('error', () => undefined)
    }).listen(await freePort(), '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : 0
    const { shown } = await dropped(`https://127.0.0.1:${port}/`)
    expect(shown.lastStatus).to.equal(null)
    expect(connections).to.equal(3)
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
})
