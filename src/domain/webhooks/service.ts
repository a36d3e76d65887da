/** Webhooks: endpoints, what is announced to them, and the deliveries. @module */
import { randomInt } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Log } from '../../ledger/log.ts'
import type { Metrics } from '../../metrics.ts'
import { createAddressJudge } from '../../net/address.ts'
import type { SafeFetch } from '../../net/safe-fetch.ts'
import type { Bus } from '../../store/bus.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { EventLog } from '../exports/event-log.ts'
import { createAttempt } from './attempt.ts'
import { createDispatcher, type EndedDelivery } from './dispatcher.ts'
import { createEndpoints } from './endpoints.ts'
import { createFanOut } from './fan-out.ts'
import { createSealedEndpoints } from './sealed-endpoint.ts'
import * as store from './store.ts'

/** How long another server may go on with an endpoint as it was, where no bus tells it of the change. */
const ENDPOINT_CACHE_MS = 1_000
const MAX_CACHED_ENDPOINTS = 10_000
/** Other servers are told of new entries, or of deliveries to make, at most this often. */
const TELL_PAUSE_MS = 20
const RANDOM_STEPS = 2 ** 32

const COMMITTED = 'webhooks-committed'
const QUEUED = 'webhooks-queued'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact' | 'onCommit' | 'head'>
  readonly log: Pick<Log, 'hashes'>
  readonly sealing: Sealing
  readonly safeFetch: SafeFetch
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  readonly openRecent: OpenRecent
  readonly eventLog: Pick<EventLog, 'record'>
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'readWebhookQueue'>
  readonly clock: Clock
  readonly logger: { warn(details: object, message: string): void }
  /** Labels of keys, by id. */
  keyLabels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  readonly egressAllowCidrs: readonly string[]
  /** Whether everybody's endpoints may be at those networks. */
  readonly egressOpenProxy: boolean
  /** Pauses after the first and the second attempt. */
  readonly pausesMs: readonly number[]
}

/** Tells the bus of something that may happen thousands of times a second. */
const createTeller = (bus: Pick<Bus, 'publish'>, channel: string) => {
  let timer: NodeJS.Timeout | undefined
  return {
    tell(): void {
      timer ??= setTimeout(() => {
        timer = undefined
        void bus.publish(channel, '')
      }, TELL_PAUSE_MS).unref()
    },
    close: (): void => clearTimeout(timer),
  }
}

export type WebhooksService = Awaited<ReturnType<typeof createWebhooks>>

/** Starts to announce what is committed, and to deliver. */
export const createWebhooks = async (deps: Deps) => {
  const { database, ledger, bus, openRecent, eventLog, metrics, logger, egressAllowCidrs, egressOpenProxy } =
    deps
  const sealed = createSealedEndpoints(deps.sealing)
  const endpoints = openRecent({
    name: 'webhook-endpoint',
    ttlMs: ENDPOINT_CACHE_MS,
    maxEntries: MAX_CACHED_ENDPOINTS,
    load: async (id) => {
      const row = await store.findEndpoint(database, id)
      return row && sealed.open(row)
    },
  })

  const ended = ({ delivery, endpoint, outcome, attempts, attempt }: EndedDelivery): void => {
    eventLog.record({
      type: 'webhook.delivery',
      at: attempt.at,
      organisation: endpoint.organisation,
      endpointId: endpoint.id,
      deliveryId: delivery.id,
      event: delivery.event,
      outcome,
      attempts,
      lastStatus: attempt.status ?? null,
      durationMs: Math.max(0, deps.clock.now() - delivery.queued_at),
    })
  }

  const dispatcher = createDispatcher({
    database,
    logger,
    pausesMs: deps.pausesMs,
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
    findEndpoint: (id) => endpoints.get(id),
    attempt: createAttempt({ safeFetch: deps.safeFetch, clock: deps.clock, openToAll: egressOpenProxy }),
    attempted: (outcome) => metrics.webhookAttempts.inc({ outcome }),
    ended,
  })
  const tellQueued = createTeller(bus, QUEUED)
  const fanOut = createFanOut({
    database,
    log: deps.log,
    logger,
    keyLabels: deps.keyLabels,
    from: (await ledger.head()).size,
    queued() {
      dispatcher.wake()
      tellQueued.tell()
    },
  })
  const tellCommitted = createTeller(bus, COMMITTED)
  const ends = [
    ledger.onCommit(() => {
      fanOut.wake()
      tellCommitted.tell()
    }),
    bus.subscribe(COMMITTED, fanOut.wake),
    bus.subscribe(QUEUED, dispatcher.wake),
    tellCommitted.close,
    tellQueued.close,
  ]
  metrics.readWebhookQueue(() => store.countDeliveries(database))

  return {
    ...createEndpoints({
      database,
      ledger,
      sealed,
      clock: deps.clock,
      judges: { everywhere: createAddressJudge([]), allowListed: createAddressJudge(egressAllowCidrs) },
      openToAll: egressOpenProxy,
      changed: (id) => endpoints.forget(id),
    }),

    async close(): Promise<void> {
      for (const end of ends) end()
      await fanOut.close()
      await dispatcher.close()
    },
  }
}
