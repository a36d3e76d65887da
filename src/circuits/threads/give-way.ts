/**
 * Who gives way. Threads that make proofs share the processors with the event loop, so an organisation that keeps a server busy makes the
 * proofs of all others slower, however fairly they take turns. So while the threads are busy with proofs of others, whoever takes more than
 * half of the event loop is held: no queued request of it is begun, none of its proofs is verified, and of proofs that wait others'
 * go first; for half of the time at most. What somebody takes is told by points of requests, which cost what they cost and not what they took, so
 * whose many requests are light beside others' few heavy ones may be held as well. Node only.
 * @module
 */
import { performance } from 'node:perf_hooks'

/** Two of them are what counts as lately: one that has ended, and the one that runs. */
const WINDOW_MS = 500
/** Likewise, to see soon who begins to take much; who is held takes nothing for longer than that. */
const SHORT_WINDOW_MS = 100
/** Of the event loop's time, or that of the threads: more than this is much. */
const MUCH = 0.5
/** Fewer points than this lately keep no server busy; by short windows, a fifth of it. */
const MANY_POINTS = 64
/** How long somebody is held without a pause, after which all are free for as long: shorter than a client waits, longer than several proofs take. */
const MOST_HELD_MS = 500
/** How long whoever has asked for a proof is taken to be there. */
const PRESENCE_MS = 1000
/** How long until what is held is looked at again. */
const LOOK_MS = 10
const MS_PER_SECOND = 1000

export interface GiveWay {
  /**
   * Notes a request that was answered.
   * @param owner who took a turn for it; none for what needs no turn, or was refused before
   * @param points what it costs of the rate limit
   */
  requestEnded(owner: string | undefined, points: number): void
  /** Notes a request that waits for a proof, to which others are to give way. */
  proofAsked(owner: string): void
  /** Notes that a proof of this owner waits for a thread. */
  proofQueued(owner: string): void
  /** Notes that a request that waited for a proof was answered. */
  proofAnswered(owner: string): void
  /** Notes for how long a thread made proofs for this owner. */
  threadWorked(owner: string, milliseconds: number): void
  /** Whether this owner takes much beside others who ask for proofs, so that few of its requests are to be worked on at a time. */
  slows(owner: string): boolean
  /** Whether work of this owner has to wait at present. */
  holds(owner: string): boolean
  /**
   * Calls this some milliseconds later, once, however often it is asked for until then.
   * @returns false where nobody was held when that was asked last: then nothing is called
   */
  lookAgain(run: () => void): boolean
  /** For how long somebody was held, since the beginning. */
  heldSeconds(): number
}

export interface GiveWayOptions {
  /** How many threads make proofs. */
  readonly threads: number
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number
  /** Makes what says which share of the time since it was last called the event loop was busy. */
  readonly loopUse?: () => () => number
}

/** For a server that nobody shares. */
export const NOBODY_GIVES_WAY: GiveWay = {
  requestEnded: () => undefined,
  proofAsked: () => undefined,
  proofQueued: () => undefined,
  proofAnswered: () => undefined,
  threadWorked: () => undefined,
  slows: () => false,
  holds: () => false,
  lookAgain: () => false,
  heldSeconds: () => 0,
}

/** What each owner took lately. */
const createLately = (windowMs: number, startedAt: number) => {
  let [before, latest] = [new Map<string, number>(), new Map<string, number>()]
  let [allBefore, allLatest] = [0, 0]
  let windowAt = startedAt
  return {
    add(owner: string | undefined, amount: number): void {
      if (owner !== undefined) latest.set(owner, (latest.get(owner) ?? 0) + amount)
      allLatest += amount
    },
    of: (owner: string): number => (before.get(owner) ?? 0) + (latest.get(owner) ?? 0),
    all: (): number => allBefore + allLatest,
    /** How long lately is, in milliseconds. */
    lasts: (at: number): number => windowMs + at - windowAt,
    /** Forgets what is not lately any more. @returns how many windows have ended, at most the two that count */
    pass(at: number): number {
      const ended = Math.max(0, Math.floor((at - windowAt) / windowMs))
      const counted = Math.min(ended, 2)
      for (let i = 0; i < counted; i++) {
        ;[before, latest] = [latest, new Map()]
        ;[allBefore, allLatest] = [allLatest, 0]
      }
      windowAt += ended * windowMs
      return counted
    },
  }
}

/** Says who takes much of the event loop, by what was answered lately. @param loopUse as GiveWayOptions */
const createLoopShares = (windowMs: number, startedAt: number, loopUse: () => number) => {
  const points = createLately(windowMs, startedAt)
  const many = (MANY_POINTS * windowMs) / WINDOW_MS
  /** How busy the event loop was in the last two windows that have ended. */
  let [before, latest] = [0, 0]
  return {
    add: points.add,
    pass(at: number): void {
      const ended = points.pass(at)
      if (ended === 0) return
      const use = loopUse()
      before = ended === 1 ? latest : use
      latest = use
    },
    isMuch: (owner: string): boolean =>
      points.of(owner) >= many && Math.max(before, latest) * points.of(owner) > MUCH * points.all(),
  }
}

const measureLoop = (): (() => number) => {
  let last = performance.eventLoopUtilization()
  return () => {
    const use = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(use, last)
    last = use
    return utilization
  }
}

/** Says for how long somebody may be held yet: as long as nobody was, and half a second at a time. */
const createAllowance = () => {
  /** For how long somebody was held, less the time in which nobody was. */
  let heldMs = 0
  let isUsedUp = false
  let totalMs = 0
  return {
    mayHold: () => !isUsedUp,
    totalMs: () => totalMs,
    pass(milliseconds: number, isHolding: boolean): void {
      if (isHolding) totalMs += milliseconds
      heldMs = Math.max(0, heldMs + (isHolding ? milliseconds : -milliseconds))
      if (heldMs >= MOST_HELD_MS) isUsedUp = true
      else if (heldMs === 0) isUsedUp = false
    },
  }
}

/** Makes what nobody has taken anything of yet. */
export const createGiveWay = ({
  threads,
  now = () => performance.now(),
  loopUse = measureLoop,
}: GiveWayOptions): GiveWay => {
  let lookedAt = now()
  const loopShares = [WINDOW_MS, SHORT_WINDOW_MS].map((windowMs) =>
    createLoopShares(windowMs, lookedAt, loopUse()),
  )
  const threadMs = createLately(WINDOW_MS, lookedAt)
  const allowance = createAllowance()
  /** How many requests of each owner wait for a proof. */
  const proofs = new Map<string, number>()
  /** When a proof of somebody who takes little was begun to be waited for last. */
  let queuedAt = Number.NEGATIVE_INFINITY
  /** Whether somebody was held when that was asked last. */
  let isHolding = false
  const toCall = new Set<() => void>()

  const callAll = (): void => {
    const calls = [...toCall]
    toCall.clear()
    for (const call of calls) call()
  }
  const look = (): void => {
    const at = now()
    allowance.pass(at - lookedAt, isHolding)
    isHolding &&= allowance.mayHold()
    lookedAt = at
    for (const shares of loopShares) shares.pass(at)
    threadMs.pass(at)
  }
  const keepsLoopBusy = (owner: string): boolean => loopShares.some(({ isMuch }) => isMuch(owner))
  const keepsThreadsBusy = (owner: string): boolean =>
    threadMs.of(owner) > MUCH * threads * threadMs.lasts(lookedAt)
  const takesLittle = (owner: string): boolean => !keepsLoopBusy(owner) && !keepsThreadsBusy(owner)
  /** Whether those who take little have as many proofs as there are threads. Next to nobody takes much, so this ends soon. */
  const areThreadsBusy = (): boolean => {
    let count = 0
    for (const [owner, own] of proofs) {
      if (takesLittle(owner)) count += own
      if (count >= threads) return true
    }
    return false
  }

  return {
    requestEnded(owner, points) {
      look()
      for (const { add } of loopShares) add(owner, points)
    },
    proofAsked(owner) {
      look()
      proofs.set(owner, (proofs.get(owner) ?? 0) + 1)
    },
    proofQueued(owner) {
      look()
      if (takesLittle(owner)) queuedAt = lookedAt
    },
    proofAnswered(owner) {
      look()
      const left = (proofs.get(owner) ?? 0) - 1
      if (left > 0) proofs.set(owner, left)
      else proofs.delete(owner)
      if (!isHolding || areThreadsBusy()) return
      isHolding = false
      // What was held goes on, or it would wait in time that counts as free.
      setImmediate(callAll)
    },
    threadWorked(owner, milliseconds) {
      look()
      threadMs.add(owner, milliseconds)
    },
    slows(owner) {
      look()
      return allowance.mayHold() && lookedAt - queuedAt < PRESENCE_MS && keepsLoopBusy(owner)
    },
    holds(owner) {
      if (proofs.size === 0) return false
      look()
      if (!keepsLoopBusy(owner)) return false
      isHolding = allowance.mayHold() && areThreadsBusy()
      return isHolding
    },
    lookAgain(run) {
      if (!isHolding) return false
      if (toCall.size === 0) setTimeout(callAll, LOOK_MS).unref()
      toCall.add(run)
      return true
    },
    heldSeconds: () => allowance.totalMs() / MS_PER_SECOND,
  }
}
