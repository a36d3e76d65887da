/**
 * A receiver of webhooks: verifies each delivery, handles it once, and answers at once.
 *
 *   ASSAY_WEBHOOK_SECRET=whsec_… npx tsx examples/webhook-receiver.ts [port]
 *
 * Receivers are called over https only: put it behind what terminates TLS, or name certificate and key in TLS_CERT and
 * TLS_KEY. 204 means handled (again, too), 500 not handled, 400 a stale timestamp, 401 a delivery that is not the service's.
 *
 * What is not handled comes twice more, within some twelve seconds, and is dropped then. What was missed is in the list of events: read it with
 * `listEvents.all({ webhook, after })` of assay-client, as "What you missed" in docs/webhooks.md says.
 */
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { verifyWebhook, type WebhookDelivery } from 'assay-verify'

const MAX_BODY_BYTES = 64 * 1024
/** Retries come within seconds; a day is plenty. A receiver of several processes keeps the ids in its database. */
const REMEMBERED_MS = 24 * 60 * 60 * 1000

const { ASSAY_WEBHOOK_SECRET: secret = '', TLS_CERT: cert, TLS_KEY: key } = process.env

/** What a delivery leads to. It must not take long: queue what does. Where it fails, the delivery comes again, at most twice. */
const handle = async ({ event, delivery_id, data }: WebhookDelivery): Promise<void> => {
  console.log(`${event} ${delivery_id} ${JSON.stringify(data)}`)
}

/** Delivery id → how handling it goes, and when it may be forgotten. */
const handled = new Map<string, { readonly done: Promise<void>; readonly until: number }>()

/** Handles a delivery once: what comes again meanwhile waits for the first, what failed is handled again. */
const handleOnce = (delivery: WebhookDelivery, now: number): Promise<void> => {
  const { delivery_id: id } = delivery
  for (const [old, { until }] of handled) {
    if (until > now) break
    handled.delete(old)
  }
  const known = handled.get(id)
  if (known) {
    console.log(`repeated ${id}`)
    return known.done
  }
  const done = handle(delivery).catch((error: unknown) => {
    handled.delete(id)
    throw error
  })
  handled.set(id, { done, until: now + REMEMBERED_MS })
  return done
}

const answerTo = async (
  rawBody: Buffer,
  headers: Parameters<RequestListener>[0]['headers'],
): Promise<number> => {
  const now = Date.now()
  const verdict = verifyWebhook({ rawBody, headers, secret, now })
  if (!verdict.valid) {
    console.log(`refused ${verdict.reason}`)
    return verdict.reason.startsWith('TIMESTAMP_') ? 400 : 401
  }
  await handleOnce(verdict.delivery, now)
  return 204
}

const listener: RequestListener = async (request, response) => {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    // The bytes as they came: JSON that was parsed and written again is signed by nobody.
    for await (const part of request) {
      bytes += part.length
      if (bytes > MAX_BODY_BYTES) return response.writeHead(413).end()
      parts.push(part)
    }
    const status = request.method === 'POST' ? await answerTo(Buffer.concat(parts), request.headers) : 405
    return response.writeHead(status).end()
  } catch (error) {
    console.error(error)
    return response.headersSent ? response.destroy() : response.writeHead(500).end()
  }
}

if (!secret) throw new Error('ASSAY_WEBHOOK_SECRET must hold the secret of the endpoint.')
const isSecure = cert !== undefined && key !== undefined
const server = isSecure
  ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, listener)
  : createServer(listener)
server.listen(Number(process.argv[2] ?? 8443), '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : address
  console.log(`listening on ${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`)
})
