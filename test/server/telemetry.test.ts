/** Traces and metrics, as a collector of OpenTelemetry receives them over HTTP. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createLogger } from '../../src/http/log.ts'
import { toOtlpMetrics } from '../../src/server/otlp-metrics.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { ask, createProxy, MEMBERS } from '../support/domain/hermes.ts'
import { eventually } from '../support/eventually.ts'
import { json, startTargetServer, type TargetServer } from '../support/servers/target-server.ts'

type Value = { stringValue?: string; intValue?: number | string }
interface Attributed {
  readonly attributes?: { key: string; value: Value }[]
}
interface Span extends Attributed {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status: { code: number }
}
interface Point extends Attributed {
  readonly asDouble?: number
  readonly count?: number | string
  readonly sum?: number
  readonly bucketCounts?: (number | string)[]
  readonly explicitBounds?: number[]
}
interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: { dataPoints: Point[]; isMonotonic: boolean; aggregationTemporality: number }
  readonly gauge?: { dataPoints: Point[] }
  readonly histogram?: { dataPoints: Point[]; aggregationTemporality: number }
}

const INTERNAL = 1
const SERVER = 2
const CLIENT = 3
const ERROR = 2
const CUMULATIVE = 2
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

const valuesOf = ({ attributes = [] }: Attributed) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

describe('telemetry', () => {
  let collector: TargetServer
  beforeEach(async () => {
    collector = await startTargetServer()
    for (const signal of ['traces', 'metrics']) collector.on(`/otlp/v1/${signal}`, json({}))
  })
  afterEach(() => collector.close())
  const start = (env: Record<string, string> = {}) =>
    startTestApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp`, ...env } })
  const received = (signal: string) =>
    collector.requests
      .filter(({ path }) => path === `/otlp/v1/${signal}`)
      .map(({ body }) => JSON.parse(body.toString()))
  const spans = (): Span[] =>
    received('traces').flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: Span[] }[] }) =>
        scopeSpans.flatMap((scope) => scope.spans),
      ),
    )
  const metrics = (): Metric[] =>
    received('metrics').flatMap(({ resourceMetrics }) =>
      resourceMetrics.flatMap(({ scopeMetrics }: { scopeMetrics: { metrics: Metric[] }[] }) =>
        scopeMetrics.flatMap((scope) => scope.metrics),
      ),
    )
  const verify = async (app: TestApp, headers: Record<string, string> = {}) => {
    const { apiKey } = await app.organisation()
    const body = { data: { name: 'Ada Lovelace' } }
    const answer = await app.request('POST', '/verify', { key: apiKey, body, headers })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return apiKey
  }

  it('has a span of each request, below the caller’s, with what it waited for below it', async () => {
    const app = await start()
    await verify(app, { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=secret-of-theirs' })
    await app.close()
    const ofTrace = spans().filter(({ traceId }) => traceId === TRACE)
    const request = ofTrace.find(({ kind }) => kind === SERVER) ?? expect.fail('no span')
    expect(request).to.deep.include({ name: 'POST /verify', parentSpanId: PARENT })
    expect(valuesOf(request)).to.deep.equal({
      'http.request.method': 'POST',
      'http.route': '/verify',
      'http.response.status_code': 200,
    })
    const commit = ofTrace.find(({ name }) => name === 'ledger.append')
    expect(commit).to.deep.include({ kind: INTERNAL, parentSpanId: request.spanId })
    // Requests without one begin a trace of their own, whatever a malformed field says.
    const others = spans().filter(({ traceId, kind }) => kind === SERVER && traceId !== TRACE)
    expect(others.map(({ name }) => name)).to.include('POST /console/api/organisations')
    expect(others.every(({ parentSpanId }) => parentSpanId === undefined)).to.equal(true)
  })

  it('has spans of outbound calls, which carry no trace to others', async () => {
    const target = await startTargetServer()
    target.on('/data', json({ members: MEMBERS }))
    const app = await start({ EGRESS_OPEN_PROXY: 'on' })
    try {
      const { slug } = await createProxy(app, { destinationUrl: `${target.url}/data` })
      const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
      const { status, body } = await ask(app, slug, { name: 'Ada' }, { headers })
      expect(status, JSON.stringify(body)).to.equal(200)
    } finally {
      await app.close()
      await target.close()
    }
    const request = spans().find(({ name }) => name === 'POST /hermes/{slug}')
    const call = spans().find(({ kind }) => kind === CLIENT) ?? expect.fail('no span of the call')
    expect(call).to.deep.include({ name: 'GET', traceId: TRACE, parentSpanId: request?.spanId })
    expect(valuesOf(call)).to.deep.equal({ 'http.request.method': 'GET', 'http.response.status_code': 200 })
    expect(target.requests).to.have.length(1)
    expect(target.requests[0]?.headers).not.to.have.any.keys('traceparent', 'tracestate')
  })

  it('has no span of probes, and tells faults of the service from those of its callers', async () => {
    const app = await start()
    await app.request('GET', '/health/live')
    await app.request('GET', '/v1/nothing/of/this?name=Ada')
    await app.request('POST', '/verify', { body: {} })
    app.services.verification.verify = async () => {
      throw new Error('told to nobody')
    }
    const { apiKey } = await app.organisation()
    await app.request('POST', '/verify', { key: apiKey, body: { data: { a: 1 } } })
    await app.close()
    const named = (name: string) =>
      spans()
        .filter((span) => span.name === name)
        .map((span) => [
          valuesOf(span)['http.response.status_code'],
          span.status.code,
          valuesOf(span)['error.type'],
        ])
    expect(named('GET /health/live')).to.deep.equal([])
    expect(named('GET')).to.deep.equal([[404, 0, undefined]])
    expect(named('POST /verify')).to.deep.equal([
      [401, 0, undefined],
      [500, ERROR, '500'],
    ])
  })

  it('holds no id, key, address, host or word of what was sent or answered', async () => {
    const app = await start()
    const apiKey = await verify(app, { 'user-agent': 'Agent of Ada', 'x-request-id': 'request-of-ada' })
    const organisation = await app.organisation()
    await app.request('GET', `/pod/pod_of_ada?email=ada@example.org`, { key: organisation.apiKey })
    await app.close()
    const sent = collector.requests.map(({ body }) => body.toString()).join('\n')
    expect(sent.length).to.be.greaterThan(1000)
    for (const secret of [apiKey, organisation.apiKey, app.adminKey, organisation.organisationId])
      expect(sent.includes(secret)).to.equal(false)
    expect(sent).not.to.match(
      /lovelace|of-ada|of_ada|of ada|ada@|127\.0\.0\.1|10\.\d+\.\d+\.\d+|secret-of-theirs/i,
    )
    expect(sent).not.to.match(/\b(org|ver|key|req|prf)_[0-9a-z]{20}/)
  })

  it('has the metrics of /metrics with the same names, labels and values, again and again', async () => {
    const app = await start({ OTEL_METRIC_EXPORT_INTERVAL: '1000' })
    await verify(app)
    await eventually('metrics', () => received('metrics').length > 0)
    await app.close()
    const all = metrics()
    const last = (name: string) => all.findLast((metric) => metric.name === name) ?? expect.fail(name)
    const requests = last('http_request_duration_seconds')
    expect(requests.unit).to.equal('s')
    expect(requests.histogram?.aggregationTemporality).to.equal(CUMULATIVE)
    const ofVerify = requests.histogram?.dataPoints.find((point) => valuesOf(point).route === '/verify')
    expect(valuesOf(ofVerify ?? expect.fail('no point'))).to.deep.equal({
      method: 'POST',
      route: '/verify',
      status: '200',
    })
    expect(Number(ofVerify?.count)).to.equal(1)
    expect(ofVerify?.bucketCounts?.length).to.equal((ofVerify?.explicitBounds?.length ?? 0) + 1)
    expect(ofVerify?.bucketCounts?.reduce((sum: number, count) => sum + Number(count), 0)).to.equal(1)
    expect(last('proofs_generated_total').sum).to.deep.include({
      isMonotonic: true,
      aggregationTemporality: CUMULATIVE,
    })
    expect(last('ledger_tree_size').gauge?.dataPoints[0]?.asDouble).to.be.greaterThan(1)
    const [first] = received('metrics')
    const service = valuesOf(first.resourceMetrics[0].resource)
    expect(service['service.name']).to.equal('assay')
    expect(service['service.instance.id']).to.match(/^[0-9a-f-]{36}$/)
  })

  it('keeps the part of all traces that it is told to', async () => {
    const app = await start({ OTEL_TRACES_SAMPLER_ARG: '0' })
    await verify(app, { traceparent: `00-${TRACE}-${PARENT}-01` })
    await app.close()
    expect(spans()).to.deep.equal([])
  })

  it('lets no caller choose an id that is sent, or not', async () => {
    const app = await start({ OTEL_TRACES_SAMPLER_ARG: '0.5' })
    // By its bits alone, a sampler that others know would send every one of these.
    const ids = Array.from({ length: 40 }, (_, i) => (i + 1).toString(16).padStart(8, '0').repeat(4))
    await Promise.all(
      ids.map((id) => app.request('GET', '/nothing', { headers: { traceparent: `00-${id}-${PARENT}-01` } })),
    )
    await app.close()
    const sent = new Set(spans().flatMap(({ traceId }) => (ids.includes(traceId) ? [traceId] : [])))
    expect(sent.size).to.be.within(1, ids.length - 1)
  })

  it('holds up nobody when the collector is away or hangs, and says so once', async () => {
    const lines: string[] = []
    const logger = createLogger('warn', { write: (line: string) => void lines.push(line) })
    collector.on('/otlp/v1/traces', () => undefined)
    collector.on('/otlp/v1/metrics', json({ secret: 'answer' }, 400))
    const app = await startTestApp({
      logger,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp`, OTEL_METRIC_EXPORT_INTERVAL: '1000' },
    })
    await verify(app)
    await eventually('a warning', () => lines.length > 0)
    const started = performance.now()
    await app.close()
    expect(performance.now() - started).to.be.lessThan(6000)
    expect(lines.filter((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT')).length).to.equal(1)
    expect(lines.join()).not.to.include('answer')
  })

  it('says that the collector is not there at all', async () => {
    const lines: string[] = []
    const logger = createLogger('warn', { write: (line: string) => void lines.push(line) })
    const gone = await startTargetServer()
    await gone.close()
    const app = await startTestApp({
      logger,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: gone.url, OTEL_METRIC_EXPORT_INTERVAL: '1000' },
    })
    await eventually('a warning', () => lines.some((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT')))
    await app.close()
  })

  it('turns buckets that count up into buckets side by side', () => {
    const sample = (name: string, value: number, labels: Record<string, string> = {}) => ({
      name,
      labels,
      value,
    })
    const window = { startTime: [1, 0] as [number, number], endTime: [2, 0] as [number, number] }
    const [metric] = toOtlpMetrics(
      [
        {
          name: 'x_seconds',
          help: 'X',
          type: 'histogram',
          values: [
            sample('x_seconds_bucket', 2, { le: '0.1', a: 'b' }),
            sample('x_seconds_bucket', 5, { le: '1', a: 'b' }),
            sample('x_seconds_bucket', 6, { le: '+Inf', a: 'b' }),
            sample('x_seconds_sum', 9.5, { a: 'b' }),
            sample('x_seconds_count', 6, { a: 'b' }),
          ],
        },
      ],
      window,
    )
    expect(metric?.dataPoints).to.deep.equal([
      {
        ...window,
        attributes: { a: 'b' },
        value: { buckets: { boundaries: [0.1, 1], counts: [2, 3, 1] }, sum: 9.5, count: 6 },
      },
    ])
  })

  it('is loaded only where it is asked for', () => {
    const root = join(import.meta.dirname, '../../src')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.tsx?$/.test(name),
    )
    const importing = (pattern: RegExp) =>
      files.filter((name) => pattern.test(readFileSync(join(root, name), 'utf8'))).sort()
    expect(importing(/from '@opentelemetry\//)).to.deep.equal([
      'server/otlp-metrics.ts',
      'server/telemetry.ts',
    ])
    expect(importing(/^import (?!type).*telemetry\.ts'/m)).to.deep.equal([])
    expect(importing(/import .*otlp-metrics\.ts'/)).to.deep.equal(['server/telemetry.ts'])
  })
})
