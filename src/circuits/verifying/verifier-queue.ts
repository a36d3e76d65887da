/**
 * Verifies proofs on the threads of the pool, many of one circuit together. Nothing waits for others to come: a free thread takes
 * what there is, and while all are busy the next batch gathers. Node only.
 * @module
 */

import { AppError } from '../../errors.ts'
import type { SnarkProof } from '../../protocol/zk1.ts'
import { CIRCUITS, type CircuitId } from '../catalogue.ts'
import { type ProofRefusal, type ProofVerdict, packProof, type VerificationKey } from '../proof-form.ts'
import { createFairQueue } from '../threads/fair-queue.ts'
import { type GiveWay, NOBODY_GIVES_WAY } from '../threads/give-way.ts'
import type { WorkerPool } from '../threads/worker-pool.ts'

/** Most proofs that are verified together: the twentieth part of a second of a thread. */
const BATCH_PROOFS = 64
/** Most proofs that wait, which is about half a second of one thread, and those of one owner. */
const WAITING_LIMITS = { total: 1024, perOwner: 256 }
/** When what waits has been verified. */
const RETRY_AFTER_SECONDS = 1
/** How long nobody waits for the proofs of an owner again, who spoilt a batch. */
const ALONE_MS = 10_000

interface Waiting {
  readonly circuitId: CircuitId
  readonly owner: string
  readonly proof: Uint8Array
  resolve(verdict: ProofVerdict): void
  reject(error: unknown): void
}

export interface Verifier {
  /**
   * Whether this is a proof of these public signals under the key of a circuit. What they mean is for the caller to check.
   * @param proof JSON form of snarkjs; anything else is refused with a reason
   * @param publicSignals canonical decimals, in the circuit's order
   * @param owner whose turn it takes: an organisation's id
   * @throws AppError proof_service_unavailable when too many proofs wait, of all or of this owner; unavailable after close or when
   *   no thread could start
   */
  verify(
    circuitId: string,
    proof: SnarkProof,
    publicSignals: readonly string[],
    owner: string,
  ): Promise<ProofVerdict>
  /** Finishes what runs, and refuses what waits. */
  close(): Promise<void>
}

export interface VerifierOptions {
  readonly pool: WorkerPool
  /** The verification key of every circuit. */
  readonly artifacts: Readonly<Record<CircuitId, { readonly verificationKey: VerificationKey }>>
  readonly limits?: typeof WAITING_LIMITS
  /** Whose proofs wait while those of others are made. */
  readonly giveWay?: Pick<GiveWay, 'holds' | 'lookAgain'>
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number
}

const refuse = (reason: ProofRefusal): ProofVerdict => ({ valid: false, reason })

/** Whether this verdict took a batch apart. What is no proof at first sight is refused before proofs are combined. */
const isSpoiler = (verdict: ProofVerdict | undefined): boolean =>
  verdict?.valid === false && ['PROOF_INVALID', 'POINT_NOT_IN_SUBGROUP'].includes(verdict.reason)

/** Remembers for a while who spoilt a batch. */
const createSpoilers = (now: () => number) => {
  /** Until when, the first to end first. */
  const until = new Map<string, number>()
  return {
    has: (owner: string): boolean => (until.get(owner) ?? Number.NEGATIVE_INFINITY) > now(),
    add(owner: string): void {
      until.delete(owner)
      until.set(owner, now() + ALONE_MS)
      for (const [other, end] of until) {
        if (end > now()) break
        until.delete(other)
      }
    },
  }
}

/** Makes a verifier. Close it. */
export const createVerifier = ({
  pool,
  artifacts,
  limits = WAITING_LIMITS,
  giveWay = NOBODY_GIVES_WAY,
  now = () => performance.now(),
}: VerifierOptions): Verifier => {
  const circuits = new Map<string, { id: CircuitId; publicCount: number }>(
    CIRCUITS.map(({ id }) => [id, { id, publicCount: artifacts[id].verificationKey.nPublic }]),
  )
  const queue = createFairQueue<Waiting>()
  const spoilers = createSpoilers(now)
  const running = new Set<Promise<void>>()
  let closed = false

  /** The proof whose turn it is, and others of its circuit; alone where its owner spoilt a batch. */
  const nextBatch = (): Waiting[] => {
    /** Each owner is asked about once, of whom hundreds of proofs may wait. */
    const held = new Map<string, boolean>()
    const isHeld = (owner: string): boolean => {
      const known = held.get(owner) ?? giveWay.holds(owner)
      held.set(owner, known)
      return known
    }
    const first = queue.take((owner) => !isHeld(owner))
    if (first === undefined) {
      if (queue.size() > 0) giveWay.lookAgain(wake)
      return []
    }
    if (spoilers.has(first.owner)) return [first]
    const fits = ({ circuitId, owner }: Waiting) =>
      circuitId === first.circuitId && !spoilers.has(owner) && !isHeld(owner)
    return [first, ...queue.takeFitting(BATCH_PROOFS - 1, fits)]
  }

  const verifyBatch = async (batch: readonly Waiting[], circuitId: CircuitId): Promise<void> => {
    try {
      const verdicts = await pool.verify(
        circuitId,
        batch.map(({ proof }) => proof),
      )
      batch.forEach(({ owner, resolve, reject }, i) => {
        const verdict = verdicts[i]
        if (batch.length > 1 && isSpoiler(verdict)) spoilers.add(owner)
        if (verdict === undefined) reject(new Error('a thread gave no verdict'))
        else resolve(verdict)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const wake = pool.serve(() => {
    const batch = nextBatch()
    const [first] = batch
    if (first === undefined) return undefined
    const run: Promise<void> = verifyBatch(batch, first.circuitId).finally(() => running.delete(run))
    running.add(run)
    return run
  })

  return {
    async verify(circuitId, proof, publicSignals, owner) {
      const circuit = circuits.get(circuitId)
      if (circuit === undefined) return refuse('CIRCUIT_UNKNOWN')
      const packed = packProof(circuit.publicCount, proof, publicSignals)
      if (typeof packed === 'string') return refuse(packed)
      if (closed) throw new AppError('unavailable')
      if (queue.size() >= limits.total || queue.sizeOf(owner) >= limits.perOwner)
        throw new AppError('proof_service_unavailable', { retryAfter: RETRY_AFTER_SECONDS })
      return new Promise((resolve, reject) => {
        queue.add(owner, { circuitId: circuit.id, owner, proof: packed, resolve, reject })
        wake()
      })
    },
    async close() {
      closed = true
      for (const { reject } of queue.clear()) reject(new AppError('unavailable'))
      await Promise.all(running)
    },
  }
}
