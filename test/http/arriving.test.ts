/** Bodies that are still arriving: of whom how much is kept, and who is refused. */
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import type { AppError } from '../../src/errors.ts'
import { createArrivingBodies } from '../../src/http/input/arriving.ts'
import { route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const MIB = 1024 ** 2
const LIMITS = { bytesEach: 100, bytes: 250 }

const work = route({
  name: 'work',
  method: 'POST',
  path: '/v1/work',
  auth: 'optional',
  tag: 'Test',
  summary: 'A test',
  body: Type.Object({ name: Type.String() }),
  response: { 200: Type.Object({ name: Type.String() }) },
  errors: [],
  handler: async ({ body }) => body,
})

/** What a client sends in pieces, and what it is answered. */
interface Sending {
  readonly socket: Socket
  readonly answers: string
  send(piece: string): void
}

describe('bodies that are still arriving', () => {
  let kit: HttpKit
  let sockets: Socket[]
  beforeEach(async () => {
    sockets = []
    kit = await startHttpKit([work], { arriving: LIMITS, config: { trustProxy: ['127.0.0.1/32'] } })
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await kit.close()
  })

  const untilArriving = (bytes: number) =>
    eventually(`${bytes} bytes are arriving`, async () =>
      (await kit.metrics.text()).includes(`http_arriving_bytes ${bytes}\n`),
    )
  /** @param length of the body; undefined: it is not announced */
  const begin = (from: string, length: number | undefined, piece: string): Sending => {
    const socket = connect(Number(new URL(kit.url).port), '127.0.0.1')
    sockets.push(socket)
    let answers = ''
    socket.setEncoding('utf8').on('data', (text) => {
      answers += text
    })
    const who = from.startsWith('k-') ? `X-API-Key: ${from}` : `X-Forwarded-For: ${from}`
    const form = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
    const framed = (text: string) =>
      length === undefined ? `${text.length.toString(16)}\r\n${text}\r\n` : text
    socket.write(
      `POST /v1/work HTTP/1.1\r\nHost: a\r\n${who}\r\nContent-Type: application/json\r\n${form}\r\n\r\n${framed(piece)}`,
    )
    return {
      socket,
      get answers() {
        return answers
      },
      send: (text) => socket.write(framed(text)),
    }
  }
  const BEGUN = `{"name":"${'a'.repeat(31)}`
  const REST = '"}'
  const WHOLE = BEGUN.length + REST.length
  const beginMany = async (from: readonly string[], before = 0): Promise<Sending[]> => {
    const all: Sending[] = []
    for (const one of from) {
      all.push(begin(one, WHOLE, BEGUN))
      await untilArriving(before + all.length * BEGUN.length)
    }
    return all
  }
  const answered = (sending: Sending, status: number) =>
    eventually(`it is answered ${status}`, () => sending.answers.startsWith(`HTTP/1.1 ${status} `))

  it('may have so many bytes of one owner: the one that goes beyond is refused, and others’ are not', async () => {
    expect(BEGUN).to.have.length(40)
    const own = await beginMany(['k-red', 'k-red'])
    const refused = begin('k-red', WHOLE, BEGUN)
    await answered(refused, 429)
    expect(refused.answers)
      .to.match(/\r\nRetry-After: 1\r\n/i)
      .and.include('"reason":"TOO_MANY_WAITING"')
      .and.include('Bodies of your requests that are still arriving')
    await untilArriving(80)
    const others = await beginMany(['k-blue', '192.0.2.1', '192.0.2.1'], 80)
    for (const sending of [...own, ...others]) {
      sending.send(REST)
      await answered(sending, 200)
    }
    await untilArriving(0)
    expect(await kit.metrics.text()).to.include('http_requests_shed_total{reason="full"} 1\n')
    // It is worth no word in the log where it is their own doing.
    expect(kit.lines.filter(({ msg }) => msg !== 'request')).to.deep.equal([])
  })

  it('of which one is refused leave its connection to the next request, once all of it has come', async () => {
    await beginMany(['k-red', 'k-red'])
    const refused = begin('k-red', WHOLE, BEGUN)
    await answered(refused, 429)
    refused.send(REST)
    refused.send('GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n')
    await eventually('the next one is answered', () => refused.answers.includes('HTTP/1.1 404 '))
    await untilArriving(80)
  })

  it('may have so many bytes in all: then the oldest goes of whoever has most, never that of one who has little', async () => {
    const [first, ...rest] = await beginMany([
      'k-red',
      'k-red',
      '192.0.2.1',
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.2',
    ])
    const small = begin('k-blue', WHOLE, BEGUN)
    await answered(first!, 503)
    expect(first?.answers)
      .to.include('"reason":"TOO_MANY_WAITING"')
      .and.match(/\r\nRetry-After: 1\r\n/i)
    expect(kit.lines.find(({ msg }) => msg === 'request refused')).to.include({ error: 'unavailable' })
    await untilArriving(240)
    for (const sending of [small, ...rest]) {
      sending.send(REST)
      await answered(sending, 200)
    }
  })

  it('are counted where they were not announced, and no longer than they arrive, however they end', async () => {
    const whole = begin('k-red', undefined, BEGUN)
    await untilArriving(40)
    whole.send(REST)
    await untilArriving(42)
    whole.socket.write('0\r\n\r\n')
    await answered(whole, 200)
    await untilArriving(0)
    const gone = begin('k-red', WHOLE, BEGUN)
    await untilArriving(40)
    gone.socket.destroy()
    await untilArriving(0)
  })

  it('are those alone that come in pieces', async () => {
    await beginMany(['k-red', 'k-red', '192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2'])
    for (const key of ['k-red', 'k-blue', undefined]) {
      const { status } = await kit.request('POST', '/v1/work', { key, body: { name: 'b'.repeat(300) } })
      expect(status, key).to.equal(200)
    }
    await untilArriving(240)
  })

  it('have 16 MiB of one owner and 64 MiB in all, whatever is begun', () => {
    const arriving = createArrivingBodies()
    const refused: string[] = []
    const beginOne = (owner: string) =>
      arriving.count(owner, ({ code }: AppError) => refused.push(`${owner} ${code}`))
    for (const owner of ['a', 'b', 'c', 'd']) for (let i = 0; i < 16; i++) beginOne(owner).add(MIB)
    expect([arriving.bytes / MIB, refused]).to.deep.equal([64, []])
    const one = beginOne('a')
    one.add(1)
    expect([arriving.bytes / MIB, refused]).to.deep.equal([64, ['a rate_limited']])
    // What comes of it all the same counts no more.
    one.add(MIB)
    one.end()
    for (let i = 0; i < 1000; i++) beginOne(`stranger ${i}`).add(1)
    expect(arriving.bytes / MIB).to.be.within(63, 64)
    expect(refused).to.deep.equal(['a rate_limited', 'a unavailable'])
    beginOne('e').add(2 * MIB)
    expect(refused.slice(2)).to.deep.equal(['b unavailable', 'c unavailable'])
  })
})
