/**
 * Makes proofs on the threads of the pool, in two tiers with a bounded queue each, whose owners take turns. Node only.
 * @module
 */
import { AppError } from '../../errors.ts'
import type { CircuitId } from '../catalogue.ts'
import type { Provable, WitnessInput } from '../circuit.ts'
import { createFairQueue, type FairQueue } from '../threads/fair-queue.ts'
import { type GiveWay, NOBODY_GIVES_WAY } from '../threads/give-way.ts'
import type { WorkerPool } from '../threads/worker-pool.ts'
import { createCircuitTables } from './circuit-tables.ts'
import type { Proved } from './groth16.ts'
import { createStopSign, isStopped, type StopSign, stop } from './stop-sign.ts'
import { WitnessError } from './witness.ts'

/** Whose proof it is: `paying` for organisations, `open` for anybody. */
export type Tier = 'paying' | 'open'

/** Most proofs that wait in a tier. */
export interface TierLimits {
  readonly total: number
  /** Of one owner; less than `total`, so that no owner fills a tier alone. */
  readonly perOwner: number
}

/** On one thread a full paying tier takes most of a minute. */
const TIER_LIMITS: Readonly<Record<Tier, TierLimits>> = {
  paying: { total: 256, perOwner: 64 },
  open: { total: 32, perOwner: 8 },
}
/** How long a proof may have to wait while several owners wait: after more was asked than can be made, all is soon as usual. */
const MAX_SHARED_WAIT_SECONDS = 4
/** While both tiers wait, every so many proofs one is from the open tier. */
const OPEN_EVERY = 4
/** How many proofs of the other tier go before one of this tier, at most, while both wait. */
const OTHERS_EACH: Readonly<Record<Tier, number>> = { paying: 1 / (OPEN_EVERY - 1), open: OPEN_EVERY - 1 }
/** About what one proof takes, until some were measured. */
const TYPICAL_PROOF_MS = 250
/** How much the newest proof counts in the average. */
const NEWEST_SHARE = 1 / 8
const MAX_RETRY_SECONDS = 60
const MS_PER_SECOND = 1000

interface Waiting {
  readonly tier: Tier
  readonly owner: string
  readonly circuitId: CircuitId
  readonly input: WitnessInput
  /** Whether it was begun, and given up for others. */
  readonly wasGivenUp: boolean
  resolve(proved: Proved): void
  reject(error: unknown): void
}

interface Running extends Waiting {
  readonly sign: StopSign
  readonly ended: Promise<void>
}

export interface Prover {
  /**
   * Makes a proof. Whoever has proofs waiting in a tier takes turns there, one proof at a time.
   * @param input what the circuit's `witnessInput` gives
   * @param owner whose turn it takes: an organisation's id, or what stands for a stranger
   * @throws AppError prover_overloaded when the tier, or the owner's share of it, is full, or while several owners wait and this proof
   *   would wait for longer than 4 s; unavailable after close or when no thread could start; WitnessError where no witness exists
   */
  prove(circuitId: CircuitId, input: WitnessInput, tier: Tier, owner: string): Promise<Proved>
  /** How many proofs wait for a thread, by tier. */
  waiting(): Readonly<Record<Tier, number>>
  /** Finishes the proofs that run, and refuses those that wait, or were given up. */
  close(): Promise<void>
}

/** Makes a proof of just these public signals. @throws as `prove`; Error where the circuit comes to others */
export const proveSignals = async (
  prover: Pick<Prover, 'prove'>,
  circuitId: CircuitId,
  { witness, publicSignals }: Provable,
  tier: Tier,
  owner: string,
): Promise<Proved> => {
  const made = await prover.prove(circuitId, witness, tier, owner)
  if (made.publicSignals.join() !== publicSignals.join())
    throw new Error(`The prover of ${circuitId} came to other public signals.`)
  return made
}

export interface ProverOptions {
  /** Makes the proofs. */
  readonly pool: WorkerPool
  readonly limits?: Readonly<Record<Tier, TierLimits>>
  /** Whose proofs are made after others', and given up for them. */
  readonly giveWay?: Pick<GiveWay, 'proofQueued' | 'threadWorked' | 'holds'>
  /** How long a proof may have to wait while several owners wait, in seconds. */
  readonly sharedWaitSeconds?: number
  /** Most memory for the tables of one circuit in one thread that are made in the background; none where absent. */
  readonly tableBytes?: number
  /** Hears of tables that could not be made. */
  readonly onFailure?: (error: unknown) => void
  /** Hears of each proof that was made, and how many seconds its thread took. */
  readonly onProved?: (circuitId: CircuitId, seconds: number) => void
}

/** Says how many seconds so many proofs take, by those that were measured. */
const createEstimate = (threads: number) => {
  let proofMs = TYPICAL_PROOF_MS
  let isGuess = true
  return {
    isGuess: () => isGuess,
    measured(ms: number): void {
      isGuess = false
      proofMs += (ms - proofMs) * NEWEST_SHARE
    },
    seconds: (proofs: number): number =>
      Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((proofs * proofMs) / threads / MS_PER_SECOND))),
  }
}

/** Makes a prover. Close it. */
export const createProver = ({
  pool,
  limits = TIER_LIMITS,
  giveWay = NOBODY_GIVES_WAY,
  sharedWaitSeconds = MAX_SHARED_WAIT_SECONDS,
  tableBytes = 0,
  onFailure,
  onProved = () => undefined,
}: ProverOptions): Prover => {
  const estimate = createEstimate(pool.threads)
  const tiers: Readonly<Record<Tier, FairQueue<Waiting>>> = {
    paying: createFairQueue(),
    open: createFairQueue(),
  }
  const running = new Set<Running>()
  let turn = 0
  let closed = false

  const next = (): Waiting | undefined => {
    const isOpen = tiers.open.size() > 0 && (tiers.paying.size() === 0 || ++turn % OPEN_EVERY === 0)
    if (isOpen) return tiers.open.take()
    return tiers.paying.take((owner) => !giveWay.holds(owner)) ?? tiers.paying.take()
  }

  /** @returns undefined for a proof that was given up */
  const make = async (
    { circuitId, input, tier, owner }: Waiting,
    sign: StopSign,
  ): Promise<Proved | undefined> => {
    const startedAt = performance.now()
    const proved = await pool.prove(circuitId, input, tables.current(), sign)
    const ms = performance.now() - startedAt
    if (tier === 'paying') giveWay.threadWorked(owner, ms)
    if ('stopped' in proved) return undefined
    if ('noWitness' in proved) throw new WitnessError(proved.noWitness)
    estimate.measured(ms)
    onProved(circuitId, ms / MS_PER_SECOND)
    tables.used(circuitId)
    return proved
  }

  const putBack = (waiting: Waiting): void => {
    if (closed) waiting.reject(new AppError('unavailable'))
    else tiers[waiting.tier].putBack(waiting.owner, { ...waiting, wasGivenUp: true })
  }
  const begin = (waiting: Waiting): Promise<void> => {
    const sign = createStopSign()
    const ended = make(waiting, sign)
      .then((proved) => (proved === undefined ? putBack(waiting) : waiting.resolve(proved)), waiting.reject)
      .finally(() => running.delete(run))
    const run: Running = { ...waiting, sign, ended }
    running.add(run)
    return ended
  }
  const wake = pool.serve(() => {
    const waiting = next()
    return waiting && begin(waiting)
  })
  /** Gives up a proof of whoever gives way, unless it was given up before: nobody's proof is begun more than twice. */
  const makeWay = (): void => {
    const last = [...running].findLast(
      ({ tier, owner, wasGivenUp, sign }) =>
        tier === 'paying' && !wasGivenUp && !isStopped(sign) && giveWay.holds(owner),
    )
    if (last !== undefined) stop(last.sign)
  }
  const tables = createCircuitTables({ pool, bytesEach: tableBytes, onFailure })

  /** Seconds until a proof that came now would be made. */
  const secondsUntilMade = (tier: Tier, owner: string): number => {
    const ahead = tiers[tier].ahead(owner)
    const others = tiers[tier === 'open' ? 'paying' : 'open'].size()
    const between = Math.min(others, Math.ceil((ahead + 1) * OTHERS_EACH[tier]))
    return estimate.seconds(running.size + ahead + between)
  }

  const isFull = (tier: Tier, owner: string): boolean => {
    const { total, perOwner } = limits[tier]
    const [all, own] = [tiers[tier].size(), tiers[tier].sizeOf(owner)]
    if (all >= total || own >= perOwner) return true
    const isShared = all > own && own > 0 && !estimate.isGuess()
    return isShared && secondsUntilMade(tier, owner) > sharedWaitSeconds
  }

  return {
    prove(circuitId, input, tier, owner) {
      return new Promise((resolve, reject) => {
        if (closed) reject(new AppError('unavailable'))
        else if (isFull(tier, owner)) {
          reject(new AppError('prover_overloaded', { retryAfter: secondsUntilMade(tier, owner) }))
        } else {
          if (tier === 'paying') giveWay.proofQueued(owner)
          tiers[tier].add(owner, { tier, owner, circuitId, input, wasGivenUp: false, resolve, reject })
          wake()
          const waits = tiers[tier].sizeOf(owner) > 0
          if (tier === 'paying' && waits && !giveWay.holds(owner)) makeWay()
        }
      })
    },
    waiting: () => ({ paying: tiers.paying.size(), open: tiers.open.size() }),
    async close() {
      closed = true
      for (const { reject } of [...tiers.paying.clear(), ...tiers.open.clear()])
        reject(new AppError('unavailable'))
      await Promise.all([...[...running].map(({ ended }) => ended), tables.close()])
    },
  }
}
