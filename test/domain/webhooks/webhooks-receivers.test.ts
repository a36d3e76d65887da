/** Receivers as integrators write them: the reference one, and one of twenty lines with nothing but Node. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Agent, request } from 'undici'
import { signWebhook } from '../../../src/protocol/webhook/webhook.ts'
import { type Program, startProgram } from '../../support/programs.ts'
import {
  answer,
  arrivals,
  findWebhook,
  newPath,
  register,
  settled,
  startWebhookApp,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

/** The five steps of docs/webhooks.md. @returns the HTTP status */
const receive = (
  rawBody: Buffer,
  headers: IncomingHttpHeaders,
  secret: string,
  seen: Set<string>,
): number => {
  const timestamp = String(headers['x-service-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return 400
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest()
  const signature = String(headers['x-service-signature']).replace(/^hmac-sha256=/, '')
  const given = Buffer.from(/^[0-9a-f]{64}$/.test(signature) ? signature : '', 'hex')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 401
  const delivery = JSON.parse(rawBody.toString())
  if (!seen.has(delivery.delivery_id)) seen.add(delivery.delivery_id)
  return 204
}

/** Lets what the example does with one delivery fail the first time: its line is what it does. */
const FAILING_ONCE = `data:text/javascript,${encodeURIComponent(`
  const log = console.log
  let failed = false
  console.log = (line) => {
    if (failed || !line.startsWith('key.revoked dlv_')) return log(line)
    failed = true
    throw new Error('could not be handled')
  }`)}`

const EVENTS = ['proof.verified', 'merkle.leaf_appended'] as const

describe('webhook receivers', () => {
  let context: WebhookApp
  let apiKey: string
  before(async () => {
    context = await startWebhookApp()
    apiKey = (await context.app.organisation()).apiKey
  })
  after(() => context.close())

  it('of twenty lines accept what is sent and refuse what is stale, altered or signed with another secret', async () => {
    const { app, receiver } = context
    const path = newPath()
    receiver.on(path, answer(204))
    const { secret } = await register(app, { key: apiKey }, { url: receiver.url + path, events: EVENTS })
    await verify(app, apiKey)
    const [first] = await arrivals(receiver, path, 2)
    if (first === undefined) throw new Error('no request')
    const { body, headers } = first
    const seen = new Set<string>()
    expect(receive(body, headers, secret, seen)).to.equal(204)
    expect(receive(body, headers, secret, seen)).to.equal(204)
    expect(seen.size).to.equal(1)
    expect(receive(Buffer.concat([body, Buffer.from(' ')]), headers, secret, seen)).to.equal(401)
    expect(receive(body, headers, `whsec_${'0'.repeat(48)}`, seen)).to.equal(401)
    expect(receive(body, { ...headers, 'x-service-signature': '' }, secret, seen)).to.equal(401)
    const old = Math.floor(Date.now() / 1000) - 400
    const stale = signWebhook({
      deliveryId: 'dlv_1',
      event: 'proof.verified',
      timestamp: old,
      rawBody: body.toString(),
      secret,
    })
    expect(receive(body, stale, secret, seen)).to.equal(400)
  })

  describe('the example', () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-receiver-'))
    let program: Program
    let url: string
    let secret: string
    let id: string
    before(async () => {
      const { app, certificates } = context
      const files = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') }
      writeFileSync(files.TLS_CERT, certificates.cert)
      writeFileSync(files.TLS_KEY, certificates.key)
      // The secret is shown when the endpoint is registered, so the receiver starts afterwards, on a port of its own.
      const first = await register(app, { key: apiKey }, { url: 'https://127.0.0.1:9/', events: EVENTS })
      secret = first.secret
      id = first.id
      const file = join(import.meta.dirname, '../../../examples/webhook-receiver.ts')
      program = startProgram(file, ['0'], {
        env: { ...files, ASSAY_WEBHOOK_SECRET: secret, NODE_OPTIONS: `--import=${FAILING_ONCE}` },
      })
      url = (await program.line(/^listening on /)).replace('listening on ', '')
      await app.request('PATCH', `/api/webhooks/${id}`, { key: apiKey, body: { url } })
    })
    after(async () => {
      await program.kill()
      rmSync(folder, { recursive: true })
    })

    it('takes what is delivered, and each delivery once', async () => {
      const { app } = context
      await verify(app, apiKey)
      await settled(app)
      await program.line(/^proof\.verified dlv_[0-9a-f]{24} /)
      await program.line(/^merkle\.leaf_appended dlv_[0-9a-f]{24} /)
      expect(await findWebhook(app, apiKey, id)).to.include({ lastStatus: 204, failureCount: 0 })
    })

    it('answers 500 to what it could not handle, and handles it when it comes again', async () => {
      const id = 'dlv_000000000000000000000002'
      const event = 'key.revoked'
      const rawBody = JSON.stringify({
        delivery_id: id,
        event,
        created_at: new Date().toISOString(),
        data: {},
      })
      const dispatcher = new Agent({ connect: { ca: context.certificates.ca } })
      const send = async (): Promise<number> => {
        const timestamp = Math.floor(Date.now() / 1000)
        const headers = { ...signWebhook({ deliveryId: id, event, timestamp, rawBody, secret }) }
        const told = await request(url, { method: 'POST', headers, body: rawBody, dispatcher })
        await told.body.dump()
        return told.statusCode
      }
      expect([await send(), await send(), await send()]).to.deep.equal([500, 204, 204])
      await dispatcher.close()
      await program.line(/^repeated dlv_000000000000000000000002$/)
      expect(program.lines.filter((line) => line.startsWith('key.revoked'))).to.have.length(1)
    })

    it('answers 400 to a stale timestamp, 401 to a bad signature, 204 to a repetition', async () => {
      const rawBody = JSON.stringify({
        delivery_id: 'dlv_000000000000000000000001',
        event: 'proof.spent',
        created_at: new Date().toISOString(),
        data: {},
      })
      const now = Math.floor(Date.now() / 1000)
      const signed = (timestamp: number, key = secret) =>
        signWebhook({
          deliveryId: 'dlv_000000000000000000000001',
          event: 'proof.spent',
          timestamp,
          rawBody,
          secret: key,
        })
      const dispatcher = new Agent({ connect: { ca: context.certificates.ca } })
      const statusOf = async (headers: Record<string, string>, body = rawBody): Promise<number> => {
        const told = await request(url, { method: 'POST', headers, body, dispatcher })
        await told.body.dump()
        return told.statusCode
      }
      expect(await statusOf(signed(now - 301))).to.equal(400)
      expect(await statusOf(signed(now, `whsec_${'1'.repeat(48)}`))).to.equal(401)
      expect(await statusOf(signed(now), `${rawBody} `)).to.equal(401)
      expect(await statusOf(signed(now))).to.equal(204)
      expect(await statusOf(signed(now))).to.equal(204)
      await dispatcher.close()
      await program.line(/^repeated dlv_000000000000000000000001$/)
      expect(program.lines.filter((line) => line.startsWith('proof.spent'))).to.have.length(1)
    })
  })
})
