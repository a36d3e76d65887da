/**
 * Who is next: a lane for each endpoint, with at most four attempts in flight, and turns between the lanes. Lanes
 * whose last attempt failed take turns among themselves, in half of the places that there are, so that however many
 * receivers are dead, those that answer never wait for them.
 * @module
 */

/** Attempts to one endpoint at a time. */
export const LANE_IN_FLIGHT = 4
/** Attempts in all. */
const MAX_IN_FLIGHT = 128
/** Of these, to endpoints whose last attempt failed. */
const MAX_FAILING_IN_FLIGHT = MAX_IN_FLIGHT / 2
/** Deliveries at hand for an endpoint that has not failed just now, so that it needn't wait for the database between two. */
const LANE_AT_HAND = 64
const LANE_LOW = LANE_AT_HAND / 4
/** Deliveries at hand in all. */
const MAX_AT_HAND = 2_048

interface Lane<D> {
  readonly endpoint: string
  readonly waiting: D[]
  inFlight: number
  failing: boolean
  /** Whether it stands in line already. */
  inLine: boolean
  /** Whether the database is likely to hold more for it. */
  more: boolean
}

const emptyLane = <D>(endpoint: string): Lane<D> => ({
  endpoint,
  waiting: [],
  inFlight: 0,
  failing: false,
  inLine: false,
  more: false,
})

export interface Lanes<D> {
  /** How many more deliveries of an endpoint may be taken from the database. */
  room(endpoint: string): number
  /** @param more whether there were more of them than room */
  add(endpoint: string, deliveries: readonly D[], more: boolean): void
  /** Takes back all that wait. */
  clear(): D[]
  /** How many each of some endpoints may add, so that all of them get as much. */
  share(endpoints: number): number
  /** Deliveries at hand, waiting or in flight. */
  readonly atHand: number
}

/**
 * @param run makes an attempt; resolves with whether the endpoint answered well, or undefined when it was not asked
 * @param low called when a lane runs low that had more deliveries than room
 */
export const createLanes = <D>(
  run: (delivery: D) => Promise<boolean | undefined>,
  low: () => void,
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
    if (lane.more && lane.waiting.length <= LANE_LOW) {
      lane.more = false
      low()
    }
    standInLine(lane)
    // Forgotten when idle, except that it failed: then the next attempt still counts as one to a dead receiver.
    if (lane.inFlight === 0 && lane.waiting.length === 0 && !lane.failing) lanes.delete(lane.endpoint)
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

  return {
    get atHand() {
      return atHand
    },
    room(endpoint) {
      const lane = lanes.get(endpoint)
      const limit = lane?.failing ? LANE_IN_FLIGHT : LANE_AT_HAND
      const used = lane === undefined ? 0 : lane.waiting.length + lane.inFlight
      return Math.max(0, limit - used)
    },
    share: (endpoints) => Math.floor(Math.max(0, MAX_AT_HAND - atHand) / Math.max(1, endpoints)),
    add(endpoint, deliveries, more) {
      const lane = lanes.get(endpoint) ?? emptyLane<D>(endpoint)
      lanes.set(endpoint, lane)
      lane.waiting.push(...deliveries)
      lane.more = more
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
