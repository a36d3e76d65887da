import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { Type } from 'typebox'
import { request } from 'undici'
import { COMPRESSION_MAX_BYTES, COMPRESSION_MIN_BYTES } from '../../src/http/compression.ts'
import { Reply, route } from '../../src/http/route.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const ALL = 'gzip, deflate, br'
const words = 'All that is everybody’s. '.repeat(4000)
/** Large when compressed, too. */
const noise = randomBytes(96 * 1024).toString('base64')

const readable = (
  path: `/${string}`,
  auth: 'none' | 'key' | 'optional',
  content: () => Reply<200, string | Uint8Array>,
) =>
  route({
    name: `get${path.replaceAll('/', '-')}`,
    method: 'GET',
    path,
    auth,
    cost: 0,
    tag: 'Test',
    summary: 'A text',
    produces: ['text/plain; charset=utf-8', 'application/json', 'application/octet-stream', 'image/png'],
    response: { 200: Type.String(), 304: null },
    errors: [],
    handler: content,
  })
const text =
  (content: string | Uint8Array, headers: Record<string, string> = {}) =>
  () =>
    new Reply(200, content, headers)

const routes = [
  readable('/words', 'none', text(words)),
  readable('/noise', 'none', text(noise)),
  readable(
    '/bytes',
    'none',
    text(new Uint8Array(Buffer.from(JSON.stringify(words))), { 'Content-Type': 'application/json' }),
  ),
  readable('/other', 'none', () => new Reply(200, randomBytes(768 * 1024).toString('base64'))),
  readable('/brief', 'none', () => new Reply(200, randomBytes(8).toString('hex').repeat(100))),
  readable('/shared', 'none', text(new Uint8Array(new SharedArrayBuffer(2048)).fill(97))),
  readable('/page', 'none', text(words, { Vary: 'Accept' })),
  readable('/named', 'none', text(words, { ETag: '"own"' })),
  readable('/short', 'none', text('x'.repeat(COMPRESSION_MIN_BYTES - 1))),
  readable('/huge', 'none', text('x'.repeat(COMPRESSION_MAX_BYTES + 1))),
  readable('/file', 'none', text(words, { 'Content-Type': 'application/octet-stream' })),
  readable('/picture', 'none', text(words, { 'Content-Type': 'image/png' })),
  readable('/mine', 'key', text(words)),
  readable('/perhaps', 'optional', text(words)),
]

describe('compression', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit(routes)
  })
  after(() => kit.close())

  const ask = async (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    const answer = await request(kit.url + path, { method, headers: { 'x-api-key': 'k-red', ...headers } })
    const body = Buffer.from(await answer.body.arrayBuffer())
    const { 'x-request-id': _, date: __, connection: ___, 'keep-alive': ____, ...others } = answer.headers
    return { status: answer.statusCode, headers: others, body }
  }
  const codingOf = async (path: string, accepted?: string) => {
    const { headers } = await ask(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
    return headers['content-encoding']
  }

  it('sends texts of public routes in the coding that the client takes, whole and with their length', async () => {
    for (const [path, content] of [
      ['/words', words],
      ['/noise', noise],
      ['/shared', 'a'.repeat(2048)],
      ['/bytes', JSON.stringify(words)],
    ] as const)
      for (const [accepted, coding, decode] of [
        [ALL, 'br', brotliDecompressSync],
        ['gzip', 'gzip', gunzipSync],
        ['br;q=0, *', 'gzip', gunzipSync],
      ] as const) {
        const { headers, body } = await ask(path, { 'accept-encoding': accepted })
        expect(headers, path).to.include({ 'content-encoding': coding, vary: 'Accept-Encoding' })
        expect(headers['content-length']).to.equal(String(body.length))
        expect(decode(body).toString() === content, path).to.equal(true)
        expect(body.length).to.be.below(content.length)
      }
  })

  it('sends them as they are to everybody else', async () => {
    for (const accepted of [undefined, '', 'identity', 'gzip;q=0', 'deflate', 'zstd, gzipped', 'br;q=0.0'])
      expect(await codingOf('/words', accepted), accepted).to.equal(undefined)
    const { headers, body } = await ask('/words')
    expect(headers.vary).to.equal('Accept-Encoding')
    expect(body.toString()).to.equal(words)
  })

  it('never compresses what depends on who asks, where a length could betray a secret', async () => {
    for (const path of ['/mine', '/perhaps']) {
      const { headers, body } = await ask(path, { 'accept-encoding': ALL })
      expect(headers, path).to.not.have.any.keys('content-encoding', 'vary')
      expect(body.toString()).to.equal(words)
    }
  })

  it('leaves alone what gains nothing, and what would hold up others', async () => {
    for (const path of ['/short', '/huge', '/file', '/picture'])
      expect(await codingOf(path, ALL), path).to.equal(undefined)
  })

  it('answers HEAD with the headers of GET', async () => {
    for (const path of ['/words', '/noise'])
      for (const accepted of ['identity', ALL]) {
        const get = await ask(path, { 'accept-encoding': accepted })
        const head = await ask(path, { 'accept-encoding': accepted }, 'HEAD')
        expect(head.headers).to.deep.equal(get.headers)
        expect(head.body).to.have.length(0)
      }
  })

  it('adds to what an answer depends on otherwise', async () => {
    expect((await ask('/page', { 'accept-encoding': ALL })).headers.vary).to.equal('Accept, Accept-Encoding')
  })

  it('has a weak tag for a content in several codings, which each of them is compared with', async () => {
    for (const path of ['/words', '/named']) {
      const plain = await ask(path)
      const packed = await ask(path, { 'accept-encoding': ALL })
      expect(plain.headers.etag).to.match(/^"/)
      expect(packed.headers.etag).to.equal(`W/${plain.headers.etag}`)
      for (const tag of [plain, packed].map(({ headers }) => String(headers.etag)))
        for (const [accepted, own] of [
          ['identity', plain],
          [ALL, packed],
        ] as const) {
          const again = await ask(path, { 'accept-encoding': accepted, 'if-none-match': tag })
          expect(again.status).to.equal(304)
          expect(again.body).to.have.length(0)
          expect(again.headers).to.include({ etag: own.headers.etag, vary: 'Accept-Encoding' })
          expect(again.headers).to.not.have.property('content-encoding')
        }
    }
  })

  it('takes any number of requests at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => ask('/words', { 'accept-encoding': 'gzip' })),
    )
    for (const { body } of answers) expect(gunzipSync(body).toString() === words).to.equal(true)
  })

  it('answers more at once than it remembers', async () => {
    const answers = await Promise.all(
      Array.from({ length: 28 }, () => ask('/other', { 'accept-encoding': 'gzip' })),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200))
    expect(new Set(answers.map(({ body }) => gunzipSync(body).toString())).size).to.equal(answers.length)
  })

  it('remembers short contents without the blocks that they were made in', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
    const contents = 600
    /** What an encoder held is let go of some turns after its end: the least of some looks counts. */
    const held = async (): Promise<number> => {
      let least = Number.POSITIVE_INFINITY
      for (let look = 0; look < 10; look++) {
        await setTimeout(50)
        collect()
        least = Math.min(least, process.memoryUsage().arrayBuffers)
      }
      return least
    }
    const round = async () => {
      for (let i = 0; i < contents; i++) await ask('/brief', { 'accept-encoding': i % 2 ? 'gzip' : 'br' })
      return held()
    }
    const before = await round()
    expect((await round()) - before).to.be.below(contents * 2048)
  })

  it('never throws, whatever Accept-Encoding says', async () => {
    const piece = fc.constantFrom(
      'gzip',
      'br',
      '*',
      'identity',
      ',',
      ';',
      ';q=',
      '0',
      '0.5',
      '1',
      '"',
      '=',
      ' ',
      '__proto__',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        expect((await ask('/words', { 'accept-encoding': pieces.join('').trim() })).status).to.equal(200)
      }),
      { numRuns: 60 },
    )
  })
})
