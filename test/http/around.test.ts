import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import { AppError, ERRORS, type ErrorCode } from '../../src/errors.ts'
import { createLogger } from '../../src/http/log.ts'
import { route } from '../../src/http/route.ts'
import { ConnectionLost, isUnavailable, isWriteRefused } from '../../src/store/session.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const get = (path: `/${string}`, handler: () => object, cost?: number) =>
  route({
    name: path,
    method: 'GET',
    path,
    auth: 'none',
    cost,
    tag: 'Test',
    summary: path,
    response: { 200: Type.Object({}) },
    errors: ['conflict', 'double_spend', 'rate_limited'],
    handler,
  })

const throwing = (error: unknown) => () => {
  throw error
}

describe('around every request', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit(
      [
        get('/v1/fine', () => ({})),
        get('/v1/broken', throwing(new Error('secret connection string'))),
        get('/v1/thrown-text', throwing('just text')),
        get('/v1/away', throwing(new Error('database is away at 10.0.0.7'))),
        get('/v1/undeclared', throwing(new AppError('email_taken'))),
        get(
          '/v1/conflict',
          throwing(
            new AppError('double_spend', {
              reason: 'DOUBLE_SPEND',
              retryAfter: 3,
              details: [{ path: '/digest', code: 'used', message: 'was used' }],
              extras: { digest: 'ab', error: 'overwritten', request_id: 'forged' },
            }),
          ),
        ),
        get('/health', () => ({}), 0),
        get('/v1/closed/{id}', () => ({})),
        get('/v1/people/{id}', () => ({})),
        route({
          name: 'merchant',
          method: 'POST',
          path: '/api/merchant/thing',
          auth: 'merchant',
          tag: 'Test',
          summary: 'x',
          body: Type.Object({ cardToken: Type.Optional(Type.String()) }),
          response: { 200: Type.Object({}) },
          errors: [],
          handler: () => ({}),
        }),
      ],
      { isUnavailable: (error) => error instanceof Error && error.message.includes('is away') },
    )
  })
  after(() => kit.close())

  const linesOf = (requestId: string) => kit.lines.filter((line) => line.requestId === requestId)

  it('a sent X-Request-Id is kept, an unfit or missing one replaced', async () => {
    for (const sent of ['trace-1/2', 'any text', 'a'.repeat(255)]) {
      const kept = await kit.request('GET', '/v1/fine', { headers: { 'x-request-id': sent } })
      expect(kept.headers.get('x-request-id')).to.equal(sent)
    }
    for (const sent of ['a'.repeat(256), 'é', undefined]) {
      const { headers } = await kit.request('GET', '/v1/fine', {
        headers: sent === undefined ? {} : { 'x-request-id': sent },
      })
      expect(headers.get('x-request-id')).to.match(/^req_[0-9a-z]{26}$/)
    }
  })

  it('an error carries its code, words, extras and the request id; extras replace nothing', async () => {
    const { status, body, headers } = await kit.request('GET', '/v1/conflict')
    expect(status).to.equal(409)
    expect(headers.get('retry-after')).to.equal('3')
    expect(body).to.deep.equal({
      digest: 'ab',
      error: 'double_spend',
      message: 'This digest was consumed before.',
      retry_after: 3,
      reason: 'DOUBLE_SPEND',
      details: [{ path: '/digest', code: 'used', message: 'was used' }],
      request_id: headers.get('x-request-id'),
    })
  })

  it('an unforeseen error is 500, tells the caller nothing and the log everything', async () => {
    const { status, body, bytes, headers } = await kit.request('GET', '/v1/broken')
    expect([status, body.error]).to.deep.equal([500, 'internal'])
    expect(bytes.toString()).not.to.include('secret')
    const logged = linesOf(String(headers.get('x-request-id'))).find((line) => line.level === 'error')
    expect(logged).to.have.nested.property('err.message', 'secret connection string')
    expect(logged).to.have.nested.property('err.stack')
    expect((await kit.request('GET', '/v1/thrown-text')).body.error).to.equal('internal')
  })

  it('an error because the database is away is 503 with a pause, and the log says why', async () => {
    const { status, body, bytes, headers } = await kit.request('GET', '/v1/away')
    expect([status, body.error, body.retry_after]).to.deep.equal([503, 'unavailable', 1])
    expect(headers.get('retry-after')).to.equal('1')
    expect(bytes.toString()).not.to.include('10.0.0.7')
    const logged = linesOf(String(headers.get('x-request-id'))).find((line) => line.level === 'error')
    expect(JSON.stringify(logged)).to.include('10.0.0.7')
  })

  it('in tests, an error that a route does not declare is 500', async () => {
    expect((await kit.request('GET', '/v1/undeclared')).status).to.equal(500)
  })

  it('a request whose rest came too late is 408 in the log as well', async () => {
    const { server, url } = kit
    const { headersTimeout, requestTimeout } = server
    Object.assign(server, { headersTimeout: 100, requestTimeout: 100 })
    try {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write(
        'POST /api/merchant/thing HTTP/1.1\r\nHost: x\r\nX-API-Key: k-slow\r\nX-Request-Id: slow-1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"car',
      )
      const [answer] = await once(socket, 'data')
      expect(String(answer)).to.match(/^HTTP\/1\.1 408 /)
      await eventually('its line', () => linesOf('slow-1').length > 0)
      expect(linesOf('slow-1').map(({ route, status }) => [route, status])).to.deep.equal([
        ['/api/merchant/thing', 408],
      ])
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout })
    }
  })

  it('every request is one line, without headers, query or body; probes only at debug', async () => {
    const sent = await kit.request('POST', '/api/merchant/thing', {
      key: 'k-sekret',
      body: { cardToken: 'tok_sekret' },
    })
    const [line, ...more] = linesOf(String(sent.headers.get('x-request-id')))
    expect(more).to.deep.equal([])
    expect(line).to.include({
      level: 'info',
      msg: 'request',
      method: 'POST',
      path: '/api/merchant/thing',
      route: '/api/merchant/thing',
      status: 200,
      organisation: 'org_sekret',
    })
    expect(JSON.stringify(line).replace('org_sekret', '')).not.to.include('sekret')
    const asked = await kit.request('GET', '/nothing?token=sekret')
    const about = linesOf(String(asked.headers.get('x-request-id')))
    expect(about).to.have.length(1)
    expect(JSON.stringify(about)).not.to.include('sekret')
    const probe = await kit.request('GET', '/health')
    expect(linesOf(String(probe.headers.get('x-request-id')))).to.deep.equal([])
  })

  it('no line holds an id that stands in a path, of a person least of all', async () => {
    const id = 'ada.lovelace@example.com'
    const expected: [sent: string, path: string][] = [
      [`/v1/people/${id}`, '/v1/people/{id}'],
      [`/v1/peple/${id}`, '/v1/*/*'],
      [`/v1/people/${id}/more`, '/v1/people/*/*'],
      [`/${id}`, '/*'],
      [`/%ff${id}`, '/*'],
    ]
    for (const [sent, path] of expected) {
      const { headers } = await kit.request('GET', sent)
      const lines = linesOf(String(headers.get('x-request-id')))
      expect(lines.map((line) => line.path)).to.deep.equal([path])
      expect(JSON.stringify(lines)).not.to.include('lovelace')
    }
  })

  it('only what an operator must look at is an error in the log', async () => {
    const levels: Partial<Record<ErrorCode, string>> = {
      internal: 'error',
      unavailable: 'error',
      log_inconsistent: 'error',
      lists_unavailable: 'error',
      prover_overloaded: 'warn',
      proof_service_unavailable: 'warn',
    }
    const codes = Object.keys(ERRORS) as ErrorCode[]
    const refusing = await startHttpKit(
      codes.map((code) => ({ ...get(`/v1/${code}`, throwing(new AppError(code))), errors: [code] })),
    )
    try {
      for (const code of codes) {
        const { headers } = await refusing.request('GET', `/v1/${code}`)
        const own = refusing.lines.filter((line) => line.requestId === headers.get('x-request-id'))
        const worst = ['error', 'warn'].find((level) => own.some((line) => line.level === level))
        expect(worst, code).to.equal(levels[code])
      }
    } finally {
      await refusing.close()
    }
  })

  it('metrics know routes by their templates and never by what callers made up', async () => {
    await kit.request('GET', '/v1/closed/abc123')
    await kit.request('GET', '/v1/made-up-path')
    await kit.request('PURGE', '/v1/fine')
    const text = await kit.metrics.text()
    expect(text).to.match(
      /http_request_duration_seconds_count\{method="GET",route="\/v1\/closed\/\{id\}",status="200"\} 1/,
    )
    expect(text).to.match(/route="unmatched",status="404"/)
    expect(text).to.match(/method="OTHER"/)
    expect(text).not.to.match(/abc123|made-up|PURGE/)
  })

  it('answers are not to be sniffed, framed or cached', async () => {
    for (const path of ['/v1/fine', '/v1/nothing']) {
      const { headers } = await kit.request('GET', path)
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
      expect(headers.get('content-security-policy')).to.include("default-src 'none'")
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('x-powered-by')).to.equal(null)
      expect(headers.get('strict-transport-security')).to.equal(null)
    }
  })

  it('HTTPS services say that they want to stay so, and of hosts below their own alone', async () => {
    const secure = await startHttpKit([get('/v1/fine', () => ({}))], {
      config: { baseUrl: 'https://assay.test' },
    })
    try {
      const said = async (host: string) =>
        (await secure.request('GET', '/v1/fine', { headers: { host } })).headers.get(
          'strict-transport-security',
        )
      expect(await said('assay.test')).to.match(/^max-age=\d+; includeSubDomains$/)
      expect(await said('shop.example'), 'of somebody else').to.match(/^max-age=\d+$/)
    } finally {
      await secure.close()
    }
  })

  it('pages of any origin may call the merchant routes and probe, without cookies', async () => {
    const headers = { origin: 'https://shop.example' }
    for (const [method, path] of [
      ['GET', '/health'],
      ['POST', '/api/merchant/thing'],
    ] as const) {
      const answer = await kit.request(method, path, { headers })
      expect(answer.headers.get('access-control-allow-origin'), path).to.equal('*')
      expect(answer.headers.get('access-control-allow-credentials')).to.equal(null)
      const exposed = answer.headers.get('access-control-expose-headers')?.split(',')
      expect(exposed).to.include.members(['Retry-After', 'Date'])
    }
    const preflight = await kit.request('OPTIONS', '/api/merchant/thing', {
      headers: {
        ...headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.status).to.equal(204)
    const allowed = preflight.headers.get('access-control-allow-headers')?.split(',')
    expect(allowed).to.include.members(['Authorization', 'Last-Event-ID'])
  })

  it('pages of any origin may read the chat, and post only where a credential or a proof is needed', async () => {
    const preflight = async (path: string) => {
      const { headers } = await kit.request('OPTIONS', path, {
        headers: {
          origin: 'https://shop.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })
      return headers.get('access-control-allow-methods')
    }
    for (const path of [
      '/api/messages',
      '/api/messages/7/remove',
      '/api/stream',
      '/challenge/chl_1',
      '/health',
    ])
      expect(await preflight(path), path).to.equal('GET,HEAD')
    for (const path of ['/api/merchant/thing', '/api/circuits/thing', '/v1/proofs/challenge/chl_1/answer'])
      expect(await preflight(path), path).to.equal('GET,HEAD,POST')
  })

  it('all other paths stay same-origin', async () => {
    const { headers } = await kit.request('GET', '/v1/fine', { headers: { origin: 'https://shop.example' } })
    expect(headers.get('access-control-allow-origin')).to.equal(null)
  })
})

describe('while nothing can be written', () => {
  const databaseError = (code: string) => Object.assign(new Error('no'), { severity: 'ERROR', code })
  let failure: unknown
  let kit: HttpKit
  before(async () => {
    const spec = { auth: 'none', tag: 'Test', summary: 'x', response: { 200: Type.Object({}) } } as const
    const errors = ['prover_overloaded'] as const
    kit = await startHttpKit(
      [
        route({
          ...spec,
          name: 'read',
          method: 'GET',
          path: '/v1/read',
          errors,
          handler: () => throwing(failure)(),
        }),
        route({ ...spec, name: 'write', method: 'POST', path: '/v1/write', errors, handler: () => ({}) }),
      ],
      { isUnavailable, writes: { refusal: () => 'disk_full', isRefused: isWriteRefused } },
    )
  })
  after(() => kit.close())

  it('what reads says so only where it turned out to write', async () => {
    const cases: [error: unknown, code: ErrorCode, reason: string | undefined][] = [
      [databaseError('25006'), 'unavailable', 'DISK_FULL'],
      [databaseError('53100'), 'unavailable', 'DISK_FULL'],
      [new AppError('unavailable', { cause: databaseError('25006') }), 'unavailable', 'DISK_FULL'],
      [new ConnectionLost(new Error('ECONNRESET')), 'unavailable', undefined],
      [databaseError('57014'), 'unavailable', undefined],
      [new AppError('unavailable', { retryAfter: 1 }), 'unavailable', undefined],
      [new AppError('unavailable', { cause: databaseError('40001') }), 'unavailable', undefined],
      [new AppError('prover_overloaded'), 'prover_overloaded', undefined],
      [new Error('of ours'), 'internal', undefined],
    ]
    for (const [error, code, reason] of cases) {
      failure = error
      const { body } = await kit.request('GET', '/v1/read')
      expect([body.error, body.reason], String(error)).to.deep.equal([code, reason])
    }
  })

  it('what writes is not begun', async () => {
    const { status, body } = await kit.request('POST', '/v1/write')
    expect([status, body.reason, body.retry_after]).to.deep.equal([503, 'DISK_FULL', 10])
  })
})

describe('log', () => {
  it('fields named like secrets are redacted at any depth, and the logged object is left as it was', () => {
    const lines: string[] = []
    const logger = createLogger('info', { write: (line) => lines.push(line) })
    const headers = { authorization: 'Bearer hush', 'X-API-Key': 'hush', cookie: 'hush', accept: 'fine' }
    const payment = { card_token: 'hush', list: [{ terminalSecret: 'hush' }, 'fine'] }
    logger.info({ req: { headers }, payment, password: 'hush' }, 'words')
    expect(lines.join()).not.to.include('hush')
    expect(lines.join()).to.include('fine')
    expect(headers.authorization).to.equal('Bearer hush')
    expect(payment.list).to.deep.equal([{ terminalSecret: 'hush' }, 'fine'])
  })

  it('errors are logged without what a database quotes of its rows', () => {
    const lines: string[] = []
    const error = Object.assign(new Error('duplicate key'), {
      detail: 'Key (user)=(lovelace) exists.',
      code: '23505',
    })
    createLogger('info', { write: (line) => lines.push(line) }).error({ err: error }, 'failed')
    expect(JSON.parse(lines[0] ?? '').err).to.include({ message: 'duplicate key', code: '23505' })
    expect(lines[0]).not.to.include('lovelace')
  })

  it('lines below the level are not written', () => {
    const lines: string[] = []
    createLogger('warn', { write: (line) => lines.push(line) }).info('quiet')
    expect(lines).to.deep.equal([])
  })
})
