import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { type ReceivedWebhook, signWebhook, verifyWebhook } from '../../src/protocol/webhook/webhook.ts'
import { anyCharacter } from '../support/any-character.ts'

const vector = JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/webhook.json'), 'utf8'))
const SECRET: string = vector.secret
const SENT_AT = 1_767_225_600

const sign = (rawBody: string = vector.raw_body, timestamp = SENT_AT, secret = SECRET) =>
  signWebhook({ deliveryId: vector.delivery_id, event: vector.event, timestamp, rawBody, secret })

const service = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-service-')))
const standard = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')))

const received = (change: Partial<ReceivedWebhook> = {}): ReceivedWebhook => ({
  rawBody: vector.raw_body,
  headers: sign(),
  secret: SECRET,
  now: SENT_AT * 1000,
  ...change,
})
const reasonOf = (change: Partial<ReceivedWebhook>): string => {
  const verdict = verifyWebhook(received(change))
  return verdict.valid ? 'valid' : verdict.reason
}

describe('webhook signatures', () => {
  it('are those of the published vector, which openssl made', () => {
    const headers = sign()
    expect(headers['x-service-signature']).to.equal(vector.x_service_signature)
    expect(headers['webhook-signature']).to.equal(vector.webhook_signature)
    expect(headers).to.include({
      'x-service-timestamp': String(SENT_AT),
      'webhook-timestamp': String(SENT_AT),
      'x-service-delivery-id': vector.delivery_id,
      'webhook-id': vector.delivery_id,
    })
  })

  it('are accepted from either family of headers, of Node or of Fetch, in any case of their names', () => {
    const headers = sign()
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    )
    for (const form of [headers, upper, service(headers), standard(headers), new Headers(headers)]) {
      expect(verifyWebhook(received({ headers: form }))).to.deep.equal({
        valid: true,
        delivery: JSON.parse(vector.raw_body),
      })
    }
    expect(reasonOf({ rawBody: Buffer.from(vector.raw_body) })).to.equal('valid')
  })

  it('are accepted by an unmodified Standard Webhooks client, for any body and secret', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.uint8Array({ minLength: 24, maxLength: 24 }),
        (text, bytes) => {
          const secret = `whsec_${Buffer.from(bytes).toString('hex')}`
          const rawBody = JSON.stringify({ text })
          const now = Math.floor(Date.now() / 1000)
          const client = new StandardWebhook(secret)
          expect(client.verify(rawBody, sign(rawBody, now, secret))).to.deep.equal({ text })
        },
      ),
      { numRuns: 50 },
    )
  })

  it('hold for 300 seconds in either direction, and not a second longer', () => {
    for (const [seconds, expected] of [
      [300, 'valid'],
      [-300, 'valid'],
      [301, 'TIMESTAMP_STALE'],
      [-301, 'TIMESTAMP_STALE'],
      [Number.NaN, 'TIMESTAMP_STALE'],
    ] as const) {
      for (const headers of [service(sign()), standard(sign())])
        expect(reasonOf({ headers, now: (SENT_AT + seconds) * 1000 }), `${seconds}`).to.equal(expected)
    }
  })

  it('do not hold for another secret, timestamp or body', () => {
    for (const family of [service, standard]) {
      const headers = family(sign())
      const later = family(sign(vector.raw_body, SENT_AT + 1))
      const timestamp = headers['x-service-timestamp'] ? 'x-service-timestamp' : 'webhook-timestamp'
      expect(reasonOf({ headers, secret: `whsec_${'0'.repeat(48)}` })).to.equal('SIGNATURE_MISMATCH')
      expect(reasonOf({ headers, rawBody: `${vector.raw_body} ` })).to.equal('SIGNATURE_MISMATCH')
      expect(reasonOf({ headers: { ...headers, [timestamp]: later[timestamp] } })).to.equal(
        'SIGNATURE_MISMATCH',
      )
    }
  })

  it('are not looked at with an empty secret, under which anybody can sign', () => {
    for (const secret of ['', 'whsec_'])
      for (const headers of [service(sign()), standard(sign())])
        expect(() => reasonOf({ headers, secret }), secret).to.throw(RangeError, 'The secret is empty.')
  })

  it('do not hold when any bit of the body or any character of the signature is changed', () => {
    const body = Buffer.from(vector.raw_body)
    fc.assert(
      fc.property(fc.nat(body.length * 8 - 1), (bit) => {
        const changed = Buffer.from(body)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(reasonOf({ rawBody: changed })).to.equal('SIGNATURE_MISMATCH')
      }),
    )
    const signature: string = vector.x_service_signature
    for (let place = 0; place < signature.length; place++) {
      const other = signature[place] === '0' ? '1' : '0'
      const changed = signature.slice(0, place) + other + signature.slice(place + 1)
      const headers = { ...service(sign()), 'x-service-signature': changed }
      expect(reasonOf({ headers })).to.equal('SIGNATURE_MISMATCH')
    }
    for (const text of ['', 'hmac-sha256=', signature.toUpperCase(), signature.slice(0, -1), `${signature}0`])
      expect(reasonOf({ headers: { ...service(sign()), 'x-service-signature': text } })).to.equal(
        'SIGNATURE_MISMATCH',
      )
  })

  it('are refused without a timestamp or a signature, each with its reason', () => {
    const headers = service(sign())
    const without = (name: string) =>
      Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
    expect(reasonOf({ headers: {} })).to.equal('TIMESTAMP_INVALID')
    expect(reasonOf({ headers: without('x-service-timestamp') })).to.equal('TIMESTAMP_INVALID')
    expect(reasonOf({ headers: without('x-service-signature') })).to.equal('TIMESTAMP_INVALID')
    expect(reasonOf({ headers: { 'webhook-timestamp': String(SENT_AT) } })).to.equal('SIGNATURE_MISSING')
    for (const timestamp of ['', ' 1', '1e9', '-1', '0x1', `${SENT_AT}.0`, '9'.repeat(13)])
      expect(reasonOf({ headers: { ...headers, 'x-service-timestamp': timestamp } })).to.equal(
        'TIMESTAMP_INVALID',
      )
  })

  it('make a replay under another delivery id or event useless: the signed body has the last word', () => {
    const headers = service(sign())
    expect(reasonOf({ headers: { ...headers, 'x-service-delivery-id': 'dlv_x' } })).to.equal(
      'HEADER_MISMATCH',
    )
    expect(reasonOf({ headers: { ...headers, 'x-service-event': 'key.revoked' } })).to.equal(
      'HEADER_MISMATCH',
    )
  })

  it('do not make a delivery of what is none', () => {
    for (const rawBody of ['', 'null', '7', '[]', '{', '{"delivery_id":"dlv_1"}'])
      expect(reasonOf({ rawBody, headers: service(sign(rawBody)) }), rawBody).to.equal('BODY_INVALID')
  })
})
