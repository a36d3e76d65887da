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
/**
 * Of these, for endpoints whose last attempt failed or was slow: what silent ones get through, in 8 s each, before the
 * leases end.
 */
const MAX_FAILING_AT_HAND = MAX_FAILING_IN_FLIGHT * 4

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

/** What some endpoints may add. */
export interface Shares {
  /** How many deliveries each; those that may add none are left out. */
  readonly rooms: ReadonlyMap<string, number>
  /** The first endpoint that had to be passed over, though it could take some. */
  readonly passedOver: string | undefined
}

/** Deliveries at hand for an endpoint, waiting or in flight. */
const heldBy = ({ waiting, inFlight }: EndpointQueue<unknown>): number => waiting.length + inFlight

export interface EndpointQueues<D> {
  /** What some endpoints may take from the database, so that all of them get as much. */
  shares(endpoints: readonly string[]): Shares
  /** The same of what they may get past the database: none while that is likely to hold older ones. */
  directShares(endpoints: readonly string[]): Shares
  add(endpoint: string, deliveries: readonly D[]): void
  /** Says whether the database is likely to hold more for an endpoint. */
  expectMore(endpoint: string, more: boolean): void
  /** Says that nobody knows what the database holds. */
  expectNothing(): void
  /** Takes back all that wait. */
  clear(): D[]
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
  let failingAtHand = 0
  let inFlight = 0
  let failingInFlight = 0

  const standInLine = (queue: EndpointQueue<D>): void => {
    if (queue.inLine || queue.waiting.length === 0 || queue.inFlight >= ENDPOINT_IN_FLIGHT) return
    queue.inLine = true
    lines[queue.failing ? 'failing' : 'answering'].push(queue)
  }

  const hold = (queue: EndpointQueue<D>, change: number): void => {
    atHand += change
    if (queue.failing) failingAtHand += change
  }

  const setFailing = (queue: EndpointQueue<D>, failing: boolean): void => {
    if (queue.failing === failing) return
    queue.failing = failing
    failingAtHand += failing ? heldBy(queue) : -heldBy(queue)
  }

  /** An endpoint that fails gives back what it won't get to soon, where others that fail need the room. */
  const makeRoom = (queue: EndpointQueue<D>): void => {
    const excess = failingAtHand - MAX_FAILING_AT_HAND
    if (!queue.failing || excess < 0) return
    const kept = Math.max(0, Math.min(ENDPOINT_IN_FLIGHT, queue.waiting.length - excess))
    const surplus = queue.waiting.splice(kept)
    if (surplus.length === 0) return
    hold(queue, -surplus.length)
    queue.more = true
    giveBack(surplus)
  }

  const start = async (queue: EndpointQueue<D>, delivery: D): Promise<void> => {
    const counted = queue.failing
    queue.inFlight++
    inFlight++
    if (counted) failingInFlight++
    const well = await run(delivery)
    if (well !== undefined) setFailing(queue, !well)
    hold(queue, -1)
    queue.inFlight--
    inFlight--
    if (counted) failingInFlight--
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

  const isFailing = (endpoint: string): boolean => queues.get(endpoint)?.failing === true

  const room = (endpoint: string): number => {
    const queue = queues.get(endpoint)
    const limit = queue?.failing ? ENDPOINT_IN_FLIGHT : ENDPOINT_AT_HAND
    return Math.max(0, limit - (queue === undefined ? 0 : heldBy(queue)))
  }

  /** Divides what is left among endpoints that have room, and among those that fail what is left to them. */
  const divide = (endpoints: readonly string[], roomOf: (endpoint: string) => number): Shares => {
    const wanting = endpoints.filter((endpoint) => roomOf(endpoint) > 0)
    const failing = wanting.filter(isFailing).length
    let left = Math.max(0, MAX_AT_HAND - atHand)
    let leftToFailing = Math.max(0, MAX_FAILING_AT_HAND - failingAtHand)
    const share = Math.max(1, Math.floor(left / Math.max(1, wanting.length - failing)))
    const failingShare = Math.max(1, Math.floor(leftToFailing / Math.max(1, failing)))
    const rooms = new Map<string, number>()
    for (const endpoint of wanting) {
      const fails = isFailing(endpoint)
      const most = fails ? Math.min(failingShare, leftToFailing) : share
      const given = Math.min(roomOf(endpoint), most, left)
      left -= given
      if (fails) leftToFailing -= given
      if (given > 0) rooms.set(endpoint, given)
    }
    return { rooms, passedOver: wanting.find((endpoint) => !rooms.has(endpoint)) }
  }

  return {
    get atHand() {
      return atHand
    },
    shares: (endpoints) => divide(endpoints, room),
    directShares: (endpoints) =>
      divide(endpoints, (endpoint) => (queues.get(endpoint)?.more ? 0 : room(endpoint))),
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
      hold(queue, deliveries.length)
      standInLine(queue)
      startAll()
    },
    clear() {
      return [...queues.values()].flatMap((queue) => {
        const waiting = queue.waiting.splice(0)
        hold(queue, -waiting.length)
        return waiting
      })
    },
  }
}
