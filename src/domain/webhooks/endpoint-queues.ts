/**
 * Who is next: a queue for each endpoint, with at most four attempts in flight, and turns between the queues. Queues
 * whose last attempt failed, or was slow, take turns among themselves, in half of the places that there are, so that
 * however many receivers are dead, those that answer don't wait for them.
 * @module
 */

/** Attempts to one endpoint at a time. */
export const ENDPOINT_IN_FLIGHT = 4
/** Attempts in all. */
const MAX_IN_FLIGHT = 128
/** Of these, to endpoints whose last attempt failed or was slow. */
const MAX_FAILING_IN_FLIGHT = MAX_IN_FLIGHT / 2
/** Deliveries at hand for an endpoint that has not failed just now, so that it needn't wait for the database between two. */
const ENDPOINT_AT_HAND = 128
const ENDPOINT_LOW = ENDPOINT_AT_HAND / 4
/** Deliveries at hand in all. */
const MAX_AT_HAND = 2_048
/** With more at hand, an endpoint that fails gives back what it won't get to soon, so that others have room. */
const CROWDED_AT_HAND = MAX_AT_HAND / 2

interface EndpointQueue<D> {
  readonly endpoint: string
  readonly waiting: D[]
  inFlight: number
  failing: boolean
  /** Whether it stands in line already. */
  inLine: boolean
  /** Whether the database is likely to hold more for it; `asked` once that was asked for. */
  more: boolean
  asked: boolean
}

const emptyQueue = <D>(endpoint: string): EndpointQueue<D> => ({
  endpoint,
  waiting: [],
  inFlight: 0,
  failing: false,
  inLine: false,
  more: false,
  asked: false,
})

export interface EndpointQueues<D> {
  /** How many more deliveries of an endpoint may be taken from the database. */
  room(endpoint: string): number
  /** How many more an endpoint may get past the database: none while that is likely to hold older ones. */
  directRoom(endpoint: string): number
  add(endpoint: string, deliveries: readonly D[]): void
  /** Says whether the database is likely to hold more for an endpoint. */
  expectMore(endpoint: string, more: boolean): void
  /** Says that nobody knows what the database holds. */
  expectNothing(): void
  /** Takes back all that wait. */
  clear(): D[]
  /** How many each of some endpoints may add, so that all of them get as much. */
  share(endpoints: number): number
  /** Deliveries at hand, waiting or in flight. */
  readonly atHand: number
}

/**
 * @param run makes an attempt; resolves with whether the endpoint answered well and soon, or undefined when it was not
 *   asked
 * @param low called when a queue runs low that had more deliveries than room
 * @param giveBack called with deliveries that are to go back to the database untried
 */
export const createEndpointQueues = <D>(
  run: (delivery: D) => Promise<boolean | undefined>,
  low: () => void,
  giveBack: (deliveries: readonly D[]) => void,
): EndpointQueues<D> => {
  const queues = new Map<string, EndpointQueue<D>>()
  const lines = { answering: [] as EndpointQueue<D>[], failing: [] as EndpointQueue<D>[] }
  let atHand = 0
  let inFlight = 0
  let failingInFlight = 0

  const standInLine = (queue: EndpointQueue<D>): void => {
    if (queue.inLine || queue.waiting.length === 0 || queue.inFlight >= ENDPOINT_IN_FLIGHT) return
    queue.inLine = true
    lines[queue.failing ? 'failing' : 'answering'].push(queue)
  }

  const makeRoom = (queue: EndpointQueue<D>): void => {
    if (!queue.failing || atHand <= CROWDED_AT_HAND || queue.waiting.length <= ENDPOINT_IN_FLIGHT) return
    const surplus = queue.waiting.splice(ENDPOINT_IN_FLIGHT)
    atHand -= surplus.length
    queue.more = true
    giveBack(surplus)
  }

  const start = async (queue: EndpointQueue<D>, delivery: D): Promise<void> => {
    const counted = queue.failing
    queue.inFlight++
    inFlight++
    if (counted) failingInFlight++
    const well = await run(delivery)
    if (well !== undefined) queue.failing = !well
    queue.inFlight--
    inFlight--
    if (counted) failingInFlight--
    atHand--
    makeRoom(queue)
    if (queue.more && !queue.asked && queue.waiting.length <= ENDPOINT_LOW) {
      queue.asked = true
      low()
    }
    standInLine(queue)
    forgetIdle(queue)
    startAll()
  }

  const next = (): EndpointQueue<D> | undefined => {
    if (inFlight >= MAX_IN_FLIGHT) return undefined
    return (
      lines.answering.shift() ?? (failingInFlight < MAX_FAILING_IN_FLIGHT ? lines.failing.shift() : undefined)
    )
  }

  const startAll = (): void => {
    for (let queue = next(); queue; queue = next()) {
      queue.inLine = false
      const delivery = queue.waiting.shift()
      if (delivery !== undefined) void start(queue, delivery)
      standInLine(queue)
    }
  }

  const open = (endpoint: string): EndpointQueue<D> => {
    const queue = queues.get(endpoint) ?? emptyQueue<D>(endpoint)
    queues.set(endpoint, queue)
    return queue
  }

  const forgetIdle = (queue: EndpointQueue<D>): void => {
    // Not one that failed: the next attempt still counts as one to a dead receiver.
    if (queue.inFlight === 0 && queue.waiting.length === 0 && !queue.failing && !queue.more)
      queues.delete(queue.endpoint)
  }

  const room = (endpoint: string): number => {
    const queue = queues.get(endpoint)
    const limit = queue?.failing ? ENDPOINT_IN_FLIGHT : ENDPOINT_AT_HAND
    const used = queue === undefined ? 0 : queue.waiting.length + queue.inFlight
    return Math.max(0, limit - used)
  }

  return {
    get atHand() {
      return atHand
    },
    room,
    directRoom: (endpoint) => (queues.get(endpoint)?.more ? 0 : room(endpoint)),
    share: (endpoints) => Math.floor(Math.max(0, MAX_AT_HAND - atHand) / Math.max(1, endpoints)),
    expectMore(endpoint, more) {
      const queue = open(endpoint)
      queue.more = more
      queue.asked = false
      forgetIdle(queue)
    },
    expectNothing() {
      for (const queue of queues.values()) {
        queue.more = false
        forgetIdle(queue)
      }
    },
    add(endpoint, deliveries) {
      const queue = open(endpoint)
      queue.waiting.push(...deliveries)
      atHand += deliveries.length
      standInLine(queue)
      startAll()
    },
    clear() {
      const waiting = [...queues.values()].flatMap((queue) => queue.waiting.splice(0))
      atHand -= waiting.length
      return waiting
    },
  }
}
