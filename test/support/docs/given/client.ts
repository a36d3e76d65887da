/** docs/client.md: what the client answers, refuses, repeats, lists, hears, and lets others see. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { signWebhook } from '../../../../src/protocol/webhook/webhook.ts'
import { eventually } from '../../eventually.ts'
import { rejection } from '../../rejection.ts'
import { key, post } from '../reader.ts'

export { key }

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const queued: object[] = []
export const queue = (delivery: object): number => queued.push(delivery)
const measured: string[] = []
export const measure = (line: string): number => measured.push(line)
export const freshKey = async (): Promise<string> => key

interface Token {
  readonly tokenId: string
}
interface Declared {
  readonly result: { readonly decision: string | null }
  readonly checked: { readonly valid: boolean }
  readonly revoke: (tokenId: string) => Promise<string>
  readonly describe: (error: unknown) => string
  readonly first: Token
  readonly second: Token
  readonly heard: (signal: AbortSignal) => Promise<string | undefined>
  readonly receive: (request: Request) => Promise<Response>
  readonly quick: Promise<{ readonly ready: boolean }>
}

const deliveryOf = (rawBody: string, sent: string): Request => {
  const [deliveryId, timestamp] = ['dlv_000000000000000000000001', Math.floor(Date.now() / 1000)]
  const headers = signWebhook({ deliveryId, event: 'proof.spent', timestamp, rawBody, secret })
  return new Request('https://shop.example/hook', { method: 'POST', body: sent, headers })
}

export const checks = [
  async ({ result, checked, revoke, describe, first, second, heard, receive, quick }: Declared) => {
    expect([result.decision, checked.valid]).to.deep.equal(['YES', true])
    expect(second).to.deep.equal(first)
    expect(await revoke(first.tokenId)).to.equal('revoked')
    expect(await revoke(`tok_${'0'.repeat(26)}`)).to.equal('no such token')
    expect(describe(await rejection(revoke('..')))).to.match(
      /^revokeToken: 422 validation_failed, request req_/,
    )
    const text = `Hello to a client ${randomUUID()}`
    let told: string | undefined
    const hearing = heard(AbortSignal.timeout(20_000)).then((words) => {
      told = words
    })
    // Its stream begins with what is said from then on.
    await eventually(
      'the stream',
      async () => {
        await post('/api/messages', { agent_name: 'docs-reader', text: `${text} ${randomUUID()}` })
        return told !== undefined
      },
      { pauseMs: 200 },
    )
    await hearing
    const rawBody = JSON.stringify({
      delivery_id: 'dlv_000000000000000000000001',
      event: 'proof.spent',
      created_at: '',
      data: {},
    })
    expect((await receive(deliveryOf(rawBody, rawBody))).status).to.equal(204)
    expect((await receive(deliveryOf(rawBody, `${rawBody} `))).status).to.equal(400)
    expect(queued).to.have.lengthOf(1)
    expect(measured).to.deep.equal(['listTokens, attempt 0: 200'])
    expect((await quick).ready).to.equal(true)
  },
] as const
