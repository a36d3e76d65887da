/** What holds for every route there is, and for every one to come. */
import { expect } from 'chai'
import { JsonRpcFailure } from '../../src/domain/mcp/schemas.ts'
import { ERRORS, type ErrorCode } from '../../src/errors.ts'
import { isRootFamily, takesIdempotencyKey } from '../../src/http/errors.ts'
import { asJsonSchema } from '../../src/http/input/schema.ts'
import { bodyCheck, textCheck } from '../../src/http/input/validation.ts'
import { ErrorSchema, RootErrorSchema } from '../../src/http/openapi/components.ts'
import type { Route } from '../../src/http/route.ts'
import { routes } from '../../src/server/routes.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import type { TestResponse } from '../support/client.ts'
import { createFixtures, type Fixtures, fill } from '../support/fixtures.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const UNKNOWN_ID = 'xyz_00000000000000000000000000'

/** Where a stranger or an unknown name is told something else than 404: pods are public, and domains are not ours. */
const STRANGER_STATUS: Readonly<Record<string, number>> = { getPodStats: 403 }
const UNKNOWN_STATUS: Readonly<Record<string, number>> = { getDomainStatus: 422 }
/** Ask about what need not exist yet. */
const NEEDS_NOTHING: ReadonlySet<string> = new Set(['tryPolicy'])
/** What no answer may be kept with; a repeated request gets one of the same meaning. */
const NOT_KEPT: Readonly<Record<string, object>> = { issuePersonCredential: { credential: null } }

/** Answers faults of its protocol as the protocol has it. */
const JSON_RPC_PATH = '/mcp'

const checkError = bodyCheck(ErrorSchema)
const checkJsonRpcError = bodyCheck(JsonRpcFailure)
const checkRootError = bodyCheck(RootErrorSchema)

/** The answer is an error with this status, told as every error is. */
const expectError = (answer: TestResponse<unknown>, path: string, status?: number) => {
  const said = `${answer.status} ${JSON.stringify(answer.body)}`
  if (path === JSON_RPC_PATH && Object.hasOwn(answer.body as object, 'jsonrpc')) {
    if (status !== undefined) expect(answer.status, said).to.equal(status)
    expect(checkJsonRpcError(answer.body), said).to.equal(undefined)
    return
  }
  const { error, request_id, retry_after } = answer.body as {
    error: ErrorCode
    request_id: string
    retry_after?: number
  }
  if (status !== undefined) expect(answer.status, said).to.equal(status)
  expect((isRootFamily(path) ? checkRootError : checkError)(answer.body), said).to.equal(undefined)
  expect(ERRORS, said).to.have.property(error)
  expect(ERRORS[error][0], said).to.equal(answer.status)
  expect(answer.headers.get('x-request-id')).to.equal(request_id)
  if (retry_after !== undefined) expect(answer.headers.get('retry-after')).to.equal(String(retry_after))
  if (answer.status === 401) expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/)
}

const unknownUrl = ({ path }: Route): string => path.replaceAll(/\{\w+\}/g, UNKNOWN_ID)
const needsCredential = ({ auth }: Route): boolean => !['none', 'metrics', 'optional'].includes(auth)
/** Whether anyone may see it, so that nobody's is somebody else's. */
const isPublic = ({ auth, method }: Route): boolean =>
  auth === 'none' || (auth === 'optional' && method !== 'DELETE')

describe('every route', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  const callWith = ({ key, headers }: Fixtures, method: string, url: string, body?: unknown) =>
    app.request(method, url, { key, headers, body })

  for (const route of routes) {
    const { method, path, name } = route

    describe(`${method} ${path}`, () => {
      it('compiles its schemas', () => {
        for (const schema of [route.body, ...Object.values(route.response)]) {
          if (schema) bodyCheck(schema)({})
        }
        if (route.query) textCheck(route.query, 'query')({})
        if (route.params) textCheck(route.params, 'params')({})
      })

      it('says what its parameters are', () => {
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
        expect(
          Object.keys(route.params ? (asJsonSchema(route.params).properties ?? {}) : {}),
        ).to.have.members(inPath)
      })

      it('answers another method with 405 and Allow', async () => {
        const taken = routes.filter((other) => other.path === path).map((other) => other.method)
        const other = METHODS.find((candidate) => !taken.includes(candidate))
        if (other === undefined) return
        const answer = await app.request(other, unknownUrl(route))
        expectError(answer, path, 405)
        expect(answer.headers.get('allow')?.split(', ')).to.include.members(taken)
      })

      if (needsCredential(route)) {
        it('is closed without a credential, and with an unknown one', async () => {
          expectError(await app.request(method, unknownUrl(route)), path, 401)
          expectError(await app.request(method, unknownUrl(route), { key: 'ak_live_unknown' }), path, 401)
          expectError(await app.request(method, unknownUrl(route), { key: 'a', bearer: 'b' }), path, 400)
        })
      }

      if (path.includes('{') && !NEEDS_NOTHING.has(name)) {
        it('answers 404 for what does not exist or belongs to someone else', async () => {
          const mine = await createFixtures(app, route)
          const { body } = fill(route, mine.values)
          const unknown = await callWith(mine, method, unknownUrl(route), body)
          expectError(unknown, path, UNKNOWN_STATUS[name] ?? 404)
          if (route.scope === 'admin' || isPublic(route)) return
          const theirs = await createFixtures(app, route)
          const { url } = fill(route, theirs.values)
          expectError(await callWith(mine, method, url, body), path, STRANGER_STATUS[name] ?? 404)
        })
      }

      if (takesIdempotencyKey(route)) {
        it('answers a repeated request under one Idempotency-Key as it answered the first', async () => {
          const { values, headers, ...caller } = await createFixtures(app, route)
          const { url, body } = fill(route, values)
          const send = () =>
            app.request<unknown>(method, url, {
              ...caller,
              body,
              headers: { ...headers, 'idempotency-key': 'retry-1' },
            })
          const first = await send()
          const second = await send()
          // What is read, and not committed, is read anew.
          if (second.headers.get('idempotency-replayed') === null) return
          const told = (answer: TestResponse<unknown>) => [
            answer.status,
            { ...(answer.body as object), ...NOT_KEPT[name] },
          ]
          expect(told(second)).to.deep.equal(told(first))
        })
      }

      if (route.body) {
        it('refuses what is not JSON, not an object, or not declared as JSON', async () => {
          const fixtures = await createFixtures(app, route)
          const { url } = fill(route, fixtures.values)
          expectError(await callWith(fixtures, method, url, '{"'), path, 400)
          expectError(await callWith(fixtures, method, url, '[]'), path, 400)
          expectError(await callWith(fixtures, method, url, '{"__proto__":{}}'), path, 400)
          const headers = { ...fixtures.headers, 'content-type': 'text/plain' }
          const status = route.badRequest ? 400 : 415
          expectError(await callWith({ ...fixtures, headers }, method, url, '{}'), path, status)
        })
      }
    })
  }

  it('answers unknown paths with 404, in every family', async () => {
    for (const path of [
      '/nothing',
      '/verify/nothing/at/all',
      '/v1/nothing',
      '/api/nothing',
      '/console/api/nothing',
      '/ext/v1/nothing',
    ]) {
      expectError(await app.request('POST', path, { body: {} }), path, 404)
    }
  })
})
