/** What a server is asked most, as bytes of requests, about things that were made for it. @module */
import { randomUUID } from 'node:crypto'
import { clientOf, ok } from '../../test/support/client.ts'
import { requestBytes, runLoad } from '../../test/support/servers/http-load.ts'
import { paymentRequest } from './payment-requests.ts'

export interface Work {
  readonly name: string
  /** Every good answer contains this. */
  readonly expected: string
  request(): Buffer
}

/** The same question each time. */
export const getting = (key: string, path: string, expected: string, name = `GET ${path}`): Work => {
  const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`)
  return { name, expected, request: () => bytes }
}

const pay = async (url: string, request: Buffer): Promise<void> => {
  const requests = [request]
  const { unexpected, example } = await runLoad({
    port: Number(new URL(url).port),
    connections: 1,
    next: () => requests.pop(),
    expected: '"valid":true',
    milliseconds: 10_000,
  })
  if (unexpected > 0) throw new Error(`a payment was answered ${example}`)
}

/** @param made how many of each thing are made before; the last of them are asked about */
export const hotRoutes = async (url: string, key: string, made = 1): Promise<Work[]> => {
  const client = clientOf(url)
  const post = <T>(path: string, body: object): Promise<T> => ok<T>(client, 'POST', path, { key, body })
  const { merchantId } = await ok<{ merchantId: string }>(client, 'GET', '/console/api/me', { key })
  const payment = () => paymentRequest(key, merchantId)
  const rules = [{ field: 'age', op: 'gte', value: 18 }]
  const question = { data: { age: 36 }, options: { rules } }
  const consent = { subjectId: 'ada', controller: 'shop.example', purposes: ['newsletter'] }
  let token = ''
  let proven = {}
  for (let i = 0; i < made; i++) {
    ;({ token } = await post<{ token: string }>('/api/tokens/generate', { subject: 'ada', ttl: 86_400 }))
    await post('/v1/qr/tickets', { subject: 'ada', ttl: 86_400 })
    await post('/api/consent/log', consent)
    await pay(url, payment())
    const asked = { userId: 'ada', data: { age: 36 }, rules }
    const { proofId, proof, publicInputs } = await post<Record<string, object>>('/api/proof/generate', asked)
    proven = { proofId, proof, publicInputs }
    await post('/verify', question)
  }
  const posting = (name: string, path: string, body: () => object, expected: string): Work => ({
    name,
    expected,
    request: () => requestBytes(path, JSON.stringify(body()), { 'X-API-Key': key }),
  })
  const wanted = { ...consent, purpose: 'newsletter', purposes: undefined }
  const message = () => ({ agent_name: 'agent 7', text: `${randomUUID()} ${'word '.repeat(30)}` })
  return [
    { name: 'payments/validate', expected: '"valid":true', request: payment },
    posting('tokens/validate', '/api/tokens/validate', () => ({ token }), '"valid":true'),
    posting('proof/verify', '/api/proof/verify', () => proven, '"verified":true'),
    posting('verify', '/verify', () => question, '"decision":"YES"'),
    posting('consent/verify', '/api/consent/verify', () => wanted, '"valid":true'),
    posting('POST /api/messages', '/api/messages', message, '"message":{'),
    getting(key, '/api/messages', '"next_before":'),
  ]
}
