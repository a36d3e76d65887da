/**
 * Who is next: a lane for each endpoint, with at most four attempts in flight, and turns between the lanes. Lanes
 * whose last attempt failed, or was slow, take turns among themselves, in half of the places that there are, so that
 * however many receivers are dead, those that answer don't wait for them.
 * @module
 */

/** Attempts to one endpoint at a time. */
export const LANE_IN_FLIGHT = 4
/** Attempts in all. */
const MAX_IN_FLIGHT = 128
/** Of these, to endpoints whose last attempt failed or was slow. */
const MAX_FAILING_IN_FLIGHT = MAX_IN_FLIGHT / 2
/** Deliveries at hand for an endpoint that has not failed just now, so that it needn't wait for the database between two. */
const LANE_AT_HAND = 128
const LANE_LOW = LANE_AT_HAND / 4
/** Deliveries at hand in all. */
const MAX_AT_HAND = 2_048
/** With more at hand, an endpoint that fails gives back what it won't get to soon, so that others have room. */
const CROWDED_AT_HAND = MAX_AT_HAND / 2

interface Lane<D> {
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

const emptyLane = <D>(endpoint: string): Lane<D> => ({
  endpoint,
  waiting: [],
  inFlight: 0,
  failing: false,
  inLine: false,
  more: false,
  asked: false,
})

export interface Lanes<D> {
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
 * @param low called when a lane runs low that had more deliveries than room
 * @param giveBack called with deliveries that are to go back to the database untried
 */
export const createLanes = <D>(
  run: (delivery: D) => Promise<boolean | undefined>,
  low: () => void,
  giveBack: (deliveries: readonly D[]) => void,
): Lanes<D> => {
  const lanes = new Map<string, Lane<D>>()
  const lines = { answering: [] as Lane<D>[], failing: [] as Lane<D>[] }
  let atHand = 0
  let inFlight = 0
  let failingInFlight = 0

  const standInLine = (lane: Lane<D>): void => {
    if (lane.inLine || lane.waiting.length === 0 || lane.inFlight >= LANE_IN_FLIGHT) return
    lane.inLine = true
    lines[lane.failing ? 'failing' : 'answering'].push(lane)
  }

  const makeRoom = (lane: Lane<D>): void => {
    if (!lane.failing || atHand <= CROWDED_AT_HAND || lane.waiting.length <= LANE_IN_FLIGHT) return
    const surplus = lane.waiting.splice(LANE_IN_FLIGHT)
    atHand -= surplus.length
    lane.more = true
    giveBack(surplus)
  }

  const start = async (lane: Lane<D>, delivery: D): Promise<void> => {
    const counted = lane.failing
    lane.inFlight++
    inFlight++
    if (counted) failingInFlight++
    const well = await run(delivery)
    if (well !== undefined) lane.failing = !well
    lane.inFlight--
    inFlight--
    if (counted) failingInFlight--
    atHand--
    makeRoom(lane)
    if (lane.more && !lane.asked && lane.waiting.length <= LANE_LOW) {
      lane.asked = true
      low()
    }
    standInLine(lane)
    forgetIdle(lane)
    startAll()
  }

  const next = (): Lane<D> | undefined => {
    if (inFlight >= MAX_IN_FLIGHT) return undefined
    return (
      lines.answering.shift() ?? (failingInFlight < MAX_FAILING_IN_FLIGHT ? lines.failing.shift() : undefined)
    )
  }

  const startAll = (): void => {
    for (let lane = next(); lane; lane = next()) {
      lane.inLine = false
      const delivery = lane.waiting.shift()
      if (delivery !== undefined) void start(lane, delivery)
      standInLine(lane)
    }
  }

  const open = (endpoint: string): Lane<D> => {
    const lane = lanes.get(endpoint) ?? emptyLane<D>(endpoint)
    lanes.set(endpoint, lane)
    return lane
  }

  const forgetIdle = (lane: Lane<D>): void => {
    // Not one that failed: the next attempt still counts as one to a dead receiver.
    if (lane.inFlight === 0 && lane.waiting.length === 0 && !lane.failing && !lane.more)
      lanes.delete(lane.endpoint)
  }

  const room = (endpoint: string): number => {
    const lane = lanes.get(endpoint)
    const limit = lane?.failing ? LANE_IN_FLIGHT : LANE_AT_HAND
    const used = lane === undefined ? 0 : lane.waiting.length + lane.inFlight
    return Math.max(0, limit - used)
  }

  return {
    get atHand() {
      return atHand
    },
    room,
    directRoom: (endpoint) => (lanes.get(endpoint)?.more ? 0 : room(endpoint)),
    share: (endpoints) => Math.floor(Math.max(0, MAX_AT_HAND - atHand) / Math.max(1, endpoints)),
    expectMore(endpoint, more) {
      const lane = open(endpoint)
      lane.more = more
      lane.asked = false
      forgetIdle(lane)
    },
    expectNothing() {
      for (const lane of lanes.values()) {
        lane.more = false
        forgetIdle(lane)
      }
    },
    add(endpoint, deliveries) {
      const lane = open(endpoint)
      lane.waiting.push(...deliveries)
      atHand += deliveries.length
      standInLine(lane)
      startAll()
    },
    clear() {
      const waiting = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0))
      atHand -= waiting.length
      return waiting
    },
  }
}
