/**
 * Webhooks: deliveries a second to a TLS receiver, from commit to receipt, beside a bare undici loop that signs and posts
 * bodies of the same size with the same number of requests in flight; and what announcing costs whoever appends. Needs
 * PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres. `npx tsx bench/webhooks.ts`
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { systemCaller } from '../src/caller.ts'
import { newId } from '../src/ids.ts'
import { signWebhook } from '../src/protocol/webhook/webhook.ts'
import { startTestApp, type TestApp } from '../test/support/app.ts'
import { createCertificates } from '../test/support/servers/certificates.ts'
import { type Row, report } from './support/interleaved.ts'

process.env.DATABASE_URL ??= 'postgres://postgres@127.0.0.1:5432/postgres'

const ROUNDS = 3
const DELIVERIES = 2_000
const ENDPOINT_IN_FLIGHT = 4
const MAX_IN_FLIGHT = 128
const BATCH_ITEMS = 200
const APPENDED = 4_000
const POLL_MS = 5
/** A round that takes longer is the last one, and counts with what had arrived by then. */
const GIVE_UP_MS = 60_000
/** The last results are still being written. */
const SETTLE_MS = 500

/** Ours appends each entry, stores its delivery, and writes down how that ended; the bare loop does none of that. */
const GOAL_RATIO = 0.4
/** Of the time that an append takes, with the follower running and nobody to tell. */
const GOAL_APPEND_RATIO = 1.5

const SECRET = `whsec_${'0123456789ab'.repeat(4)}`

interface Receiver {
  readonly url: string
  received(): Promise<number>
}

/** Aborted when the receiver has ended, so that nobody waits for its answer. */
const ended = new AbortController()

const ask = async <T>(child: ChildProcess): Promise<T> => {
  child.send({})
  const [answer] = await once(child, 'message', { signal: ended.signal })
  return answer
}

const startReceiver = async (child: ChildProcess): Promise<Receiver> => {
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `https://127.0.0.1:${port}`,
    received: async () => (await ask<{ received: number }>(child)).received,
  }
}

/** @returns how many have arrived: fewer than asked for when it takes too long */
const waitFor = async (receiver: Receiver, count: number): Promise<number> => {
  const giveUpAt = performance.now() + GIVE_UP_MS
  let received = await receiver.received()
  while (received < count && performance.now() < giveUpAt) {
    await pause(POLL_MS)
    received = await receiver.received()
  }
  return received
}

/** Appends entries of an organisation, a batch at a time. */
const append = async ({ services }: TestApp, organisation: string, entries: number): Promise<void> => {
  const caller = systemCaller(organisation, 'bench')
  for (let left = entries; left > 0; left -= BATCH_ITEMS)
    await services.ledger.append(caller, (tx) => {
      for (let n = 0; n < Math.min(left, BATCH_ITEMS); n++)
        tx.append({ type: 'verify', digest: 'ab'.repeat(32), data: { n: 1 } })
    })
}

/** An organisation of its own with endpoints that want every verification. */
const subscribe = async (app: TestApp, url: string, endpoints: number): Promise<string> => {
  const { organisationId: organisation } = await app.organisation()
  const caller = { ...systemCaller(organisation, 'bench'), scopes: new Set(['egress:private'] as const) }
  for (let i = 0; i < endpoints; i++)
    await app.services.webhooks.create(caller, {
      label: 'bench',
      url: `${url}/${i}`,
      events: ['proof.verified'],
    })
  return organisation
}

const secondsOf = async (work: () => Promise<void>): Promise<number> => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

/** A body of the size that ours have. */
const bareBody = (deliveryId: string): string => {
  const hash = 'ab'.repeat(32)
  const data = { digest: hash, circuit_id: null, proof_id: null, merkle_root: hash, merkle_leaf_hash: hash }
  const created_at = '2026-01-01T00:00:00.000Z'
  return JSON.stringify({ delivery_id: deliveryId, event: 'proof.verified', created_at, data })
}

/** Such bodies, signed as ours are, with as many requests in flight, over connections that stay open. */
const postBare = async (url: string, dispatcher: Agent, inFlight: number): Promise<void> => {
  let left = DELIVERIES
  const loop = async (): Promise<void> => {
    while (left-- > 0) {
      const deliveryId = `dlv_${left.toString(16).padStart(24, '0')}`
      const rawBody = bareBody(deliveryId)
      const timestamp = Math.floor(performance.now() / 1000)
      const event = 'proof.verified'
      const headers = signWebhook({ deliveryId, event, timestamp, rawBody, secret: SECRET })
      const { body } = await request(url, { method: 'POST', headers, body: rawBody, dispatcher })
      await body.dump()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, loop))
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const rows: Row[] = []

const compareDeliveries = async (
  app: TestApp,
  receiver: Receiver,
  ca: string,
  endpoints: number,
): Promise<void> => {
  const organisation = await subscribe(app, receiver.url, endpoints)
  const inFlight = Math.min(endpoints * ENDPOINT_IN_FLIGHT, MAX_IN_FLIGHT)
  const dispatcher = new Agent({ connect: { ca }, connections: inFlight, pipelining: 1 })
  // Deliveries a second; the first round, not counted, opens the connections of both.
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const before = await receiver.received()
    let arrived = 0
    const seconds = await secondsOf(async () => {
      await append(app, organisation, DELIVERIES / endpoints)
      arrived = (await waitFor(receiver, before + DELIVERIES)) - before
    })
    await pause(SETTLE_MS)
    const bare = await secondsOf(() => postBare(`${receiver.url}/bare`, dispatcher, inFlight))
    const isLate = arrived < DELIVERIES
    if (round === 0 && !isLate) continue
    ours.push(arrived / seconds)
    theirs.push(DELIVERIES / bare)
    if (isLate) break
  }
  await dispatcher.close()
  const ratio = median(ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN)))
  rows.push({
    what: `deliveries to ${endpoints} endpoint${endpoints === 1 ? '' : 's'}`,
    ours: `${median(ours).toFixed(0)}/s`,
    peer: `a bare undici loop, ${inFlight} in flight`,
    theirs: `${median(theirs).toFixed(0)}/s`,
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: `${GOAL_RATIO}×`,
    ok: ratio >= GOAL_RATIO,
  })
}

const compareAppends = async (app: TestApp, receiver: Receiver): Promise<void> => {
  const nobody = newId('org', 0)
  const listened = await subscribe(app, receiver.url, 1)
  const perEvent = async (organisation: string): Promise<number> => {
    await append(app, organisation, BATCH_ITEMS)
    const micros: number[] = []
    for (let round = 0; round < ROUNDS; round++)
      micros.push(((await secondsOf(() => append(app, organisation, APPENDED))) * 1e6) / APPENDED)
    return median(micros)
  }
  const announced = await perEvent(nobody)
  const delivered = await perEvent(listened)
  await app.services.webhooks.close()
  const bare = await perEvent(nobody)
  for (const [what, micros, goal] of [
    ['append an entry, nobody to tell', announced, GOAL_APPEND_RATIO],
    ['append an entry, while deliveries are made', delivered, undefined],
  ] as const) {
    rows.push({
      what,
      ours: `${micros.toFixed(1)} µs`,
      peer: 'without webhooks (ratio: of times)',
      theirs: `${bare.toFixed(1)} µs`,
      ratio: `${(micros / bare).toFixed(2)}×`,
      mustReach: goal === undefined ? '' : `≤ ${goal}×`,
      ok: goal === undefined || micros / bare <= goal,
    })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-webhooks-'))
const certificates = createCertificates({ names: ['127.0.0.1'] })
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const child = fork(
  fileURLToPath(new URL('support/tls-receiver.ts', import.meta.url)),
  [file('cert', certificates.cert), file('key', certificates.key)],
  { execArgv: ['--import=tsx'] },
)
child.once('exit', () => ended.abort())
const receiver = await startReceiver(child)
const app = await startTestApp({ env: { EGRESS_CA_FILE: file('ca', certificates.ca) } })
try {
  await compareDeliveries(app, receiver, certificates.ca, 1)
  await compareDeliveries(app, receiver, certificates.ca, 100)
  await compareAppends(app, receiver)
  report(rows)
} finally {
  child.kill()
  await app.close()
  rmSync(folder, { recursive: true })
}
process.exit(rows.every(({ ok }) => ok) ? 0 : 1)
