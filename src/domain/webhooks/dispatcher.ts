/**
 * Makes the deliveries that are due. Any number of servers share the work: each leases some by postponing them, so
 * that whatever a server that dies had leased is due again a minute later, and made by another. A delivery may so
 * be made twice, always under one id; none is lost.
 * @module
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../store/database.ts'
import type { Attempt, AttemptResult } from './attempt.ts'
import { createEndpointQueues } from './endpoint-queues.ts'
import { createResults } from './results.ts'
import type { OpenedEndpoint } from './sealed-endpoint.ts'
import * as store from './store-deliveries.ts'

const MAX_ATTEMPTS = 3
/** Each pause is up to a fifth longer or shorter, so that what failed together doesn't come again together. */
const JITTER = 0.2
/** How long a lease lasts. */
const LEASE_MS = 60_000
/** No attempt begins later than this after its lease began, so that it ends before the lease does. */
const START_WITHIN_MS = 45_000
/** Who takes longer to answer shares places with those that fail: it holds a place nearly as long. */
const SLOW_MS = 1_000
/** Where fewer deliveries are due than these, they say to whom; else all endpoints that something waits for are looked at. */
const LOOK_DUE = 512
/** Endpoints looked at in one go. */
const LOOK_QUEUES = 512
/** How soon is seen what nobody told of: leases of servers that died, deliveries queued elsewhere. */
const POLL_MS = 1_000
/** After the database failed. */
const BACK_OFF_MS = 1_000
/** Longest wait of `close` for attempts in flight; then they are given back untried. */
const CLOSE_GRACE_MS = 2_000
const CLOSE_POLL_MS = 10
/** Longer than another server may take a resumed endpoint for a paused one. */
const RESUMED_MS = 1_100
/** Deliveries that nobody wants any more are removed so many at a time. */
const DISCARD_ROWS = 1_000

/** A delivery that has ended, one way or the other. */
export interface EndedDelivery {
  readonly delivery: store.LeasedDelivery
  readonly endpoint: OpenedEndpoint
  readonly outcome: 'delivered' | 'dropped'
  readonly attempts: number
  readonly attempt: Attempt
}

interface Deps {
  readonly database: Database
  readonly logger: { warn(details: object, message: string): void }
  /** Pauses after the first and the second attempt. */
  readonly pausesMs: readonly number[]
  /** Uniform in [0, 1). */
  random(): number
  /** As it is now; undefined where it was removed. */
  findEndpoint(id: string): Promise<OpenedEndpoint | undefined>
  attempt(delivery: store.LeasedDelivery, endpoint: OpenedEndpoint, signal: AbortSignal): Promise<Attempt>
  attempted(outcome: AttemptResult): void
  ended(delivery: EndedDelivery): void
  /** An endpoint dropped ten events in a row, or delivers again after that, and its owner is to be told. Must not throw. */
  turned(): void
}

/** How much of what is about to be written may be held by this server from the start. */
export interface Rooms {
  /** Deliveries of each endpoint. */
  readonly byEndpoint: ReadonlyMap<string, number>
  /** What is held must be written as due so much later. */
  readonly leaseMs: number
  /** No attempt of what is held may begin later than this after that time was taken. */
  readonly startWithinMs: number
}

export interface Dispatcher {
  /** Says that there is something to deliver in the database, for some endpoints if it is known for which. */
  wake(endpoints?: ReadonlySet<string>): void
  /** Asks before deliveries are written what may be held: it then needs no lease. */
  rooms(endpoints: readonly string[]): Rooms
  /** Takes what was written as held. */
  handOver(held: readonly AtHand[]): void
  /** Ends attempts in flight after 2 s at most, and gives back what is left to other servers, or to the next start. */
  close(): Promise<void>
}

export interface AtHand extends store.LeasedDelivery {
  /** By `performance.now()`. */
  readonly startBy: number
}

export const createDispatcher = (deps: Deps): Dispatcher => {
  const { database, logger, pausesMs, random, findEndpoint, attempt, attempted, ended } = deps
  const results = createResults(deps)
  const ending = new AbortController()
  // One for each attempt in flight.
  setMaxListeners(0, ending.signal)
  const timers = new Set<NodeJS.Timeout>()
  let closed = false
  let woken = false
  let rouse: (() => void) | undefined

  const rouseRun = (): void => {
    woken = true
    rouse?.()
  }

  const wakeIn = (ms: number): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      rouseRun()
    }, ms).unref()
    timers.add(timer)
  }

  const pauseAfter = (failures: number): number => {
    const baseMs = pausesMs[failures - 1] ?? pausesMs.at(-1) ?? 0
    return Math.round(baseMs * (1 - JITTER + 2 * JITTER * random()))
  }

  const discard = async (delivery: AtHand, before: number): Promise<void> => {
    await results.settle({ ...keyOf(delivery), end: 'discarded' })
    let removed = DISCARD_ROWS
    while (removed === DISCARD_ROWS && !closed)
      removed = await store.discardBefore(database, delivery.endpoint, before, DISCARD_ROWS)
  }

  const settle = async (delivery: AtHand, endpoint: OpenedEndpoint, made: Attempt): Promise<void> => {
    const { at, status } = made
    const attempts = delivery.attempts + 1
    const known = { ...keyOf(delivery), at, status }
    if (made.outcome !== 'delivered' && attempts < MAX_ATTEMPTS) {
      const pauseMs = pauseAfter(attempts)
      await results.settle({ ...known, end: 'failed', pauseMs })
      wakeIn(pauseMs)
      return
    }
    const outcome = made.outcome === 'delivered' ? 'delivered' : 'dropped'
    const isOurs = await results.settle({ ...known, end: outcome })
    if (isOurs) ended({ delivery, endpoint, outcome, attempts, attempt: made })
  }

  /** Results on their way to the database: the next attempt does not wait for them. */
  const settling = new Set<Promise<unknown>>()
  const track = (work: Promise<unknown>): void => {
    const tracked = work
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'the result of a webhook delivery could not be written'),
      )
      .finally(() => settling.delete(tracked))
    settling.add(tracked)
  }

  const giveBack = (delivery: AtHand, pauseMs = 0): Promise<boolean> =>
    results.settle({ ...keyOf(delivery), end: 'released', pauseMs })

  /** @returns whether the endpoint answered well and soon; undefined when it was not asked */
  const deliver = async (delivery: AtHand): Promise<boolean | undefined> => {
    // Its lease has nearly ended: another server will make it.
    if (performance.now() > delivery.startBy) return undefined
    const endpoint = await findEndpoint(delivery.endpoint)
    if (endpoint === undefined || delivery.entry_index < endpoint.announces_from) {
      await discard(delivery, endpoint?.announces_from ?? Number.MAX_SAFE_INTEGER)
      return true
    }
    if (!endpoint.active) {
      // Nothing behind a pause is announced until it has ended: only what is remembered here is still paused.
      await giveBack(delivery, RESUMED_MS)
      wakeIn(RESUMED_MS)
      return undefined
    }
    const begunAt = performance.now()
    const made = await attempt(delivery, endpoint, ending.signal)
    const isSlow = performance.now() - begunAt > SLOW_MS
    if (made.outcome === 'cancelled') {
      await giveBack(delivery)
      return undefined
    }
    attempted(made.outcome)
    if (made.outcome === 'error')
      logger.warn({ err: made.cause, deliveryId: delivery.id }, 'a webhook delivery failed here')
    track(settle(delivery, endpoint, made))
    return made.outcome === 'delivered' && !isSlow
  }

  const queues = createEndpointQueues<AtHand>(
    (delivery) =>
      deliver(delivery).catch((error: unknown) => {
        logger.warn({ err: error, deliveryId: delivery.id }, 'a webhook delivery waits for its lease to end')
        return undefined
      }),
    rouseRun,
    (surplus) => {
      for (const delivery of surplus) track(giveBack(delivery))
    },
  )

  /**
   * Leases what is due to the endpoints that have room.
   * @returns the first of them that had to be passed over
   */
  const lease = async (endpoints: readonly string[]): Promise<string | undefined> => {
    const { rooms, passedOver } = queues.shares(endpoints)
    for (const endpoint of endpoints) if (!rooms.has(endpoint)) queues.expectMore(endpoint, true)
    if (rooms.size === 0) return passedOver
    const startBy = performance.now() + START_WITHIN_MS
    const leased = await store.leaseDeliveries(database, rooms, LEASE_MS)
    const atHand = byEndpoint(leased.map((delivery) => ({ ...delivery, startBy })))
    for (const [endpoint, room] of rooms) queues.expectMore(endpoint, atHand.get(endpoint)?.length === room)
    for (const [endpoint, due] of atHand) queues.add(endpoint, due)
    return passedOver
  }

  /** The next look begins behind this endpoint: with the first one that was passed over. */
  let behind = ''
  const lookAtAll = async (): Promise<void> => {
    const starts = behind === '' ? [''] : [behind, '']
    let next: string | undefined
    for (const start of starts) {
      let after = start
      do {
        const found = await store.findQueues(database, after, LOOK_QUEUES)
        const due = found.flatMap(({ endpoint, due }) => (due ? [endpoint] : []))
        const passedOver = await lease(due)
        if (passedOver !== undefined) next ??= due[due.indexOf(passedOver) - 1] ?? after
        after = found.length === LOOK_QUEUES ? (found.at(-1)?.endpoint ?? '') : ''
      } while (after !== '' && !closed)
    }
    behind = next ?? ''
  }

  const look = async (): Promise<void> => {
    queues.expectNothing()
    const due = await store.findDue(database, LOOK_DUE)
    if (due === undefined) await lookAtAll()
    else if (due.length > 0) await lease(due)
  }

  const sleep = async (ms: number): Promise<void> => {
    if (closed) return
    const nap = new AbortController()
    rouse = () => nap.abort()
    await pause(ms, undefined, { signal: nap.signal, ref: false }).catch(() => undefined)
    rouse = undefined
  }

  const run = async (): Promise<void> => {
    while (!closed) {
      woken = false
      try {
        await look()
        if (!woken) await sleep(POLL_MS)
      } catch (error) {
        logger.warn({ err: error }, 'webhook deliveries wait for the database')
        await sleep(BACK_OFF_MS)
      }
    }
  }
  const looked = run()

  return {
    wake(endpoints = new Set()) {
      for (const endpoint of endpoints) queues.expectMore(endpoint, true)
      rouseRun()
    },
    rooms(endpoints) {
      return {
        byEndpoint: closed ? new Map() : queues.directShares(endpoints).rooms,
        leaseMs: LEASE_MS,
        startWithinMs: START_WITHIN_MS,
      }
    },
    handOver(held) {
      for (const [endpoint, due] of byEndpoint(held)) queues.add(endpoint, due)
    },
    async close() {
      closed = true
      rouse?.()
      for (const timer of timers) clearTimeout(timer)
      await looked
      const left = queues.clear().map((delivery) => giveBack(delivery))
      const giveUpAt = performance.now() + CLOSE_GRACE_MS
      while (queues.atHand > 0 && performance.now() < giveUpAt) await pause(CLOSE_POLL_MS)
      results.close()
      ending.abort()
      while (queues.atHand > 0) await pause(CLOSE_POLL_MS)
      await Promise.all([...left, ...settling])
    },
  }
}

const byEndpoint = (deliveries: readonly AtHand[]): Map<string, AtHand[]> => {
  const found = new Map<string, AtHand[]>()
  for (const delivery of deliveries) {
    const known = found.get(delivery.endpoint)
    if (known) known.push(delivery)
    else found.set(delivery.endpoint, [delivery])
  }
  return found
}

const keyOf = ({ id, endpoint, attempts }: store.LeasedDelivery) => ({ id, endpoint, attempts })
