/**
 * Traces and metrics for OpenTelemetry, sent by OTLP over HTTP (JSON). Loaded only where OTEL_EXPORTER_OTLP_ENDPOINT is set:
 * without it no part of this is on any path. A span says what was done, how long it took and how it ended, never for whom:
 * no id, address, host, header or body is in it.
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { millisToHrTime, setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, type MetricProducer, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { systemClock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { toldStatus } from '../http/connections/connections.ts'
import type { Logger } from '../http/log.ts'
import type { HttpMiddleware } from '../http/middleware.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Metrics } from '../metrics.ts'
import { EgressError } from '../net/egress-error.ts'
import type { SafeFetch } from '../net/safe-fetch.ts'
import type { Tracing } from '../services/foundations.ts'
import { toOtlpMetrics } from './otlp-metrics.ts'

const SERVICE = 'assay'
/** For one export, so that a collector that hangs holds up nothing. */
const EXPORT_TIMEOUT_MS = 5000
/** For whoever waits for an export: longer, since only the export itself says what was wrong. */
const GIVE_UP_MS = 2 * EXPORT_TIMEOUT_MS
/** For the last one, when the server stops. */
const CLOSE_TIMEOUT_MS = 2000
/** A collector that is away is told once in this time. */
const WARN_PAUSE_MS = 60_000
const SERVER_FAULT = 500
const SECRET_BYTES = 32
const TRACE_ID_CHARACTERS = 32

export interface TelemetrySettings {
  /** Base URL of the collector; `/v1/traces` and `/v1/metrics` are appended to it. */
  readonly endpoint: string
  /** From 0 to 1: which part of all traces is kept. */
  readonly sampleRatio: number
  readonly metricsIntervalMs: number
}

export interface Telemetry extends Tracing {
  /** Makes a span of each request; the outermost part of the application. */
  readonly middleware: HttpMiddleware
  /** Sends what the service measures of itself, again and again. */
  exportMetrics(metrics: Pick<Metrics, 'json'>): void
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>
}

const propagator = new W3CTraceContextPropagator()

/** Where a request belongs by its traceparent (W3C Trace Context §3.2). Its tracestate, which may hold anything, is not read. */
const parentOf = ({ traceparent }: IncomingHttpHeaders): Context =>
  propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter)

/** A word for what went wrong, from lists of our own; messages may quote what was sent. */
const errorType = (error: unknown): string => {
  if (error instanceof AppError) return error.code
  return error instanceof EgressError ? error.kind : 'internal'
}

/** Only faults of the service, and of those whom it asked, are errors of a span. */
const endWith = (span: Span, error: unknown): void => {
  span.setAttribute('error.type', errorType(error))
  if (!(error instanceof AppError && error.status < SERVER_FAULT))
    span.setStatus({ code: SpanStatusCode.ERROR })
}

/** Who sends: attributes of the environment (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) win. */
const describeService = (): Resource =>
  resourceFromAttributes({ 'service.name': SERVICE, 'service.instance.id': randomUUID() }).merge(
    detectResources({ detectors: [envDetector] }),
  )

const createSpans = (provider: TracerProvider) => {
  const tracer = provider.getTracer(SERVICE)
  /** The span that whatever runs now belongs to. Of this server's own: several may run in a process. */
  const current = new AsyncLocalStorage<Context>()

  /** Runs `work` in a span, below the current one. */
  const within = async <T>(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    work: (span: Span) => Promise<T>,
  ): Promise<T> => {
    const parent = current.getStore() ?? ROOT_CONTEXT
    const span = tracer.startSpan(name, { kind, attributes }, parent)
    try {
      return await current.run(trace.setSpan(parent, span), () => work(span))
    } catch (error) {
      endWith(span, error)
      throw error
    } finally {
      span.end()
    }
  }

  const middleware: HttpMiddleware = async (ctx, next) => {
    const { method } = ctx
    const parent = parentOf(ctx.req.headers)
    const attributes = { 'http.request.method': method }
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
    await current.run(trace.setSpan(parent, span), next)
    const { route } = ctx.state
    const status = toldStatus(ctx.res)
    // A span that does not end is never sent: probes are many, and say nothing.
    if (route?.cost === 0 && status < SERVER_FAULT) return
    if (route) span.updateName(`${method} ${route.path}`).setAttribute('http.route', route.path)
    span.setAttribute('http.response.status_code', status)
    if (status >= SERVER_FAULT)
      span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }

  /** Commits that requests wait for; those of the service's own accord belong to nothing. */
  const ledger = (inner: Ledger): Ledger => ({
    ...inner,
    append: (caller, decide) =>
      current.getStore() === undefined
        ? inner.append(caller, decide)
        : within('ledger.append', SpanKind.INTERNAL, {}, () => inner.append(caller, decide)),
  })

  const safeFetch = (inner: SafeFetch): SafeFetch =>
    Object.assign(
      (...[url, request]: Parameters<SafeFetch>) =>
        within(request.method, SpanKind.CLIENT, { 'http.request.method': request.method }, async (span) => {
          const answer = await inner(url, request)
          span.setAttribute('http.response.status_code', answer.status)
          return answer
        }),
      { close: inner.close },
    )

  return { middleware, ledger, safeFetch }
}

/**
 * Keeps a part of all traces, each with all of its spans here. Callers choose ids: so it goes by the id under a secret of this
 * process, and nobody can choose one that is kept, or not.
 */
const createSampler = (ratio: number): Sampler => {
  const byId = new TraceIdRatioBasedSampler(ratio)
  const secret = randomBytes(SECRET_BYTES)
  return {
    shouldSample(context, traceId) {
      const digest = createHmac('sha256', secret).update(traceId).digest('hex')
      return byId.shouldSample(context, digest.slice(0, TRACE_ID_CHARACTERS))
    },
    toString: () => byId.toString(),
  }
}

/** What the service measures, read when it is sent. */
const producerOf = (metrics: Pick<Metrics, 'json'>, resource: Resource): MetricProducer => {
  const startTime = millisToHrTime(systemClock.now())
  return {
    async collect() {
      const families = await metrics.json()
      const window = { startTime, endTime: millisToHrTime(systemClock.now()) }
      const scopeMetrics = [{ scope: { name: SERVICE }, metrics: toOtlpMetrics(families, window) }]
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
    },
  }
}

/** Says at intervals that nothing arrives, without what the collector answered. */
const warnOfFailures = (logger: Logger): void => {
  let warnedAt = Number.NEGATIVE_INFINITY
  setGlobalErrorHandler((error) => {
    const now = performance.now()
    if (now - warnedAt < WARN_PAUSE_MS) return
    warnedAt = now
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    logger.warn({ code }, 'traces or metrics could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT')
  })
}

/** Begins to send. Headers and certificates of the collector are read from the environment by the exporters. */
export const createTelemetry = (settings: TelemetrySettings, logger: Logger): Telemetry => {
  const { endpoint, sampleRatio, metricsIntervalMs } = settings
  const urlOf = (signal: string) => `${endpoint.replace(/\/$/, '')}/v1/${signal}`
  warnOfFailures(logger)
  const resource = describeService()
  const exporter = new OTLPTraceExporter({ url: urlOf('traces'), timeoutMillis: EXPORT_TIMEOUT_MS })
  const provider = new TracerProvider({
    resource,
    // Nor does what callers flag switch tracing on or off.
    sampler: createSampler(sampleRatio),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: GIVE_UP_MS })],
  })
  let meters: MeterProvider | undefined
  return {
    ...createSpans(provider),
    exportMetrics(metrics) {
      const timeoutMillis = Math.min(EXPORT_TIMEOUT_MS, metricsIntervalMs / 2)
      const reader = new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: urlOf('metrics'), timeoutMillis }),
        exportIntervalMillis: metricsIntervalMs,
        exportTimeoutMillis: Math.min(GIVE_UP_MS, metricsIntervalMs),
        metricProducers: [producerOf(metrics, resource)],
      })
      meters = new MeterProvider({ resource, readers: [reader] })
    },
    async close() {
      const sent = Promise.allSettled([provider.shutdown(), meters?.shutdown()])
      await Promise.race([sent, pause(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
    },
  }
}
