import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Route } from '../../src/http/route.ts'
import { describeApi } from '../../src/server/api-description.ts'
import { routes } from '../../src/server/routes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createFixtures, fill } from '../support/fixtures.ts'
import { rejection } from '../support/rejection.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { type ClientModule, inputOf, loadClient, type Method, REFUSED } from '../support/typed-client.ts'

const REDOCLY = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))

describe('OpenAPI description', () => {
  it('lints clean under the recommended rules', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'assay-openapi-'))
    try {
      const file = join(directory, 'openapi.json')
      await writeFile(file, JSON.stringify(describeApi(routes, 'https://assay.example.org')))
      const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
      const lint = promisify(execFile)(
        process.execPath,
        [REDOCLY, 'lint', '--extends', 'recommended', '--format', 'json', file],
        { env, cwd: directory },
      )
      const { stdout } = await lint.catch((error: { stdout: string }) => error)
      expect(JSON.parse(stdout).problems).to.deep.equal([])
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('names every operation once, and every route is in it', () => {
    const { paths } = describeApi(routes, 'https://assay.example.org') as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    const described = Object.values(paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    )
    expect(described).to.have.members(routes.map(({ name }) => name))
  })

  it('says of each answer without a code of its own what its status means', () => {
    const { paths } = describeApi(routes, 'https://assay.example.org') as {
      paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>
    }
    const said = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ responses }) =>
        Object.entries(responses).map(([status, { description }]) => ({ path, status, description })),
      ),
    )
    const of = (words: string) => said.filter(({ description }) => description === words)
    const unmodified = said.filter(({ status }) => status === '304')
    expect(of('Not modified, without a body.')).to.deep.equal(unmodified).and.not.to.be.empty
    const refused = of('Refused; see the body.').map(({ path, status }) => `${path} ${status}`)
    expect(refused).to.include.members(['/mcp 403', '/mcp 404'])
    expect(said.filter(({ description }) => /not healthy/i.test(description))).to.deep.equal([])
  })

  it('says of Idempotency-Key where it counts only with a credential', () => {
    const { paths } = describeApi(routes, 'https://assay.example.org') as {
      paths: Record<string, Record<string, { parameters?: { name: string; description: string }[] }>>
    }
    const said = routes.flatMap(({ path, method, auth }) => {
      const { parameters = [] } = paths[path]?.[method.toLowerCase()] ?? {}
      const found = parameters.find(({ name }) => name === 'Idempotency-Key')
      return found ? [{ path, auth, isOnlyWith: /Only with a credential/.test(found.description) }] : []
    })
    const onlyWith = said.filter(({ isOnlyWith }) => isOnlyWith)
    expect(onlyWith).to.deep.equal(said.filter(({ auth }) => auth === 'optional')).and.not.to.be.empty
  })

  it('refuses two operations of one name, tags without a description, and one schema name for two things', () => {
    const route = routes.find(({ path }) => path === '/v1/health')
    if (route === undefined) throw new Error('no /v1/health')
    expect(() => describeApi([route, route], '')).to.throw('two routes are called')
    expect(() => describeApi([{ ...route, tag: 'Unheard' }], '')).to.throw('tag Unheard')
    const response = { 200: { type: 'string', title: 'Error' } }
    expect(() => describeApi([{ ...route, response }], '')).to.throw('two different schemas are called')
  })

  it('every route that needs a body has an example of it', () => {
    const missing = routes.filter(({ body, example }) => body !== undefined && example?.body === undefined)
    expect(missing.map(({ name }) => name)).to.deep.equal([])
  })

  describe('every example', () => {
    let dns: DnsServer
    let app: TestApp
    let client: ClientModule
    before(async () => {
      client = await loadClient()
      dns = await startDnsServer()
      // One of its own: the chat refuses a text that another file's tests posted before.
      app = await startTestApp({ env: { DNS_SERVERS: dns.address } })
    })
    after(async () => {
      await app.close()
      await dns.close()
    })

    for (const route of routes) {
      it(`of ${route.name} works, with the typed client`, async () => {
        const { key, headers, values } = await createFixtures(app, route)
        const call = client.createClient({ baseUrl: app.url, key })[route.name] as Method
        const refused = REFUSED[route.name]
        if (route.name === 'streamMessages') {
          const events = call() as unknown as AsyncGenerator<{ readonly event: string }>
          expect((await events.next()).value.event).to.equal('state')
          await events.return(undefined)
        } else if (refused === undefined) await call(inputOf(route, values), { headers, retries: 0 })
        else {
          const error = await rejection(call(inputOf(route, values), { headers, retries: 0 }))
          expect(error).to.include({ status: refused })
        }
      })
    }

    it('of askHermesByQuery works', async () => {
      const route = routes.find(({ name }) => name === 'askHermesByQuery') as Route
      const { values } = await createFixtures(app, route)
      expect((await app.request('GET', fill(route, values).url)).status).to.equal(200)
    })
  })
})
