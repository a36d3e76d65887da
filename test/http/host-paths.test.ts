import { expect } from 'chai'
import { Type } from 'typebox'
import { route } from '../../src/http/route.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const answer = (path: `/${string}`) =>
  route({
    name: path,
    method: 'GET',
    path,
    auth: 'none',
    tag: 'Test',
    summary: path,
    params: Type.Object(path.includes('{') ? { id: Type.String() } : {}),
    query: Type.Object({ q: Type.Optional(Type.String()) }),
    response: { 200: Type.Object({ path: Type.String(), id: Type.String(), q: Type.String() }) },
    errors: [],
    handler: ({ params, query }) => ({
      path,
      id: 'id' in params ? String(params.id) : '',
      q: query.q ?? '',
    }),
  })

describe('paths by host', () => {
  let kit: HttpKit
  const asked: string[][] = []
  before(async () => {
    kit = await startHttpKit([answer('/'), answer('/pod/{id}')], {
      pathFor: (host, method, path) => {
        asked.push([host, method, path])
        if (host === 'broken.example') return Promise.reject(new Error('away'))
        return host === 'bound.example' && path === '/' ? Promise.resolve('/pod/seven') : undefined
      },
    })
  })
  after(() => kit.close())
  const ask = (path: string, host: string) => kit.request('GET', path, { headers: { host } })

  it('are those that are meant, with their query, where the host stands for something', async () => {
    const { status, body } = await ask('/?q=a%20b', 'bound.example')
    expect(status).to.equal(200)
    expect(body).to.deep.equal({ path: '/pod/{id}', id: 'seven', q: 'a b' })
    expect(asked.at(-1)).to.deep.equal(['bound.example', 'GET', '/'])
    expect(kit.lines.at(-1)).to.include({ path: '/pod/{id}', route: '/pod/{id}' })
  })

  it('are what they say anywhere else', async () => {
    for (const host of ['other.example', '127.0.0.1', ''])
      expect((await ask('/', host)).body.path, host).to.equal('/')
    expect((await ask('/pod/eight', 'bound.example')).body.id).to.equal('eight')
  })

  it('fail like anything else', async () => {
    const { status, body } = await ask('/', 'broken.example')
    expect([status, body.error]).to.deep.equal([500, 'internal'])
  })
})
