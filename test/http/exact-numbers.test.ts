import { expect } from 'chai'
import { Type } from 'typebox'
import { errorCodesOf } from '../../src/http/errors.ts'
import { JSON_MAX_DEPTH } from '../../src/http/input/json.ts'
import { route } from '../../src/http/route.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const take = (path: `/${string}`, exactNumbers?: boolean) =>
  route({
    name: `take${path}`,
    method: 'POST',
    path,
    auth: 'none',
    tag: 'Test',
    summary: path,
    body: Type.Object({
      data: Type.Optional(Type.Object({ n: Type.Optional(Type.Number()) })),
      id: Type.Optional(Type.String()),
      x: Type.Optional(Type.Unknown()),
    }),
    exactNumbers,
    response: { 200: Type.Object({ received: Type.String() }) },
    errors: [],
    handler: ({ body }) => ({ received: JSON.stringify(body) }),
  })

const exact = take('/exact', true)
const loose = take('/loose')

describe('routes with exact numbers', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit([exact, loose])
  })
  after(() => kit.close())

  it('refuse a number that a double would round, and name its place', async () => {
    const bodies = {
      '{"data":{"n":9007199254740993}}': '/data/n',
      '{"data":{"n":0.10000000000000000001}}': '/data/n',
      '{"data":{"n":1e400}}': '/data/n',
      '{"data":{"n":1},"more":[0,{"a/b~":12345678901234567890}]}': '/more/1/a~1b~0',
    }
    for (const [body, path] of Object.entries(bodies)) {
      const answer = await kit.request('POST', '/exact', { body })
      expect([answer.status, answer.body.error], body).to.deep.equal([422, 'number_not_exact'])
      expect(answer.body.details, body).to.deep.equal([
        {
          path,
          code: 'number_not_exact',
          message: 'has more digits than can be kept exactly; send it as a string',
        },
      ])
    }
  })

  it('take every other number as it is', async () => {
    for (const n of [
      '0.1',
      '1.50',
      '1e3',
      '-0',
      '9007199254740992',
      '1152921504606847000',
      '0.30000000000000004',
    ]) {
      const answer = await kit.request('POST', '/exact', { body: `{"data":{"n":${n}}}` })
      expect(answer.body.received, n).to.equal(JSON.stringify({ data: { n: Number(n) } }))
    }
    const digits = await kit.request('POST', '/exact', { body: '{"id":"9007199254740993"}' })
    expect(digits.status).to.equal(200)
    expect((await kit.request('POST', '/exact')).status).to.equal(200)
  })

  it('bound the depth before they look, also in members that are open', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}1e1${']'.repeat(levels)}`
    expect(
      (await kit.request('POST', '/exact', { body: `{"x":${nested(JSON_MAX_DEPTH - 1)}}` })).status,
    ).to.equal(200)
    for (const levels of [JSON_MAX_DEPTH, 100_000]) {
      const { status, body } = await kit.request('POST', '/exact', { body: `{"x":${nested(levels)}}` })
      expect([status, body.error], `${levels}`).to.deep.equal([400, 'invalid_request'])
    }
    const dropped = `{"x":${nested(60_000)},"x":{"a":1e1}}`
    const { status, body } = await kit.request('POST', '/exact', { body: dropped })
    expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
    expect(body.details).to.have.nested.property('[0].code', 'max_depth')
  })

  it('are the only ones that look', async () => {
    const answer = await kit.request('POST', '/loose', { body: '{"data":{"n":9007199254740993}}' })
    expect(answer.body.received).to.equal('{"data":{"n":9007199254740992}}')
    expect(errorCodesOf(exact).has('number_not_exact')).to.equal(true)
    expect(errorCodesOf(loose).has('number_not_exact')).to.equal(false)
  })
})
