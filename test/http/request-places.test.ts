/** Requests over HTTP, where there are more than places. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import { AppError } from '../../src/errors.ts'
import type { AdmissionLimits } from '../../src/http/admission.ts'
import { closeHttpServer } from '../../src/http/connections/server.ts'
import { createEventStreams } from '../../src/http/event-stream.ts'
import { type Route, route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const MIB = 1024 ** 2

/** A handler that goes on when the test says so. */
const createGate = () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  return {
    begun,
    pass: (name: string) =>
      new Promise<{ name: string }>((resolve) => {
        begun.push(name)
        ends.push(() => resolve({ name }))
      }),
    /** Lets the oldest go on. */
    next: () => ends.shift()?.(),
    rest(): void {
      for (const end of ends.splice(0)) end()
    },
  }
}
type Gate = ReturnType<typeof createGate>

const routesOf = (gate: Gate): Route[] => {
  const streams = createEventStreams()
  const common = { tag: 'Test', summary: 'A test', response: { 200: Type.Object({ name: Type.String() }) } }
  const free = { response: { 200: Type.Object({}) }, errors: [] }
  return [
    route({
      ...common,
      name: 'work',
      method: 'POST',
      path: '/v1/work',
      auth: 'key',
      body: Type.Object({ name: Type.String() }),
      errors: [],
      handler: ({ body }) => gate.pass(body.name),
    }),
    route({
      ...common,
      name: 'prove',
      method: 'GET',
      path: '/v1/prove',
      auth: 'key',
      errors: ['prover_overloaded'],
      handler: () => gate.pass('proof'),
    }),
    route({
      ...common,
      ...free,
      name: 'health',
      method: 'GET',
      path: '/health',
      auth: 'none',
      cost: 0,
      handler: () => ({}),
    }),
    route({
      ...common,
      ...free,
      name: 'look',
      method: 'GET',
      path: '/v1/look',
      auth: 'none',
      handler: () => ({}),
    }),
    route({
      ...common,
      ...free,
      name: 'aside',
      method: 'GET',
      path: '/v1/aside',
      auth: 'key',
      queued: false,
      handler: () => ({}),
    }),
    route({
      ...common,
      name: 'fails',
      method: 'GET',
      path: '/v1/fails',
      auth: 'key',
      errors: ['not_found'],
      handler: () => {
        throw new AppError('not_found')
      },
    }),
    route({
      ...common,
      name: 'stream',
      method: 'GET',
      path: '/api/stream',
      auth: 'none',
      response: { 200: Type.String() },
      produces: 'text/event-stream',
      errors: [],
      handler: () => streams.answer(() => () => undefined),
    }),
  ]
}

describe('requests that find no place', () => {
  const limits: AdmissionLimits = {
    inWork: 3,
    inWorkShared: 1,
    inWorkBusy: 1,
    waitingEach: 2,
    waitingBytesEach: 3 * MIB,
    waitingBytes: 5 * MIB,
    waitMs: 60_000,
  }
  let gate: Gate
  let kit: HttpKit
  const start = async (changed: Partial<AdmissionLimits> = {}): Promise<void> => {
    gate = createGate()
    kit = await startHttpKit(routesOf(gate), { admission: { ...limits, ...changed } })
  }
  afterEach(async () => {
    gate.rest()
    await kit.close()
  })

  const work = (key: string, name: string) => kit.request('POST', '/v1/work', { key, body: { name } })
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await kit.metrics.text())?.[1])
  const untilWaiting = (count: number) =>
    eventually(`${count} wait`, async () => (await metric('http_queue_depth')) === count)
  /** In this order. */
  const untilBegun = async (...names: string[]) => {
    await eventually(`${names} are begun`, () => gate.begun.length >= names.length)
    expect(gate.begun).to.deep.equal(names)
  }
  const untilBegunAre = (count: number) => eventually(`${count} are begun`, () => gate.begun.length === count)

  it('are begun in turns between organisations, and in order within one', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', 'red 1')]
    await untilBegun('red 1')
    for (const [i, [key, name]] of [
      ['k-red', 'red 2'],
      ['k-red', 'red 3'],
      ['k-blue', 'blue 1'],
      ['k-blue', 'blue 2'],
    ].entries()) {
      answers.push(work(String(key), String(name)))
      await untilWaiting(i + 1)
    }
    const order = ['red 1', 'red 2', 'blue 1', 'red 3', 'blue 2']
    for (const count of [2, 3, 4, 5]) {
      gate.next()
      await untilBegun(...order.slice(0, count))
    }
    gate.next()
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(Array(5).fill(200))
    expect(await metric('http_queue_seconds_count')).to.equal(4)
  })

  it('do not keep another organisation waiting, which finds a place of its own', async () => {
    await start()
    const answers = [work('k-blue', 'blue 1'), work('k-red', 'red 1')]
    await untilBegunAre(2)
    answers.push(work('k-red', 'red 2'))
    await untilWaiting(1)
    answers.push(work('k-green', 'green 1'))
    await untilBegunAre(3)
    expect(gate.begun.at(-1)).to.equal('green 1')
    gate.rest()
    await untilBegunAre(4)
    gate.rest()
    await Promise.all(answers)
  })

  it('are refused beyond the limit of their organisation, which the error names, and no others are', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', '1')]
    await untilBegun('1')
    answers.push(work('k-red', '2'), work('k-red', '3'))
    await untilWaiting(2)
    const { status, body, headers } = await work('k-red', '4')
    expect([status, body.error, body.reason, body.retry_after]).to.deep.equal([
      429,
      'rate_limited',
      'TOO_MANY_WAITING',
      1,
    ])
    expect(headers.get('retry-after')).to.equal('1')
    expect(body.message).to.match(/^2 of your requests wait/)
    expect(await metric('http_requests_shed_total.reason="full".')).to.equal(1)
    answers.push(work('k-blue', 'blue'))
    await untilWaiting(3)
    for (const count of [2, 3, 4, 4]) {
      gate.next()
      await untilBegunAre(count)
    }
    expect((await Promise.all(answers)).map(({ status: one }) => one)).to.deep.equal(Array(4).fill(200))
  })

  it('are refused when they have waited as long as one may, with 503 and when to come back', async () => {
    await start({ inWork: 1, waitMs: 30 })
    const first = work('k-red', '1')
    await untilBegun('1')
    const { status, body, headers } = await work('k-blue', '2')
    expect([status, body.error, body.reason]).to.deep.equal([503, 'unavailable', 'WAITED_TOO_LONG'])
    expect(body.message).to.match(/waited for 0\.03 seconds/)
    expect(headers.get('retry-after')).to.equal('1')
    expect(kit.lines.find(({ msg }) => msg === 'request refused')).to.include({ error: 'unavailable' })
    gate.rest()
    await first
    expect(gate.begun).to.deep.equal(['1'])
  })

  it('leave the queue when their client goes away', async () => {
    await start({ inWork: 1 })
    const first = work('k-red', '1')
    await untilBegun('1')
    const socket = connect(Number(new URL(kit.url).port), '127.0.0.1')
    const body = '{"name":"gone"}'
    socket.write(
      `POST /v1/work HTTP/1.1\r\nHost: a\r\nX-API-Key: k-blue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await untilWaiting(1)
    socket.destroy()
    await untilWaiting(0)
    gate.rest()
    await first
    const last = work('k-blue', '2')
    await untilBegun('1', '2')
    gate.rest()
    expect((await last).status).to.equal(200)
  })

  it('are answered when the server closes meanwhile', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', '1')]
    await untilBegun('1')
    answers.push(work('k-red', '2'))
    await untilWaiting(1)
    const closed = closeHttpServer(kit.server)
    gate.next()
    await untilBegun('1', '2')
    gate.next()
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal([200, 200])
    expect(await closed).to.equal(true)
  })

  it('are for proofs as many as keep the threads at work, while several organisations ask, and wait behind these', async () => {
    await start()
    const prove = (key: string) => kit.request('GET', '/v1/prove', { key })
    const answers = [prove('k-blue'), prove('k-red'), prove('k-red')]
    await untilBegunAre(3)
    answers.push(prove('k-red'))
    await untilWaiting(1)
    answers.push(prove('k-green'), work('k-red', 'no proof'))
    await untilBegunAre(5)
    for (const count of [6, 6]) {
      gate.rest()
      await untilBegunAre(count)
    }
    gate.rest()
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
    expect(await metric('http_queue_seconds_count')).to.equal(1)
  })

  it('give way to nothing that holds a place without working: proofs, streams, probes, clients that send slowly', async () => {
    await start({ inWork: 1 })
    const proofs = [1, 2, 3].map(() => kit.request('GET', '/v1/prove', { key: 'k-red' }))
    await untilBegunAre(3)
    const streams = [1, 2, 3].map(() => connect(Number(new URL(kit.url).port), '127.0.0.1'))
    for (const socket of streams) {
      socket.write('GET /api/stream HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n')
      await once(socket, 'data')
    }
    const slow = connect(Number(new URL(kit.url).port), '127.0.0.1')
    slow.write(
      'POST /v1/work HTTP/1.1\r\nHost: a\r\nX-API-Key: k-red\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    expect((await kit.request('GET', '/v1/look')).status).to.equal(200)
    const holds = work('k-blue', 'work')
    await untilBegunAre(4)
    expect((await kit.request('GET', '/health')).status).to.equal(200)
    expect((await kit.request('GET', '/v1/aside', { key: 'k-blue' })).status).to.equal(200)
    gate.rest()
    await Promise.all([...proofs, holds])
    for (const socket of [slow, ...streams]) socket.destroy()
  })

  it('find the places that failed requests have given back', async () => {
    await start({ inWork: 1 })
    for (let i = 0; i < 3; i++)
      expect((await kit.request('GET', '/v1/fails', { key: 'k-red' })).status).to.equal(404)
    expect((await kit.request('POST', '/v1/work', { key: 'k-red', body: {} })).status).to.equal(422)
    expect((await kit.request('GET', '/v1/look')).status).to.equal(200)
  })
})
