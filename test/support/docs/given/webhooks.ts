/** docs/webhooks.md: receivers take a delivery that was signed, and none that was altered, is stale, or comes again. */
import type { IncomingHttpHeaders } from 'node:http'
import { expect } from 'chai'
import { signWebhook, type WebhookDelivery } from '../../../../src/protocol/webhook/webhook.ts'

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const delivered = JSON.stringify({
  delivery_id: 'dlv_000000000000000000000001',
  event: 'proof.verified',
  created_at: new Date().toISOString(),
  data: {},
})
const signedAt = (unixMs: number): Record<string, string> =>
  signWebhook({
    deliveryId: 'dlv_000000000000000000000001',
    event: 'proof.verified',
    timestamp: Math.floor(unixMs / 1000),
    rawBody: delivered,
    secret,
  })

/** What the receiver gets; the checks change it. */
export let rawBody: Buffer = Buffer.from(delivered)
export const request: { headers: Record<string, string> } = { headers: signedAt(Date.now()) }

const queued: WebhookDelivery[] = []
export const isNew = async (id: string): Promise<boolean> =>
  !queued.some(({ delivery_id }) => delivery_id === id)
export const queue = async (delivery: WebhookDelivery): Promise<number> => queued.push(delivery)

type Receive = (rawBody: Buffer, headers: IncomingHttpHeaders, secret: string, seen: Set<string>) => number

export const checks = [
  async ({ answer }: { answer: () => Promise<number> }) => {
    expect([await answer(), await answer()]).to.deep.equal([204, 204])
    expect(queued.map(({ event }) => event)).to.deep.equal(['proof.verified'])
    rawBody = Buffer.from(`${delivered} `)
    expect(await answer()).to.equal(401)
    request.headers = signedAt(Date.now() - 600_000)
    expect(await answer()).to.equal(400)
  },
  ({ receive }: { receive: Receive }) => {
    const seen = new Set<string>()
    const of = (body: string, at = Date.now()) => receive(Buffer.from(body), signedAt(at), secret, seen)
    expect([of(delivered), of(delivered)]).to.deep.equal([204, 204])
    expect([...seen]).to.deep.equal(['dlv_000000000000000000000001'])
    expect(of(`${delivered} `)).to.equal(401)
    expect(of(delivered, Date.now() - 600_000)).to.equal(400)
  },
] as const
