/**
 * Signatures of webhook deliveries, for whoever sends or receives them. The receiver needs the raw body, the headers,
 * the endpoint's secret and a clock. Two families of headers travel together, and either is enough:
 *
 * - `X-Service-Signature: hmac-sha256=<hex>` over `{timestamp}.{raw body}`, whose key is the UTF-8 text of the whole
 *   secret, `whsec_` included;
 * - `webhook-signature: v1,<base64>` over `{id}.{timestamp}.{raw body}`, whose key is what follows `whsec_`, decoded
 *   from base64: the Standard Webhooks specification, for receivers that have a library of it.
 * Whichever code has HMAC-SHA256 hands it in: `webhook.ts` takes the core's.
 * @module
 */
/** How far a delivery's timestamp may be from the receiver's clock, either way. */
export const WEBHOOK_TOLERANCE_SECONDS = 300
export const WEBHOOK_USER_AGENT = 'Service-Webhooks/1.0'

const SECRET_PREFIX = 'whsec_'
const SERVICE_PREFIX = 'hmac-sha256='
const STANDARD_PREFIX = 'v1,'
const TIMESTAMP = /^\d{1,12}$/
/** Of the Standard Webhooks header, which may list several signatures. */
const MAX_SIGNATURES = 16

/** Body of a delivery. */
export interface WebhookDelivery {
  /** `dlv_` and 24 hexadecimal digits, the same in every attempt: the idempotency key. */
  readonly delivery_id: string
  readonly event: string
  /** ISO 8601. */
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface SignedDelivery {
  readonly deliveryId: string
  readonly event: string
  /** Unix seconds of the attempt. */
  readonly timestamp: number
  /** As it is sent, byte for byte. */
  readonly rawBody: string
  /** `whsec_…` */
  readonly secret: string
}

/**
 * Why a delivery is refused.
 * - `TIMESTAMP_INVALID`: missing, or no whole number of seconds
 * - `TIMESTAMP_STALE`: more than 300 s from the receiver's clock
 * - `SIGNATURE_MISSING`, `SIGNATURE_MISMATCH`: other body, other secret, other timestamp, or not ours at all
 * - `BODY_INVALID`: signed, but no delivery
 * - `HEADER_MISMATCH`: a header names another delivery or event than the signed body does
 */
export type WebhookRefusal =
  | 'TIMESTAMP_INVALID'
  | 'TIMESTAMP_STALE'
  | 'SIGNATURE_MISSING'
  | 'SIGNATURE_MISMATCH'
  | 'BODY_INVALID'
  | 'HEADER_MISMATCH'

export type WebhookVerdict =
  | { readonly valid: true; readonly delivery: WebhookDelivery }
  | { readonly valid: false; readonly reason: WebhookRefusal }

/** Those of Node (`request.headers`), or of the web (`request.headers` of Fetch). */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface ReceivedWebhook {
  /** The bytes of the body before anything parsed them; a text stands for its UTF-8. */
  readonly rawBody: Uint8Array | string
  readonly headers: WebhookHeaders
  /** `whsec_…`, as it was shown at registration or rotation. */
  readonly secret: string
  /** Unix milliseconds. */
  readonly now: number
}

/** HMAC-SHA256 (RFC 2104) of a message; a key that is a text stands for its UTF-8. */
export type Hmac = (key: Uint8Array | string, message: Uint8Array) => Uint8Array

const encoder = new TextEncoder()

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const message = (prefix: string, rawBody: Uint8Array | string): Uint8Array => {
  const head = encoder.encode(prefix)
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody
  const whole = new Uint8Array(head.length + body.length)
  whole.set(head)
  whole.set(body, head.length)
  return whole
}

/** Both signatures of an attempt, by a HMAC. */
const signaturesBy = (hmac: Hmac) => ({
  service: (secret: string, timestamp: string, rawBody: Uint8Array | string): string =>
    SERVICE_PREFIX + toHex(hmac(secret, message(`${timestamp}.`, rawBody))),

  standard(secret: string, id: string, timestamp: string, rawBody: Uint8Array | string): string {
    const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret
    return STANDARD_PREFIX + toBase64(hmac(fromBase64(encoded), message(`${id}.${timestamp}.`, rawBody)))
  },
})
type Signatures = ReturnType<typeof signaturesBy>

/** Equality in a time that depends on the lengths alone. */
const sameText = (a: string, b: string): boolean => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

const readerOf = (headers: WebhookHeaders): ((name: string) => string | undefined) => {
  if (typeof headers.get === 'function') {
    const { get } = headers
    return (name) => get.call(headers, name) ?? undefined
  }
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => {
    const value = values.get(name)
    return typeof value === 'string' ? value : undefined
  }
}

/** What a family of headers says, and whether its signature holds for a timestamp. */
interface Family {
  readonly id: string | undefined
  readonly timestamp: string | undefined
  readonly signature: string | undefined
  holds(timestamp: string): boolean
}

const familyOf = (
  read: (name: string) => string | undefined,
  { rawBody, secret }: ReceivedWebhook,
  { service, standard }: Signatures,
): Family => {
  const signature = read('x-service-signature')
  if (signature !== undefined) {
    return {
      id: read('x-service-delivery-id'),
      timestamp: read('x-service-timestamp'),
      signature,
      holds: (timestamp) => sameText(signature, service(secret, timestamp, rawBody)),
    }
  }
  const id = read('webhook-id')
  const listed = read('webhook-signature')
  return {
    id,
    timestamp: read('webhook-timestamp'),
    signature: listed,
    holds(timestamp) {
      const expected = standard(secret, id ?? '', timestamp, rawBody)
      const candidates = (listed ?? '').split(' ').slice(0, MAX_SIGNATURES)
      return candidates.filter((candidate) => sameText(candidate, expected)).length > 0
    },
  }
}

const readDelivery = (rawBody: Uint8Array | string): WebhookDelivery | undefined => {
  try {
    const text = typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody)
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const { delivery_id, event, created_at, data } = value as Record<string, unknown>
    const isDelivery = [delivery_id, event, created_at].every((member) => typeof member === 'string')
    return isDelivery && typeof data === 'object' && data !== null ? (value as WebhookDelivery) : undefined
  } catch {
    return undefined
  }
}

const verify = (received: ReceivedWebhook, signatures: Signatures): WebhookVerdict => {
  // Anybody can sign with nothing: a receiver whose setting is missing must not take that for a signature.
  if (!received.secret || received.secret === SECRET_PREFIX) throw new RangeError('The secret is empty.')
  const refuse = (reason: WebhookRefusal): WebhookVerdict => ({ valid: false, reason })
  const read = readerOf(received.headers)
  const { id, timestamp = '', signature, holds } = familyOf(read, received, signatures)
  if (!TIMESTAMP.test(timestamp)) return refuse('TIMESTAMP_INVALID')
  const ageSeconds = Math.floor(received.now / 1000) - Number(timestamp)
  // Written so that a clock that is no number refuses.
  if (!(Math.abs(ageSeconds) <= WEBHOOK_TOLERANCE_SECONDS)) return refuse('TIMESTAMP_STALE')
  if (signature === undefined) return refuse('SIGNATURE_MISSING')
  if (!holds(timestamp)) return refuse('SIGNATURE_MISMATCH')
  const delivery = readDelivery(received.rawBody)
  if (delivery === undefined) return refuse('BODY_INVALID')
  const event = read('x-service-event')
  const agrees =
    (id === undefined || id === delivery.delivery_id) && (event === undefined || event === delivery.event)
  return agrees ? { valid: true, delivery } : refuse('HEADER_MISMATCH')
}

export interface WebhookSignatures {
  /** The headers of one attempt to deliver. */
  signWebhook(delivery: SignedDelivery): Record<string, string>
  /**
   * Whether a delivery is the service's own, fresh and unaltered. Compares in constant time. The delivery id in the verdict
   * comes from the signed body: headers that name another one are refused, for they are not covered by every signature.
   * @throws RangeError for an empty secret; DOMException when the Standard Webhooks headers are all there is and the secret is no base64
   */
  verifyWebhook(received: ReceivedWebhook): WebhookVerdict
}

/** Signing and verifying, with somebody's HMAC. */
export const createWebhookSignatures = (hmac: Hmac): WebhookSignatures => {
  const signatures = signaturesBy(hmac)
  return {
    signWebhook({ deliveryId, event, rawBody, secret, timestamp: seconds }) {
      const timestamp = String(seconds)
      return {
        'content-type': 'application/json',
        'user-agent': WEBHOOK_USER_AGENT,
        'x-service-event': event,
        'x-service-timestamp': timestamp,
        'x-service-delivery-id': deliveryId,
        'x-service-signature': signatures.service(secret, timestamp, rawBody),
        'webhook-id': deliveryId,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatures.standard(secret, deliveryId, timestamp, rawBody),
      }
    },
    verifyWebhook: (received) => verify(received, signatures),
  }
}
