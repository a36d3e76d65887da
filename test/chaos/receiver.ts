/** A receiver of webhooks that keeps what it has acknowledged, and can be made to fail. */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { createCertificates } from '../support/servers/certificates.ts'
import type { Model } from './model.ts'

/** `silent`: it takes requests and never answers. */
export type Mood = 'answering' | 'failing' | 'silent'

export interface Receiver {
  readonly url: string
  /** PEM of who signed its certificate. */
  readonly ca: string
  mood: Mood
  /** Set once the endpoint is registered. */
  secret: string
  /** Indexes of the entries whose delivery was acknowledged. */
  readonly acknowledged: ReadonlySet<number>
  /** Acknowledged again, which is allowed. */
  readonly repeated: number
  close(): Promise<void>
}

interface Delivery {
  readonly delivery_id: string
  readonly event: string
  readonly data: { readonly merkle_index: number }
}

export const startReceiver = async (model: Model): Promise<Receiver> => {
  const { ca, cert, key } = createCertificates({ names: ['127.0.0.1'] })
  const acknowledged = new Set<number>()
  /** Hash of the body by delivery id: every attempt of a delivery says the same. */
  const bodies = new Map<string, string>()
  let repeated = 0

  const isSigned = ({ headers }: IncomingMessage, body: Buffer): boolean => {
    const signed = `${headers['x-service-timestamp']}.${body}`
    const expected = createHmac('sha256', receiver.secret).update(signed).digest('hex')
    return headers['x-service-signature'] === `hmac-sha256=${expected}`
  }

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const { mood } = receiver
    if (mood === 'silent') return
    const delivery: Delivery = JSON.parse(body.toString())
    if (!isSigned(request, body)) model.broken('webhooks', `${delivery.delivery_id} is not signed`)
    const hash = createHash('sha256').update(body).digest('hex')
    const before = bodies.get(delivery.delivery_id)
    if (before !== undefined && before !== hash)
      model.broken('webhooks', `two bodies of delivery ${delivery.delivery_id}`)
    bodies.set(delivery.delivery_id, hash)
    if (mood === 'answering') {
      const index = delivery.data.merkle_index
      if (acknowledged.has(index)) repeated++
      acknowledged.add(index)
    }
    response.writeHead(mood === 'answering' ? 204 : 500).end()
  }

  const server = createServer({ cert, key }, (request, response) => {
    receive(request, response).catch(() => request.socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const receiver: Receiver = {
    url: `https://127.0.0.1:${port}/events`,
    ca,
    mood: 'answering',
    secret: '',
    acknowledged,
    get repeated() {
      return repeated
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return receiver
}
