/** Webhooks: endpoints, what is announced to them, and the deliveries. @module */
import { randomInt } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'
import type { Follower } from '../../ledger/follower.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { Metrics } from '../../metrics.ts'
import { createAddressJudge } from '../../net/address.ts'
import type { SafeFetch } from '../../net/safe-fetch.ts'
import { createBatchedLoad } from '../../store/batched-load.ts'
import type { Bus } from '../../store/bus.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { EventLog } from '../event-log/event-log.ts'
import type { SecurityService } from '../security/service.ts'
import { createAttempt } from './attempt.ts'
import { createBacklogBound } from './backlog.ts'
import { createDispatcher, type EndedDelivery } from './dispatcher.ts'
import { createEndpoints } from './endpoints.ts'
import { createEventPages } from './event-pages.ts'
import { watchFailures } from './failure-alerts.ts'
import { createFanOut } from './fan-out.ts'
import { createSealedEndpoints, type OpenedEndpoint } from './sealed-endpoint.ts'
import { findEndpointsById } from './store.ts'
import { countDeliveries, type DroppedDelivery } from './store-deliveries.ts'
import { createTestEvents } from './test-event.ts'

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
  readonly logs: Pick<Logs, 'of' | 'each'>
  readonly signedLogs: Pick<SignedLogs, 'at'>
  readonly sealing: Sealing
  readonly safeFetch: SafeFetch
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  readonly openRecent: OpenRecent
  readonly eventLog: Pick<EventLog, 'record'>
  readonly security: Pick<SecurityService, 'alertRow'>
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'readWebhookQueue'>
  readonly clock: Clock
  readonly logger: { warn(details: object, message: string): void }
  /** Labels of keys, by id. */
  keyLabels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Those of some keys that no longer work. */
  endedKeys(keyIds: readonly string[]): Promise<readonly string[]>
  readonly egressAllowCidrs: readonly string[]
  /** Whether everybody's endpoints may be at those networks. */
  readonly egressOpenProxy: boolean
  /** Pauses after the first and the second attempt. */
  readonly pausesMs: readonly number[]
  /** Deliveries that may wait for one endpoint. */
  readonly backlog: number
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
  const ending = new AbortController()
  const waits = new AbortController()
  const findEndpoint = createBatchedLoad((ids) => findEndpointsById(database, ids))
  const endpoints = openRecent({
    name: 'webhook-endpoint',
    ttlMs: ENDPOINT_CACHE_MS,
    maxEntries: MAX_CACHED_ENDPOINTS,
    load: async (id) => {
      const row = await findEndpoint(id)
      return row && sealed.open(row)
    },
  })

  const record = (
    { organisation, id: endpointId }: OpenedEndpoint,
    { id: deliveryId, event, queued_at }: DroppedDelivery,
    end: Pick<EndedDelivery, 'outcome' | 'attempts'> & { readonly status?: number },
  ): void => {
    const { outcome, attempts, status: lastStatus = null } = end
    // When it ended, not when the last attempt began: exports of windows that meet would leave it out.
    const at = deps.clock.now()
    const durationMs = Math.max(0, at - queued_at)
    const type = 'webhook.delivery'
    eventLog.record({
      type,
      at,
      organisation,
      endpointId,
      deliveryId,
      event,
      outcome,
      attempts,
      lastStatus,
      durationMs,
    })
  }

  const backlog = createBacklogBound({
    database,
    logger,
    limit: deps.backlog,
    async dropped(id, deliveries) {
      const endpoint = await endpoints.get(id)
      if (endpoint === undefined) return
      for (const delivery of deliveries)
        record(endpoint, delivery, { outcome: 'dropped', attempts: delivery.attempts })
    },
  })

  const attempt = createAttempt({ safeFetch: deps.safeFetch, clock: deps.clock, openToAll: egressOpenProxy })
  const failures = watchFailures(deps)
  const dispatcher = createDispatcher({
    database,
    logger,
    pausesMs: deps.pausesMs,
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
    findEndpoint: (id) => endpoints.get(id),
    attempt,
    turned: failures.wake,
    attempted: (outcome) => metrics.webhookAttempts.inc({ outcome }),
    ended: ({ delivery, endpoint, outcome, attempts, attempt: { status } }) =>
      record(endpoint, delivery, { outcome, attempts, status }),
  })
  const tellQueued = createTeller(bus, QUEUED)
  const from = (await ledger.head()).size
  const fanOuts: Follower[] = []
  const stopListening = deps.logs.each((number) =>
    fanOuts.push(
      createFanOut({
        database,
        number,
        log: deps.signedLogs.at(number).tree,
        logger,
        keyLabels: deps.keyLabels,
        // Of the other logs nothing is older than the endpoints that hear of it, whichever server begins to follow them.
        from: number === 0 ? from : 0,
        rooms: dispatcher.rooms,
        queued(held, left) {
          dispatcher.handOver(held)
          if (left.size === 0) return
          dispatcher.wake(left)
          tellQueued.tell()
        },
      }),
    ),
  )
  const wake = (): void => {
    for (const fanOut of fanOuts) fanOut.wake()
  }
  const tellCommitted = createTeller(bus, COMMITTED)
  const ends = [
    ledger.onCommit((log) => {
      fanOuts[log]?.wake()
      tellCommitted.tell()
    }),
    bus.subscribe(COMMITTED, wake),
    bus.subscribe(QUEUED, () => dispatcher.wake()),
    tellCommitted.close,
    tellQueued.close,
  ]
  metrics.readWebhookQueue(() => countDeliveries(database))

  return {
    ...createEndpoints({
      database,
      logs: deps.logs,
      ledger,
      sealed,
      clock: deps.clock,
      judges: { everywhere: createAddressJudge([]), allowListed: createAddressJudge(egressAllowCidrs) },
      openToAll: egressOpenProxy,
      endedKeys: deps.endedKeys,
      changed(id) {
        for (const fanOut of fanOuts) fanOut.reconsider()
        return endpoints.forget(id)
      },
    }),

    ...createEventPages({ ...deps, ending: waits.signal }),

    ...createTestEvents({ ...deps, sealed, attempt, turned: failures.wake, ending: ending.signal }),

    /** Answers who waits for events. */
    endWaiting: (): void => waits.abort(),

    async close(): Promise<void> {
      waits.abort()
      ending.abort()
      for (const end of ends) end()
      stopListening()
      await Promise.all([...fanOuts.map((fanOut) => fanOut.close()), backlog.close()])
      await dispatcher.close()
      await failures.close()
    },
  }
}
