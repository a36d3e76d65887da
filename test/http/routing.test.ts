import { expect } from 'chai'
import { Type } from 'typebox'
import { route } from '../../src/http/route.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const get = (name: string, path: `/${string}`) =>
  route({
    name,
    method: 'GET',
    path,
    auth: 'none',
    tag: 'Test',
    summary: name,
    response: {
      200: Type.Object({ name: Type.String(), params: Type.Unknown() }),
    },
    errors: [],
    handler: ({ params }) => ({ name, params }),
  })

const post = route({
  name: 'makeThing',
  method: 'POST',
  path: '/v1/things',
  auth: 'none',
  tag: 'Test',
  summary: 'Make',
  response: { 204: null },
  errors: [],
  handler: () => undefined,
})

describe('routing', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit([
      get('listThings', '/v1/things'),
      post,
      { ...post, name: 'makeThingAlone', path: '/v1/things/make' },
      get('anyThing', '/v1/things/{thingId}'),
      get('specialThing', '/v1/things/special'),
      get('partOfThing', '/v1/things/{thingId}/parts/{partId}'),
      get('partsOfBox', '/v1/things/box/parts/{partId}'),
      get('root', '/'),
      get('verifyThing', '/verify'),
      { ...get('restOfThing', '/files/{kind}/{rest}'), takesRest: true },
    ])
  })
  after(() => kit.close())

  it('a last parameter may take the rest of the path', async () => {
    const rest = async (path: string) => (await kit.request('GET', path)).body
    expect(await rest('/files/a/b')).to.deep.equal({ name: 'restOfThing', params: { kind: 'a', rest: 'b' } })
    expect(await rest('/files/a/b/c.d/e')).to.deep.equal({
      name: 'restOfThing',
      params: { kind: 'a', rest: 'b/c.d/e' },
    })
    expect((await kit.request('GET', '/files/a/')).status).to.equal(404)
  })

  it('a fixed path wins over a template, a more specific template over a general one', async () => {
    expect((await kit.request('GET', '/v1/things/special')).body).to.deep.equal({
      name: 'specialThing',
      params: {},
    })
    expect((await kit.request('GET', '/v1/things/a')).body).to.deep.equal({
      name: 'anyThing',
      params: { thingId: 'a' },
    })
    expect((await kit.request('GET', '/v1/things/box/parts/7')).body.name).to.equal('partsOfBox')
    expect((await kit.request('GET', '/v1/things/bag/parts/7')).body.params).to.deep.equal({
      thingId: 'bag',
      partId: '7',
    })
    expect((await kit.request('GET', '/')).body.name).to.equal('root')
  })

  it('an unknown path is 404 in the common error body, whatever the method', async () => {
    for (const [method, path] of [
      ['GET', '/v1/nothing'],
      ['POST', '/v1/things/a/b'],
      ['GET', '/v1/things/'],
      ['GET', '//'],
    ] as const) {
      const { status, body, headers } = await kit.request(method, path)
      expect(status, path).to.equal(404)
      expect(body.error).to.equal('not_found')
      expect(body.request_id).to.equal(headers.get('x-request-id'))
    }
  })

  it('a fixed path is never taken for a parameter, whatever the method', async () => {
    const { status, headers } = await kit.request('GET', '/v1/things/make')
    expect([status, headers.get('allow')]).to.deep.equal([405, 'OPTIONS, POST'])
    expect((await kit.request('GET', '/v1/things/makes')).body.name).to.equal('anyThing')
  })

  it('a known path with another method is 405 and names the methods', async () => {
    const { status, body, headers } = await kit.request('DELETE', '/v1/things')
    expect([status, body.error]).to.deep.equal([405, 'method_not_allowed'])
    expect(headers.get('allow')).to.equal('GET, HEAD, OPTIONS, POST')
    const special = await kit.request('POST', '/v1/things/special')
    expect([special.status, special.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS'])
  })

  it('HEAD answers as GET does, without the body', async () => {
    const head = await kit.request('HEAD', '/v1/things/a')
    const full = await kit.request('GET', '/v1/things/a')
    expect([head.status, head.bytes.length]).to.deep.equal([200, 0])
    expect(head.headers.get('content-length')).to.equal(String(full.bytes.length))
    expect(head.headers.get('content-type')).to.equal(full.headers.get('content-type'))
  })

  it('OPTIONS names the methods', async () => {
    const { status, headers } = await kit.request('OPTIONS', '/v1/things')
    expect([status, headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, OPTIONS, POST'])
    expect((await kit.request('OPTIONS', '/v1/nothing')).status).to.equal(404)
  })

  it('path parameters are percent-decoded; malformed escapes and NUL are 400', async () => {
    expect((await kit.request('GET', '/v1/things/a%2Fb%20%C3%A9')).body.params).to.deep.equal({
      thingId: 'a/b é',
    })
    for (const bad of ['%', '%zz', '%ff', '%00']) {
      const { status, body } = await kit.request('GET', `/v1/things/${bad}`)
      expect([status, body.error], bad).to.deep.equal([400, 'invalid_request'])
    }
  })

  it('only root routes carry success in their errors', async () => {
    const root = await kit.request('POST', '/verify')
    expect(root.body).to.include({ success: false, error: 'method_not_allowed' })
    expect((await kit.request('DELETE', '/v1/things')).body).not.to.have.property('success')
  })

  it('two routes with one method and path are refused at start', async () => {
    const refusal = async (...paths: `/${string}`[]) =>
      startHttpKit(paths.map((path, index) => get(`route${index}`, path))).then(
        () => 'started',
        (error: Error) => error.message,
      )
    expect(await refusal('/a/{x}', '/a/{x}')).to.equal('two routes are GET /a/{x}')
    expect(await refusal('/{x}')).to.equal('/{x} starts with a parameter')
  })
})
