/**
 * What the service measures of itself, for Prometheus. Labels are few and bounded: never an id, never a path
 * as it was sent, only the route's template.
 * @module
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { within } from './store/breaker.ts'

/** Upper bounds in seconds. Requests are mostly a few milliseconds; nullifier checks a few microseconds. */
const REQUEST_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const NULLIFIER_BUCKETS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1,
]
const PROOF_BUCKETS_SECONDS = [0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5]
const COMMIT_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const BATCH_BUCKETS_ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Longest wait for the database: Prometheus waits ten seconds for all numbers, most of which need none, and reads on when it hangs. */
const COUNT_TIMEOUT_MS = 3_000

/**
 * Sets what the database says. Where it is away, or takes too long, the last number stands; what comes late is told the next time, since
 * else one that is always slow would have its numbers stand for good.
 */
const counted = async <T>(count: (() => Promise<T>) | undefined, set: (value: T) => void): Promise<void> => {
  if (count) await within(count().then(set), COUNT_TIMEOUT_MS).catch(() => undefined)
}

/** One metric with its samples, as the JSON form shows it. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly {
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

/** Of a list that is loaded, or should be. */
export interface WatchListState {
  /** Its id, of which there are few, or `AML_LISTS` or `lists.json` for the directory. */
  readonly list: string
  /** That are searched; undefined for a directory whose lists are in service. */
  readonly entries: number | undefined
  /** Undefined where no entries are loaded. */
  readonly ageSeconds: number | undefined
  /** Whether its files could not be loaded as they are now. */
  readonly isFailed: boolean
}

export interface Metrics {
  /** Records an answered request. @param route the route's path template, or `unmatched` */
  observeRequest(method: string, route: string, status: number, seconds: number): void
  /** Records how long a request waited for a place among those that are worked on. */
  observeRequestWait(seconds: number): void
  /** Counts a request that got no such place. */
  countShedRequest(reason: 'full' | 'late'): void
  /** Says how many requests wait for a place; asked at each scrape. */
  readRequestQueue(count: () => number): void
  /** Says how many bytes have come of bodies that are still arriving on this server; asked at each scrape. */
  readArriving(bytes: () => number): void
  /** Says for how long somebody gave way to proofs of others; asked at each scrape. */
  readHeldTime(seconds: () => number): void
  /** From reading a payment's nullifier to knowing whether it was free, in seconds. */
  readonly nullifierCheckSeconds: Histogram
  /** Records a zero-knowledge proof. @param seconds what it took, without waiting for a thread */
  observeProof(circuitId: string, seconds: number): void
  /** Repeated cards and digests that were refused. */
  readonly doubleSpends: Counter
  /** Messages that this server has stored, by `source`. */
  readonly chatMessages: Counter
  /** Calls of MCP tools, by `tool` and `outcome`: ok, or the code of the error. */
  readonly mcpToolCalls: Counter
  /** Attempts to deliver webhooks, by `outcome`. */
  readonly webhookAttempts: Counter<'outcome'>
  /** Says how many proofs wait for a thread of this server, by `tier`; asked at each scrape. */
  readProverQueue(count: () => Readonly<Record<string, number>>): void
  /** Says how many entries each follower of the log is behind, of all servers; asked at each scrape. */
  readFollowers(count: () => Promise<Readonly<Record<string, number>>>): void
  /** Says how to count the deliveries that wait; asked at each scrape. */
  readWebhookQueue(count: () => Promise<number>): void
  /** People who were screened again by this server, and what was found of them, by `outcome`: screened, finding. */
  readonly amlRescreened: Counter<'outcome'>
  /** Says how to count the people who are screened again; asked at each scrape. */
  readScreening(count: () => Promise<{ subscriptions: number; behind: number }>): void
  /** Says how the watch lists are; asked at each scrape. */
  readWatchLists(read: () => readonly WatchListState[]): void
  /** Bytes of exports that were handed out, by `kind` and `format`. */
  readonly exportBytes: Counter<'kind' | 'format'>
  /** Rows of the event log that could not be written. */
  readonly eventLogRowsLost: Counter
  /** Says how to count the entries of the ledger; asked at each scrape. */
  readTreeSize(count: () => Promise<number>): void
  /** Items that one ledger commit carried. */
  readonly ledgerBatchSize: Histogram
  /** From the beginning of a ledger commit that added entries to its end, in seconds. */
  readonly ledgerCommitSeconds: Histogram
  /** Findings that the log does not continue what was signed of it. */
  readonly ledgerInconsistencies: Counter
  /** Requests to witnesses, by `witness` as the policy calls it and `outcome`. */
  readonly witnessRequests: Counter<'witness' | 'outcome'>
  /** Says how large and how old the newest witnessed checkpoint is; asked at each scrape. */
  readWitnessed(read: () => Promise<WitnessedState>): void
  /** Open streams of the chat on this server. */
  readonly sseConnections: Gauge
  /** Content type of {@link Metrics.text}. */
  readonly contentType: string
  /** Prometheus text exposition format 0.0.4. */
  text(): Promise<string>
  json(): Promise<readonly MetricFamily[]>
}

const labelsOf = (labels: Partial<Record<string, string | number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))

/** Of the ledger. */
const createLedgerInstruments = (registers: Registry[]) => ({
  ledgerBatchSize: new Histogram({
    name: 'ledger_batch_size',
    help: 'Items in one ledger commit.',
    buckets: BATCH_BUCKETS_ITEMS,
    registers,
  }),
  ledgerCommitSeconds: new Histogram({
    name: 'ledger_commit_seconds',
    help: 'Time of a ledger commit, from taking its items to the answer of the database.',
    buckets: COMMIT_BUCKETS_SECONDS,
    registers,
  }),
  ledgerInconsistencies: new Counter({
    name: 'ledger_inconsistency_total',
    help: 'Times that the log was found not to continue what was signed of it.',
    registers,
  }),
})

/** How the checkpoints of the log are witnessed. */
export interface WitnessedState {
  /** Whether the newest one is older than it may be. */
  readonly isLate: boolean
  /** Entries under it; undefined before the first. */
  readonly size: number | undefined
  readonly ageSeconds: number
}

/** Of witnesses. While the database is away the last numbers stand. */
const createWitnessInstruments = (
  registers: Registry[],
): Pick<Metrics, 'witnessRequests' | 'readWitnessed'> => {
  let read: (() => Promise<WitnessedState>) | undefined
  const gauge = (name: string, help: string, measure: (state: WitnessedState) => number | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        await counted(read, (state) => {
          const value = measure(state)
          if (value !== undefined) this.set(value)
        })
      },
    })
  gauge(
    'ledger_witnessed_size',
    'Entries under the newest checkpoint that witnesses have cosigned.',
    ({ size }) => size,
  )
  gauge(
    'ledger_witnessed_age_seconds',
    'Age of that checkpoint; before the first, since the server began to wait for one.',
    ({ ageSeconds }) => ageSeconds,
  )
  gauge('ledger_witnesses_late', '1 while that checkpoint is older than it may be.', ({ isLate }) =>
    Number(isLate),
  )
  return {
    witnessRequests: new Counter({
      name: 'witness_requests_total',
      help: 'Times that a witness was asked to cosign, by how it ended.',
      labelNames: ['witness', 'outcome'],
      registers,
    }),
    readWitnessed(source) {
      read = source
    },
  }
}

/** Of requests that find no place among those that are worked on. */
const createAdmissionInstruments = (
  registers: Registry[],
): Pick<
  Metrics,
  'observeRequestWait' | 'countShedRequest' | 'readRequestQueue' | 'readArriving' | 'readHeldTime'
> => {
  let count = () => 0
  let arrivingBytes = () => 0
  let heldSeconds = () => 0
  new Gauge({
    name: 'http_queue_depth',
    help: 'Requests that wait for a place among those that this server works on.',
    registers,
    collect() {
      this.set(count())
    },
  })
  new Gauge({
    name: 'http_arriving_bytes',
    help: 'What has come of bodies that are still arriving.',
    registers,
    collect() {
      this.set(arrivingBytes())
    },
  })
  new Counter({
    name: 'http_held_seconds_total',
    help: 'Time in which requests of whoever takes more than half of this server waited for proofs of others.',
    registers,
    collect() {
      this.reset()
      this.inc(heldSeconds())
    },
  })
  const waits = new Histogram({
    name: 'http_queue_seconds',
    help: 'Time that requests waited for such a place, of those that had to wait and were begun.',
    buckets: REQUEST_BUCKETS_SECONDS,
    registers,
  })
  const shed = new Counter({
    name: 'http_requests_shed_total',
    help: 'Requests that got no such place: full, as many of their organisation waited as may, or as much was arriving; late, they waited as long as one may.',
    labelNames: ['reason'],
    registers,
  })
  return {
    observeRequestWait: (seconds) => waits.observe(seconds),
    countShedRequest: (reason) => shed.inc({ reason }),
    readRequestQueue(source) {
      count = source
    },
    readArriving(source) {
      arrivingBytes = source
    },
    readHeldTime(source) {
      heldSeconds = source
    },
  }
}

/** What the services count and time themselves. */
const createInstruments = (registers: Registry[]) => ({
  webhookAttempts: new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver webhooks, by how they ended.',
    labelNames: ['outcome'],
    registers,
  }),
  amlRescreened: new Counter({
    name: 'aml_rescreened_total',
    help: 'People whom this server has screened again after lists changed, and findings that came of it.',
    labelNames: ['outcome'],
    registers,
  }),
  nullifierCheckSeconds: new Histogram({
    name: 'nullifier_check_seconds',
    help: 'Time to decide whether a nullifier was spent before.',
    buckets: NULLIFIER_BUCKETS_SECONDS,
    registers,
  }),
  doubleSpends: new Counter({
    name: 'double_spend_total',
    help: 'Refused second uses of a nullifier or digest.',
    registers,
  }),
  chatMessages: new Counter({
    name: 'chat_messages_total',
    help: 'Messages of the chat that were stored, by source.',
    labelNames: ['source'],
    registers,
  }),
  mcpToolCalls: new Counter({
    name: 'mcp_tool_calls_total',
    help: 'Calls of MCP tools, by tool and by ok or the code of the error.',
    labelNames: ['tool', 'outcome'],
    registers,
  }),
  exportBytes: new Counter({
    name: 'export_bytes_total',
    help: 'Bytes of exports that clients have taken, before compression.',
    labelNames: ['kind', 'format'],
    registers,
  }),
  eventLogRowsLost: new Counter({
    name: 'event_log_rows_lost_total',
    help: 'Requests and deliveries that the event log could not keep.',
    registers,
  }),
  sseConnections: new Gauge({
    name: 'sse_connections',
    help: 'Open streams of the chat on this server.',
    registers,
  }),
})

/** Gauges of what waits, counted when somebody asks. While the database is away, or slow, the last number stands. */
const createCounts = (
  registers: Registry[],
): Pick<
  Metrics,
  'readProverQueue' | 'readTreeSize' | 'readFollowers' | 'readWebhookQueue' | 'readScreening'
> => {
  let countProofs: () => Readonly<Record<string, number>> = () => ({})
  let measureTree: (() => Promise<number>) | undefined
  let countEntries: (() => Promise<Readonly<Record<string, number>>>) | undefined
  let countDeliveries: (() => Promise<number>) | undefined
  let countPeople: (() => Promise<{ subscriptions: number; behind: number }>) | undefined
  new Gauge({
    name: 'prover_queue_depth',
    help: 'Zero-knowledge proofs that wait for a thread of this server, by tier.',
    labelNames: ['tier'],
    registers,
    collect() {
      for (const [tier, waiting] of Object.entries(countProofs())) this.set({ tier }, waiting)
    },
  })
  new Gauge({
    name: 'ledger_tree_size',
    help: 'Entries in the ledger.',
    registers,
    async collect() {
      await counted(measureTree, (size) => this.set(size))
    },
  })
  new Gauge({
    name: 'ledger_follower_lag_entries',
    help: 'Entries of the ledger that a follower has still to read, of all servers.',
    labelNames: ['follower'],
    registers,
    async collect() {
      await counted(countEntries, (lags) => {
        for (const [follower, lag] of Object.entries(lags)) this.set({ follower }, lag)
      })
    },
  })
  new Gauge({
    name: 'webhook_queue_depth',
    help: 'Webhook deliveries that wait for an attempt or its outcome, of all servers; counted up to 50,000.',
    registers,
    async collect() {
      await counted(countDeliveries, (depth) => this.set(depth))
    },
  })
  new Gauge({
    name: 'aml_subscriptions',
    help: 'People who are screened again when lists change, and those of them for whom that is still to come, of all servers; counted once a minute at most.',
    labelNames: ['state'],
    registers,
    async collect() {
      await counted(countPeople, ({ subscriptions, behind }) => {
        this.set({ state: 'all' }, subscriptions)
        this.set({ state: 'behind' }, behind)
      })
    },
  })
  return {
    readProverQueue(count) {
      countProofs = count
    },
    readTreeSize(count) {
      measureTree = count
    },
    readFollowers(count) {
      countEntries = count
    },
    readWebhookQueue(count) {
      countDeliveries = count
    },
    readScreening(count) {
      countPeople = count
    },
  }
}

/** Gauges under names that say counter: the same is in others of that library, by type. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Gauges of the watch lists, by `list`. Lists that are gone are not told any more. */
const createWatchListGauges = (registers: Registry[]): Metrics['readWatchLists'] => {
  let read: () => readonly WatchListState[] = () => []
  const gauge = (name: string, help: string, measure: (state: WatchListState) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['list'],
      registers,
      collect() {
        this.reset()
        for (const state of read()) {
          const value = measure(state)
          if (value !== undefined) this.set({ list: state.list }, value)
        }
      },
    })
  gauge('aml_list_entries', 'Entries of a watch list that are searched.', ({ entries }) => entries)
  gauge(
    'aml_list_age_seconds',
    'Age of a watch list, from its publication or else its loading.',
    (state) => state.ageSeconds,
  )
  gauge('aml_list_failed', '1 while the files of a watch list cannot be loaded.', ({ isFailed }) =>
    Number(isFailed),
  )
  return (source) => {
    read = source
  }
}

let ofProcess: Registry | undefined

/** What is measured of the process: once, however many services live in it, since its observers stay for good. */
const processRegistry = (): Registry => {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name)
  }
  return ofProcess
}

/** A registry of its own per service, so that several can live in one process. */
export const createMetrics = (): Metrics => {
  const own = new Registry()
  const registers = [own]
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request line to the end of its handling, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS_SECONDS,
    registers,
  })
  const proofs = new Counter({
    name: 'proofs_generated_total',
    help: 'Zero-knowledge proofs that were made, by circuit.',
    labelNames: ['circuit_id'],
    registers,
  })
  const proofSeconds = new Histogram({
    name: 'proof_generation_seconds',
    help: 'Time to make a proof once a thread has taken it.',
    buckets: PROOF_BUCKETS_SECONDS,
    registers,
  })
  const instruments = {
    ...createInstruments(registers),
    ...createLedgerInstruments(registers),
    ...createWitnessInstruments(registers),
    ...createAdmissionInstruments(registers),
    ...createCounts(registers),
    readWatchLists: createWatchListGauges(registers),
  }
  const registry = Registry.merge([processRegistry(), own])
  return {
    ...instruments,
    observeProof(circuitId, seconds) {
      proofs.inc({ circuit_id: circuitId })
      proofSeconds.observe(seconds)
    },
    observeRequest: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),
    contentType: registry.contentType,
    text: () => registry.metrics(),
    async json() {
      const families = await registry.getMetricsAsJSON()
      return families.map(({ name, help, type, values }) => ({
        name,
        help,
        type: String(type),
        values: values.map((sample) => ({
          // Histograms name their parts (_bucket, _sum, _count) in a property that the types leave out.
          name: 'metricName' in sample && typeof sample.metricName === 'string' ? sample.metricName : name,
          labels: labelsOf(sample.labels),
          value: sample.value,
        })),
      }))
    },
  }
}
