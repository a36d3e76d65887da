/**
 * Proofs on threads of their own, in two tiers with a bounded queue each, whose owners take turns. Node only.
 * @module
 */
import { Piscina } from 'piscina'
import { AppError } from '../../errors.ts'
import { type Artifacts, workerFile } from '../artifacts/artifacts.ts'
import type { CircuitId } from '../catalogue.ts'
import type { Provable, WitnessInput } from '../circuit.ts'
import { createFairQueue, type FairQueue } from './fair-queue.ts'
import type { Proved, ProvingArtifacts } from './groth16.ts'
import { WitnessError } from './witness.ts'

/** Whose proof it is: `paying` for organisations, `open` for anybody. */
export type Tier = 'paying' | 'open'

/** What a thread is asked for: to prepare itself, or a proof. */
export type ProverTask = 'warm' | { readonly circuitId: CircuitId; readonly input: WitnessInput }

/** What a thread answers: a proof, or why there is no witness. */
export type ProverAnswer = Proved | { readonly noWitness: string }

/** What a thread is given when it starts. */
export interface ProverWorkerData {
  readonly circuits: Readonly<Record<CircuitId, ProvingArtifacts>>
  /** As in ProverOptions. */
  readonly tableBytes?: number
}

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
  readonly task: Exclude<ProverTask, 'warm'>
  resolve(proved: Proved): void
  reject(error: unknown): void
}

export interface Prover {
  /**
   * Makes a proof. Whoever has proofs waiting in a tier takes turns there, one proof at a time.
   * @param input what the circuit's `witnessInput` gives
   * @param owner whose turn it takes: an organisation's id, or what stands for a stranger
   * @throws AppError prover_overloaded when the tier, or the owner's share of it, is full, unavailable after close or
   *   when no thread could start; WitnessError where no witness exists
   */
  prove(circuitId: CircuitId, input: WitnessInput, tier: Tier, owner: string): Promise<Proved>
  /** Starts every thread, so that the first proofs needn't wait for that. */
  warm(): Promise<void>
  /** Finishes the proofs that run, refuses those that wait, and ends the threads. */
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
  /** How many proofs are made at a time, each on one thread. */
  readonly threads: number
  readonly artifacts: Artifacts
  /** Most memory for the tables of one circuit in one thread; what createProofMaker takes where absent. */
  readonly tableBytes?: number
  readonly limits?: Readonly<Record<Tier, TierLimits>>
  /** The program that the threads run; the built one where absent. */
  readonly program?: string
  /** Hears of each proof that was made, and how many seconds its thread took. */
  readonly onProved?: (circuitId: CircuitId, seconds: number) => void
  /** Hears of a thread that failed while it made no proof. */
  readonly onFailure?: (error: unknown) => void
}

/** Runs tasks on threads. @throws AppError unavailable for what waits when no thread could start */
const createPool = ({
  threads,
  artifacts,
  tableBytes,
  program,
  onFailure = () => undefined,
}: ProverOptions) => {
  const workerData: ProverWorkerData = { circuits: artifacts, tableBytes }
  const pool = new Piscina({
    filename: program ?? workerFile(),
    // Threads start with the first proofs and stay, since each has to prepare its circuits.
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: Number.POSITIVE_INFINITY,
    // A plain bundle: it needs none of the loaders that this process may run with.
    execArgv: [],
    workerData,
  })
  let started = new AbortController()
  pool.on('error', (error) => {
    onFailure(error)
    // While another thread lives, it takes what waits for this one. Otherwise the pool would start none for that.
    if (pool.threads.length > 0) return
    started.abort()
    started = new AbortController()
  })
  return {
    async run(task: ProverTask): Promise<ProverAnswer> {
      const { signal } = started
      try {
        return await pool.run(task, { signal })
      } catch (cause) {
        throw signal.aborted ? new AppError('unavailable', { cause }) : cause
      }
    },
    destroy: () => pool.destroy(),
  }
}

/** Says how many seconds so many proofs take, by those that were measured. */
const createEstimate = (threads: number) => {
  let proofMs = TYPICAL_PROOF_MS
  return {
    measured(ms: number): void {
      proofMs += (ms - proofMs) * NEWEST_SHARE
    },
    seconds: (proofs: number): number =>
      Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((proofs * proofMs) / threads / MS_PER_SECOND))),
  }
}

/** Makes a prover; its threads start when they are needed. Close it. */
export const createProver = (options: ProverOptions): Prover => {
  const { threads, limits = TIER_LIMITS, onProved = () => undefined } = options
  const pool = createPool(options)
  const estimate = createEstimate(threads)
  const tiers: Readonly<Record<Tier, FairQueue<Waiting>>> = {
    paying: createFairQueue(),
    open: createFairQueue(),
  }
  const running = new Set<Promise<void>>()
  let turn = 0
  let closed = false
  let warming: Promise<void> | undefined

  const next = (): Waiting | undefined => {
    const isOpen = tiers.open.size() > 0 && (tiers.paying.size() === 0 || ++turn % OPEN_EVERY === 0)
    return tiers[isOpen ? 'open' : 'paying'].take()
  }

  const make = async ({ task }: Waiting): Promise<Proved> => {
    const startedAt = performance.now()
    const proved = await pool.run(task)
    if ('noWitness' in proved) throw new WitnessError(proved.noWitness)
    const ms = performance.now() - startedAt
    estimate.measured(ms)
    onProved(task.circuitId, ms / MS_PER_SECOND)
    return proved
  }

  const dispatch = (): void => {
    while (running.size < threads) {
      const waiting = next()
      if (waiting === undefined) return
      const run: Promise<void> = make(waiting)
        .then(waiting.resolve, waiting.reject)
        .finally(() => {
          running.delete(run)
          dispatch()
        })
      running.add(run)
    }
  }

  /** When a proof that came now would be made. */
  const retryAfter = (tier: Tier, owner: string): number => {
    const ahead = tiers[tier].ahead(owner)
    const others = tiers[tier === 'open' ? 'paying' : 'open'].size()
    const between = Math.min(others, Math.ceil((ahead + 1) * OTHERS_EACH[tier]))
    return estimate.seconds(running.size + ahead + between)
  }

  return {
    prove(circuitId, input, tier, owner) {
      const queue = tiers[tier]
      const { total, perOwner } = limits[tier]
      return new Promise((resolve, reject) => {
        if (closed) reject(new AppError('unavailable'))
        else if (queue.size() >= total || queue.sizeOf(owner) >= perOwner) {
          reject(new AppError('prover_overloaded', { retryAfter: retryAfter(tier, owner) }))
        } else {
          queue.add(owner, { task: { circuitId, input }, resolve, reject })
          dispatch()
        }
      })
    },
    warm() {
      warming ??= Promise.all(Array.from({ length: threads }, () => pool.run('warm'))).then(
        () => undefined,
        (error: unknown) => {
          warming = undefined
          throw error
        },
      )
      return warming
    },
    async close() {
      if (closed) return
      closed = true
      for (const { reject } of [...tiers.paying.clear(), ...tiers.open.clear()])
        reject(new AppError('unavailable'))
      // Who asked for the warmth hears of its failure.
      await Promise.all([...running, warming?.catch(() => undefined)])
      await pool.destroy()
    },
  }
}
