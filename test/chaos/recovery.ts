/** Whether every server serves again: reads, writes and the chat, by itself and where clients reach the service. */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { clientOf, type RequestOptions } from '../support/client.ts'
import type { Shop } from './area.ts'
import type { World } from './world.ts'

const { CHAOS_RECOVERY_SECONDS = '5' } = process.env
/** The service and each of its servers must work again so soon after the last fault has ended, on a machine that has no other work. */
export const RECOVERY_LIMIT_MS = Number(CHAOS_RECOVERY_SECONDS) * 1000
/** How long is waited, to tell by how much it was too late. */
const PATIENCE_MS = 60_000
const LOOK_MS = 50
const ANSWER_TIMEOUT_MS = 1_000

const connections = new Agent({
  pipelining: 0,
  connect: { timeout: ANSWER_TIMEOUT_MS },
  headersTimeout: ANSWER_TIMEOUT_MS,
  bodyTimeout: ANSWER_TIMEOUT_MS,
})

/** @returns what is wrong, or undefined */
const faultOf = async (url: string, { apiKey }: Shop): Promise<string | undefined> => {
  const client = clientOf(url, () => ({}), connections)
  const ask = async (method: string, path: string, options?: RequestOptions): Promise<string | undefined> => {
    const answer = await client.request(method, path, options).catch((error: unknown) => String(error))
    if (typeof answer === 'string') return `${path}: ${answer}`
    return answer.status === 200 ? undefined : `${path}: ${answer.status} ${JSON.stringify(answer.body)}`
  }
  const faults = await Promise.all([
    ask('GET', '/health/ready'),
    ask('POST', '/verify/batch', { key: apiKey, body: { items: [{ probe: true }] } }),
    ask('GET', '/api/messages?limit=1'),
    ask('GET', '/checkpoint'),
  ])
  return faults.find((fault) => fault !== undefined)
}

/** @returns ms from the call until each of them had worked, which must be within the limit */
export const awaitRecovery = async (
  { entrance, seats, model }: World,
  shop: Shop,
  limitMs = RECOVERY_LIMIT_MS,
): Promise<number> => {
  const begunAt = performance.now()
  const elapsed = (): number => performance.now() - begunAt
  const recover = async ({ name, url }: { readonly name: string; readonly url: string }): Promise<void> => {
    let last: string | undefined
    for (let fault = await faultOf(url, shop); fault !== undefined; fault = await faultOf(url, shop)) {
      last = fault
      if (elapsed() > PATIENCE_MS) break
      await pause(LOOK_MS)
    }
    if (elapsed() > Math.min(limitMs, PATIENCE_MS))
      model.broken('recovery in time', `${name} took ${Math.round(elapsed())} ms; at the end ${last}`)
  }
  await Promise.all([...seats, { name: 'the service', url: entrance.url }].map(recover))
  return elapsed()
}
