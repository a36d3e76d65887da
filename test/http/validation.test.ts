import { expect } from 'chai'
import { Type } from 'typebox'
import { createOpenApi } from '../../src/http/openapi/openapi.ts'
import { Reply, route } from '../../src/http/route.ts'
import { Nullable, OPEN } from '../../src/json/schemas.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const Thing = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 5 }),
  amount: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  kind: Type.Optional(Type.Union([Type.Literal('chip'), Type.Literal('nfc')])),
  size: Type.Optional(Type.Integer({ default: 7 })),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  label: Nullable(Type.String()),
  singleUse: Type.Optional(Type.Boolean()),
  parts: Type.Optional(
    Type.Array(Type.Object({ id: Type.String(), weight: Nullable(Type.Number()) }), { maxItems: 2 }),
  ),
  options: Type.Optional(
    Type.Object({
      rules: Type.Optional(Type.Array(Type.Object({ field: Type.String(), op: Type.String() }))),
    }),
  ),
  data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  jwk: Type.Optional(Type.Object({ kty: Type.String() }, OPEN)),
  by: Type.Optional(
    Type.Union([
      Type.Object({ token: Type.String(), audience: Type.Optional(Type.String()) }),
      Type.Object({ secret: Type.String(), salt: Type.String() }),
    ]),
  ),
})

const echoBody = route({
  name: 'echoBody',
  method: 'POST',
  path: '/v1/body',
  auth: 'none',
  tag: 'Test',
  summary: 'Echo',
  body: Thing,
  response: { 200: Type.Object({ received: Type.Unknown() }) },
  errors: [],
  handler: ({ body }) => ({ received: body }),
})

const echoQuery = route({
  name: 'echoQuery',
  method: 'GET',
  path: '/v1/query/{number}',
  auth: 'none',
  tag: 'Test',
  summary: 'Echo',
  params: Type.Object({ number: Type.Integer() }),
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    flag: Type.Optional(Type.Boolean()),
    since: Type.Optional(Type.String({ format: 'date-time' })),
    tag: Type.Optional(Type.Array(Type.String())),
  }),
  response: { 200: Type.Object({ query: Type.Unknown(), number: Type.Integer() }) },
  errors: [],
  handler: ({ query, params }) => ({ query, number: params.number }),
})

/** Answers whatever it is told to, right or wrong, which the compiler would not let through. */
const answerAnything = route({
  name: 'answerAnything',
  method: 'POST',
  path: '/v1/answer',
  auth: 'none',
  tag: 'Test',
  summary: 'Answer',
  body: Type.Object({ status: Type.Integer(), body: Type.Optional(Type.Unknown()) }),
  response: {
    200: Type.Object({ id: Type.String(), extra: Type.Optional(Type.Object({ a: Type.Number() })) }),
    202: Type.Intersect([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.Number() })]),
    204: null,
  },
  errors: [],
  handler: ({ body }) => new Reply(body.status, body.body) as never,
})

describe('validation', () => {
  let kit: HttpKit
  let lenient: HttpKit
  const routes = [echoBody, echoQuery, answerAnything]
  before(async () => {
    kit = await startHttpKit(routes)
    lenient = await startHttpKit(routes, { config: { checkResponses: false }, logLevel: 'silent' })
  })
  after(async () => {
    await kit.close()
    await lenient.close()
  })

  it('a body that breaks its schema is 422, with a pointer, a code and the limit', async () => {
    const cases = [
      [{}, '/name', 'required', 'is required'],
      [{ name: 'a' }, '/name', 'min_length', '2'],
      [{ name: 'abcdef' }, '/name', 'max_length', '5'],
      [{ name: 5 }, '/name', 'type', 'string'],
      [{ name: null }, '/name', 'type', 'string'],
      [{ name: 'abc', amount: 0 }, '/amount', 'exclusive_minimum', '0'],
      [{ name: 'abc', amount: '5' }, '/amount', 'type', 'number'],
      [{ name: 'abc', kind: 'qr' }, '/kind', 'enum', '"chip", "nfc"'],
      [{ name: 'abc', parts: [{ id: 'x' }, { weight: 1 }] }, '/parts/1/id', 'required', 'is required'],
      [{ name: 'abc', parts: [{ id: 'x' }, { id: 'y' }, { id: 'z' }] }, '/parts', 'max_items', '2'],
    ] as const
    for (const [sent, path, code, word] of cases) {
      const { status, body } = await kit.request('POST', '/v1/body', { body: sent })
      expect([status, body.error], path).to.deep.equal([422, 'validation_failed'])
      const [detail] = body.details as { path: string; code: string; message: string }[]
      expect(detail).to.include({ path, code })
      expect(detail?.message).to.include(word)
    }
  })

  const refusal = async (sent: object) => {
    const { status, body } = await kit.request('POST', '/v1/body', { body: sent })
    const details = (body.details ?? []) as { path: string; code: string; message: string }[]
    return { status, error: body.error, details, text: JSON.stringify(body) }
  }

  it('null counts as absent where the schema says so, also inside lists, and nowhere else', async () => {
    const sent = { name: 'abc', label: null, note: null, parts: [{ id: 'x', weight: null }] }
    const { status, body } = await kit.request('POST', '/v1/body', { body: sent })
    expect(status).to.equal(200)
    expect(body.received).to.deep.equal({ name: 'abc', size: 7, note: null, parts: [{ id: 'x' }] })
    for (const name of ['amount', 'kind', 'size', 'parts', 'singleUse', 'options', 'data', 'by']) {
      const { status, error, details } = await refusal({ name: 'abc', [name]: null })
      expect([status, error, details[0]?.path], name).to.deep.equal([422, 'validation_failed', `/${name}`])
    }
  })

  it('members that a schema does not name are refused, at every level, with the name that was meant', async () => {
    const cases = [
      [{ name: 'abc', zzz: { version: 2 } }, '/zzz', 'known here: `name`'],
      [{ name: 'abc', rules: [] }, '/rules', '`rules` belongs in `options`'],
      [{ name: 'abc', rule: [] }, '/rule', 'did you mean `rules` in `options`?'],
      [{ name: 'abc', single_use: true }, '/single_use', 'did you mean `singleUse`?'],
      [{ name: 'abc', amonut: 1 }, '/amonut', 'did you mean `amount`?'],
      [{ name: 'abc', options: { kind: 'nfc' } }, '/options/kind', '`kind` belongs at the top'],
      [{ name: 'abc', parts: [{ id: 'x' }, { id: 'y', weigth: 1 }] }, '/parts/1/weigth', '`weight`'],
      [
        { options: { rules: [{ field: 'a', operator: 'eq' }] } },
        '/options/rules/0/operator',
        'did you mean `op`?',
      ],
      [{ name: 'abc', by: { token: 't', audiance: 'a' } }, '/by/audiance', 'did you mean `audience`?'],
      [{ name: 'abc', by: { secret: 's', sallt: 't' } }, '/by/sallt', 'did you mean `salt`?'],
      [{ name: 'abc', 'a/b~c': 1 }, '/a~1b~0c', 'is not known'],
      [{ name: 'abc', toString: 1 }, '/toString', 'is not known'],
    ] as const
    for (const [sent, path, hint] of cases) {
      const { status, error, details } = await refusal(sent)
      expect([status, error], path).to.deep.equal([422, 'unknown_member'])
      expect(details[0], path).to.include({ path, code: 'unknown_member' })
      expect(details[0]?.message, path).to.include(hint)
    }
  })

  it('at most ten unknown members are told, their names cut, and no value of them', async () => {
    const secret = 'do-not-tell'
    const sent = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`${'n'.repeat(500)}${i}`, { secret, i }]),
    )
    const { status, details, text } = await refusal({ name: 'abc', ...sent })
    expect([status, details.length]).to.deep.equal([422, 10])
    expect(details[0]?.path).to.equal(`/${'n'.repeat(64)}`)
    expect(text).to.not.include(secret)
    expect(JSON.stringify(kit.lines)).to.not.include(secret)
  })

  it('a list that is too long is refused for that, and not looked through', async () => {
    const parts = [{ id: 'a' }, { id: 'b' }, { id: 'c', wieght: 1 }]
    const { body } = await kit.request('POST', '/v1/body', { body: { name: 'abc', parts } })
    expect(body.error).to.equal('validation_failed')
    expect((body.details as object[])[0]).to.include({ path: '/parts', code: 'max_items' })
  })

  it('what is open takes any member', async () => {
    const sent = { name: 'abc', data: { rules: [], any: { thing: null } }, jwk: { kty: 'OKP', use: 'sig' } }
    expect((await refusal(sent)).status).to.equal(200)
  })

  it('OpenAPI shows bodies as closed as they are, and answers open', () => {
    const info = {
      title: 'T',
      version: '1',
      description: '',
      license: 'MIT',
      serverUrl: '',
      exampleValues: {},
      exampleAnswers: {},
    }
    const { paths } = createOpenApi([echoBody], { ...info, tags: { Test: 'Tests.' } }) as {
      paths: Record<string, Record<string, Record<string, unknown>>>
    }
    const shown = JSON.parse(JSON.stringify(paths['/v1/body']?.post))
    const schema = shown.requestBody.content['application/json'].schema
    expect(schema.additionalProperties).to.equal(false)
    expect(schema.properties.options.properties.rules.items.additionalProperties).to.equal(false)
    expect(schema.properties.by.anyOf[0].additionalProperties).to.equal(false)
    expect(schema.properties.jwk.additionalProperties).to.equal(true)
    expect(schema.properties.label).to.deep.equal({ anyOf: [{ type: 'string' }, { type: 'null' }] })
    expect(shown.responses['200'].content['application/json'].schema.additionalProperties).to.equal(undefined)
  })

  it('query parameters are turned into what the schema asks for', async () => {
    const { body } = await kit.request('GET', '/v1/query/42?flag=true&limit=10&tag=a+b&tag=c%26&other=x')
    expect(body).to.deep.equal({
      query: { flag: true, limit: 10, tag: ['a b', 'c&'], other: 'x' },
      number: 42,
    })
    const single = await kit.request('GET', '/v1/query/1?tag=a')
    expect(single.body.query).to.deep.equal({ limit: 50, tag: ['a'] })
  })

  it('a query that is malformed or out of range is 400 invalid_query', async () => {
    for (const query of [
      'limit=1e1',
      'limit=1e400',
      'limit=Infinity',
      'limit=0x10',
      'limit=%207',
      'limit=7%0A',
      'limit=0',
      'limit=101',
      'limit=abc',
      'limit=',
      'limit=1&limit=2',
      'flag=maybe',
      'tag=%zz',
      'tag=%00',
      '%ff=1',
    ]) {
      const { status, body } = await kit.request('GET', `/v1/query/1?${query}`)
      expect([status, body.error], query).to.deep.equal([400, 'invalid_query'])
    }
    const { body } = await kit.request('GET', '/v1/query/1?limit=101')
    expect(body.details).to.have.nested.property('[0].path', 'query/limit')
    const many = Array.from({ length: 101 }, (_, i) => `a${i}=1`).join('&')
    expect((await kit.request('GET', `/v1/query/1?${many}`)).status).to.equal(400)
    expect((await kit.request('GET', '/v1/query/1?__proto__=1&constructor=2')).status).to.equal(200)
  })

  it('a time is taken only where it can be read', async () => {
    const status = async (since: string) =>
      (await kit.request('GET', `/v1/query/7?since=${encodeURIComponent(since)}`)).status
    for (const since of ['2024-02-29T00:00:00Z', '2024-01-01t23:59:59.123456z', '2024-01-01T00:00:00+05:30'])
      expect(await status(since), since).to.equal(200)
    for (const since of [
      '2016-12-31T23:59:60Z',
      '2024-01-01T00:00:00+05',
      '2024-01-01T00:00:00',
      '2023-02-29T00:00:00Z',
      '2024-01-01',
    ])
      expect(await status(since), since).to.equal(400)
  })

  it('a path parameter that can be no id is 404', async () => {
    for (const number of ['abc', '1e400', '0x10', '%207', '1e1'])
      expect((await kit.request('GET', `/v1/query/${number}`)).status, number).to.equal(404)
  })

  it('in tests, an answer that differs from its schema is 500', async () => {
    const wrong = [
      { status: 200, body: { id: 1 } },
      { status: 200, body: { id: 'a', undeclared: 1 } },
      { status: 200, body: { id: 'a', extra: { a: 1, b: 2 } } },
      { status: 200 },
      { status: 202, body: { a: 1, b: 2, c: 3 } },
      { status: 204, body: {} },
      { status: 201, body: { id: 'a' } },
    ]
    for (const body of wrong) {
      expect((await kit.request('POST', '/v1/answer', { body })).status, JSON.stringify(body)).to.equal(500)
    }
    const right = [
      [{ status: 200, body: { id: 'a', extra: { a: 1 } } }, 200],
      [{ status: 202, body: { a: 1, b: 2 } }, 202],
      [{ status: 204 }, 204],
    ] as const
    for (const [body, status] of right)
      expect((await kit.request('POST', '/v1/answer', { body })).status).to.equal(status)
  })

  it('in production, answers are sent as they are', async () => {
    const { status, body } = await lenient.request('POST', '/v1/answer', {
      body: { status: 200, body: { id: 1 } },
    })
    expect([status, body]).to.deep.equal([200, { id: 1 }])
  })
})
