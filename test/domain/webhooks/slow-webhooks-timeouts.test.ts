/** Receivers that can't be reached, take too long, or can't be trusted: three attempts, then dropped. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { type Certificates, createCertificates } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/server-process.ts'
import { startTargetServer, type TargetScript } from '../../support/servers/target-server.ts'
import {
  answer,
  findWebhook,
  newPath,
  register,
  requestsTo,
  startWebhookApp,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

const ATTEMPT_TIMEOUT_MS = 8_000
/** Whoever looks all the time takes the processor from other tests. */
const PATIENCE = { patienceMs: 60_000, pauseMs: 50 }

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
    const isDropped = async () => (await findWebhook(app, apiKey, id)).failureCount === 1
    await eventually('dropped', isDropped, PATIENCE)
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

  describe('end after 8 seconds, three times,', () => {
    type Dropped = Awaited<ReturnType<typeof dropped>>
    const paths = [newPath(), newPath()] as const
    const sockets: Socket[] = []
    const mute = createTcpServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => undefined)
    })
    let outcomes: readonly [unanswered: Dropped, dripping: Dropped, mute: Dropped]

    const drip: TargetScript = ({ headers }, response) => {
      expect(headers['x-service-event']).to.equal('proof.verified')
      const { socket } = response
      const line = 'HTTP/1.1 200 OK\r\nX-Slow: '.split('')
      const timer = setInterval(() => {
        if (socket?.destroyed) clearInterval(timer)
        else socket?.write(line.shift() ?? 'x')
      }, 250)
      socket?.on('error', () => clearInterval(timer))
    }
    before(async () => {
      const { receiver } = context
      receiver.on(paths[0], () => undefined)
      receiver.on(paths[1], drip)
      await once(mute.listen(0, '127.0.0.1'), 'listening')
      const { port } = mute.address() as AddressInfo
      // All at once, since nothing but time passes.
      outcomes = await Promise.all([
        dropped(receiver.url + paths[0]),
        dropped(receiver.url + paths[1]),
        dropped(`https://127.0.0.1:${port}/`),
      ])
    })
    after(() => {
      for (const socket of sockets) socket.destroy()
      mute.close()
    })

    it('since the receiver takes the request and never answers', () => {
      const [{ shown, ms }] = outcomes
      expect(shown.lastStatus).to.equal(null)
      expect(requestsTo(context.receiver, paths[0])).to.have.length(3)
      expect(ms).to.be.at.least(3 * ATTEMPT_TIMEOUT_MS - 100)
    })

    it('since the status line drips in a byte at a time', () => {
      const [, { shown }] = outcomes
      expect(shown.lastStatus).to.equal(null)
      expect(requestsTo(context.receiver, paths[1])).to.have.length(3)
    })

    it('since the receiver accepts connections and says nothing', () => {
      const [, , { shown }] = outcomes
      expect(shown.lastStatus).to.equal(null)
      expect(sockets).to.have.length(3)
    })
  })
})
