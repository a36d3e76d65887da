import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import { route } from '../../src/http/route.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const show = route({
  name: 'show',
  method: 'GET',
  path: '/things/{id}',
  auth: 'none',
  cost: 0,
  tag: 'Test',
  summary: 'Shows a thing',
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ size: Type.Optional(Type.String()) }),
  response: { 200: Type.Object({ id: Type.String(), size: Type.String(), host: Type.String() }) },
  errors: [],
  handler: ({ params, query, headers }) => ({
    id: params.id,
    size: query.size ?? '',
    host: String(headers.host ?? ''),
  }),
})

describe('what a request is addressed to', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit([show])
  })
  after(() => kit.close())

  const exchange = async (head: string): Promise<{ status: number; body: Record<string, unknown> }> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(kit.url).port) })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.write(`${head}Connection: close\r\n\r\n`)
    await once(socket, 'close')
    return { status: Number(text.split(' ')[1]), body: JSON.parse(text.split('\r\n\r\n')[1] ?? '') }
  }

  it('may be in absolute form, whose authority counts instead of Host (RFC 9112 §3.2.2)', async () => {
    for (const scheme of ['http', 'HTTP', 'https']) {
      const { status, body } = await exchange(
        `GET ${scheme}://assay.example:8080/things/7?size=2 HTTP/1.1\r\nHost: other.example\r\n`,
      )
      expect(status).to.equal(200)
      expect(body).to.deep.equal({ id: '7', size: '2', host: 'assay.example:8080' })
    }
    expect((await exchange('GET http://assay.example HTTP/1.1\r\nHost: x\r\n')).status).to.equal(404)
    expect((await exchange('GET http://u:p@assay.example/things/7 HTTP/1.1\r\nHost: x\r\n')).status).to.equal(
      400,
    )
  })

  it('is said once: without Host, with two or with none that can be, it is refused (§3.2)', async () => {
    const cases: [head: string, status: number][] = [
      ['GET /things/7 HTTP/1.1\r\nHost: a\r\n', 200],
      ['GET /things/7 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n', 200],
      ['GET /things/7 HTTP/1.1\r\nHost:\r\n', 200],
      ['GET /things/7 HTTP/1.0\r\n', 200],
      ['GET /things/7 HTTP/1.1\r\n', 400],
      ['GET /things/7 HTTP/1.1\r\nHost: a\r\nHost: a\r\n', 400],
      ['GET /things/7 HTTP/1.1\r\nHost: a\r\nX: 1\r\nhOST: b\r\n', 400],
      ['GET /things/7 HTTP/1.0\r\nHost: a\r\nHost: b\r\n', 400],
      ['GET /things/7 HTTP/1.1\r\nHost: a b\r\n', 400],
      ['GET /things/7 HTTP/1.1\r\nHost: a/b\r\n', 400],
      ['GET /things/7 HTTP/1.1\r\nHost: a:port\r\n', 400],
    ]
    for (const [head, status] of cases) {
      const answer = await exchange(head)
      expect(answer.status, JSON.stringify(head)).to.equal(status)
      if (status === 400) expect(answer.body).to.include({ error: 'invalid_request' })
    }
  })
})
