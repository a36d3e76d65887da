/**
 * Every operation under requests that are right, nearly right and wrong, made from the OpenAPI document: whatever comes
 * back is declared there. `npm run test:fuzz` sends 25,000; FUZZ_SEED repeats a run, FUZZ_REQUESTS says how many requests,
 * FUZZ_OPERATIONS names the only operations, separated by commas.
 */
import { randomInt } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import fc from 'fast-check'
import { Client } from 'undici'
import { createLogger } from '../../src/http/log.ts'
import type { Route } from '../../src/http/route.ts'
import { describeApi } from '../../src/server/api-description.ts'
import { routes } from '../../src/server/routes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createPod } from '../support/domain/pods.ts'
import { terminalTill } from '../support/domain/tills.ts'
import { createFixtures, type Fixtures, fill } from '../support/fixtures.ts'
import { heldMemory } from '../support/fuzz/held-memory.ts'
import { type Document, type FuzzRequest, type Operation, requestsOf } from '../support/fuzzing.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { watchStretches } from '../support/servers/stretches.ts'
import { createThreadClock } from '../support/servers/thread-time.ts'

const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 400)
const ONLY = process.env.FUZZ_OPERATIONS?.split(',')
/** After so many requests an operation gets new things to work on: others have been used up, revoked, deleted. */
const REQUESTS_PER_FIXTURES = 40
const CONNECTIONS = 4
const OPENING_ATTEMPTS = 5
const ANSWER_TIMEOUT_MS = 60_000
const TOLD_FAILURES = 25
const SHOWN_CHARACTERS = 600
/** Processor time of the server's thread, which is also that of the test: what the test does in it does not count. */
const MAX_STALL_MS = 100
const MAX_GROWTH_MB = 48
/** Of so many requests stalls and memory are judged, once a tenth of them were sent: before, programs are compiled and stores filled. */
const MIN_MEASURED = 20_000

/** Overload is an answer; a fault of the service is none, although every operation declares that it may happen. */
const FAULTS: readonly unknown[] = ['internal', 'unavailable']

interface Answer {
  readonly status: number
  readonly type: string | undefined
  readonly text: string
}

interface Target {
  readonly route: Route
  readonly operation: Operation
}

const document = JSON.parse(JSON.stringify(describeApi(routes, 'https://assay.example.org'))) as Document
const targets: readonly Target[] = routes
  .filter(({ name }) => ONLY === undefined || ONLY.includes(name))
  .map((route) => {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()]
    if (operation === undefined) throw new Error(`${route.name} is not in the document`)
    return { route, operation }
  })

/** Answers may be compressed where a request says so, which this client leaves as it is. */
const CODINGS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}
const unknownCoding = (): never => {
  throw new Error('an unknown content coding')
}

const createOracle = () => {
  const ajv = new Ajv2020({ strict: false, logger: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'https://assay.example.org/openapi.json', ...document })
  const validators = new Map<string, ValidateFunction>()
  const validatorAt = (pointer: string): ValidateFunction => {
    const validate =
      validators.get(pointer) ?? ajv.compile({ $ref: `https://assay.example.org/openapi.json#${pointer}` })
    validators.set(pointer, validate)
    return validate
  }

  /** @returns what the document does not say of the answer, if anything */
  return ({ route, operation }: Target, { status, type, text }: Answer): string | undefined => {
    const declared = operation.responses[status]
    if (declared === undefined) return `undeclared status ${status}`
    if (declared.content === undefined) return text === '' ? undefined : `a body with ${status}`
    const mediaType = type?.split(';')[0]?.trim() ?? ''
    if (!(mediaType in declared.content)) return `undeclared content type ${mediaType} with ${status}`
    if (mediaType !== 'application/json') return undefined
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return `a body with ${status} that is no JSON`
    }
    const { error } = (typeof body === 'object' ? body : {}) as { error?: unknown }
    if (status >= 500 && FAULTS.includes(error)) return `${status} ${error}`
    const steps = [
      route.path,
      route.method.toLowerCase(),
      'responses',
      status,
      'content',
      mediaType,
      'schema',
    ]
    const pointer = steps.map((step) =>
      encodeURIComponent(String(step).replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const validate = validatorAt(`/paths/${pointer.join('/')}`)
    if (validate(body)) return undefined
    const [first] = validate.errors ?? []
    return `a body with ${status} ${error ?? ''} that does not fit: ${first?.instancePath} ${first?.message}`
  }
}

/** Watches the thread, apart from what the test itself does in it. */
const watchServer = () => {
  const clock = createThreadClock()
  let ownMs = 0
  return {
    takeStretch: watchStretches(() => ownMs),
    /** Does something that is not the server's. */
    own<T>(work: () => T): T {
      const began = clock()
      try {
        return work()
      } finally {
        ownMs += clock() - began
      }
    },
  }
}

describe('operations under fuzzing', () => {
  let app: TestApp
  let dns: DnsServer
  const faults: unknown[] = []

  before(async () => {
    // It knows no name, so no host but this machine is ever called.
    dns = await startDnsServer()
    const log = { write: (line: string) => void faults.push(JSON.parse(line)) }
    app = await startTestApp({
      env: { DNS_SERVERS: dns.address },
      logger: createLogger('error', log),
      checkResponses: false,
    })
  })
  after(async () => {
    await app.close()
    await dns.close()
  })

  /** Credentials of another organisation and of other kinds. */
  const othersCredentials = async (): Promise<Record<string, string>[]> => {
    const other = await app.organisation()
    const till = await terminalTill(app, other)
    const pod = await createPod(app, other.apiKey)
    const narrow = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: other.apiKey,
      body: { label: 'narrow', scopes: ['audit'] },
    })
    return [
      {},
      { 'x-api-key': 'ak_live_unknown' },
      { 'x-api-key': other.apiKey },
      { 'x-api-key': app.adminKey },
      { 'x-api-key': narrow.body.apiKey },
      { authorization: `Bearer ${till.bearer}` },
      { 'x-pod-key': pod.podKey },
      { authorization: `Bearer ${other.apiKey}`, 'x-api-key': 'another' },
      { authorization: 'Basic dXNlcjpwYXNz' },
      { cookie: 'assay_session=unknown' },
    ]
  }

  const send = async (
    client: Client,
    { route }: Target,
    { target, headers, body }: FuzzRequest,
  ): Promise<Answer> => {
    const response = await client.request({ method: route.method, path: target, headers, body })
    const type = [response.headers['content-type']].flat()[0]
    if (type?.startsWith('text/event-stream')) {
      // A stream never ends: that it began is the answer.
      response.body.on('error', () => undefined).destroy()
      return { status: response.statusCode, type, text: '' }
    }
    const bytes = Buffer.from(await response.body.arrayBuffer())
    const coding = String(response.headers['content-encoding'] ?? 'identity')
    return { status: response.statusCode, type, text: (CODINGS[coding] ?? unknownCoding)(bytes).toString() }
  }

  it(`answer only what the document declares: ${REQUESTS} requests, FUZZ_SEED=${SEED}`, async function () {
    this.timeout(0)
    const judge = createOracle()
    const { own, takeStretch } = watchServer()
    let earlyHeap: number | undefined
    const others = await othersCredentials()
    const failures = new Map<string, string>()
    const statuses = new Map<number, number>()
    const made = new Map<string, { readonly requests: fc.Arbitrary<FuzzRequest>; uses: number }>()

    /** Other requests close the chat, through which some things are made, at any moment: it is opened until that works. */
    const fixturesOf = async (route: Route, attempts = OPENING_ATTEMPTS): Promise<Fixtures> => {
      await app.request('PUT', '/console/api/posting', { key: app.adminKey, body: { mode: 'open' } })
      return createFixtures(app, route).catch((error: unknown) => {
        if (attempts <= 1) throw error
        return fixturesOf(route, attempts - 1)
      })
    }

    const makerOf = async ({ route, operation }: Target): Promise<fc.Arbitrary<FuzzRequest>> => {
      const ready = made.get(route.name)
      if (ready && ready.uses < REQUESTS_PER_FIXTURES) {
        ready.uses++
        return ready.requests
      }
      const { key, headers, values } = await fixturesOf(route)
      const credential = { ...headers, ...(key !== undefined && { 'x-api-key': key }) }
      const usual = { ...fill(route, values), credential }
      const requests = own(() => requestsOf(document, route.path, operation, usual, others))
      made.set(route.name, { requests, uses: 1 })
      return requests
    }

    let next = 0
    const work = async (): Promise<void> => {
      const client = new Client(app.url, {
        headersTimeout: ANSWER_TIMEOUT_MS,
        bodyTimeout: ANSWER_TIMEOUT_MS,
      })
      while (next < REQUESTS) {
        const number = next++
        if (number === Math.floor(REQUESTS / 10) && REQUESTS >= MIN_MEASURED) {
          earlyHeap = (await heldMemory()).heap
          takeStretch()
        }
        const target = targets[number % targets.length] as Target
        const maker = await makerOf(target)
        const [request] = own(() => fc.sample(maker, { seed: SEED + number, numRuns: 1 })) as [FuzzRequest]
        const answer = await send(client, target, request).catch((error: Error) => ({
          status: 0,
          type: error.message,
          text: '',
        }))
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        const found = answer.status === 0 ? `no answer: ${answer.type}` : own(() => judge(target, answer))
        const title = `${target.route.name}: ${found}`
        if (found === undefined || failures.has(title)) continue
        const shown = [
          `${target.route.method} ${request.target}`,
          JSON.stringify(request.headers),
          typeof request.body === 'string'
            ? request.body
            : Buffer.from(request.body ?? '').toString('latin1'),
          answer.text,
        ]
        failures.set(
          title,
          `request ${number}: ${shown.map((text) => text?.slice(0, SHOWN_CHARACTERS)).join('\n    ')}`,
        )
      }
      await client.destroy()
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, work))

    const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
    const stall = takeStretch().processorMs
    const growth = earlyHeap === undefined ? 0 : ((await heldMemory()).heap - earlyHeap) / 1e6
    console.log(
      `    ${REQUESTS} requests to ${targets.length} operations: ${counted.join(', ')}; longest stretch ${stall.toFixed(1)} ms, ${growth.toFixed(1)} MB stayed`,
    )
    const told = [...failures].slice(0, TOLD_FAILURES).map(([title, text]) => `${title}\n    ${text}`)
    expect(
      failures.size,
      `${failures.size} kinds of failures with FUZZ_SEED=${SEED}\n${told.join('\n')}\n${JSON.stringify(faults.slice(0, 10), undefined, 1)}`,
    ).to.equal(0)
    const alive = await app.request('GET', '/health/ready')
    expect(alive.status).to.equal(200)
    if (earlyHeap !== undefined) expect(stall).to.be.below(MAX_STALL_MS)
    expect(growth).to.be.below(MAX_GROWTH_MB)
  })
})
