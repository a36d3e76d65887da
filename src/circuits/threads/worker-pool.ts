/**
 * The threads that make and verify proofs, hash and sign. Who has work for them keeps it in a queue of its own, and takes turns with the others.
 * Node only.
 * @module
 */
import type { SignatureAsked } from '../../keys/ml-dsa.ts'
import { type Artifacts, workerFile } from '../artifacts/artifacts.ts'
import { CIRCUITS, type CircuitId } from '../catalogue.ts'
import type { WitnessInput } from '../circuit.ts'
import type { ProofVerdict, VerificationKey } from '../proof-form.ts'
import type { Proved, ProvingArtifacts } from '../proving/groth16.ts'
import type { StopSign } from '../proving/stop-sign.ts'
import type { SharedTables, TableMaker } from '../proving/tables.ts'
import type { HashesAsked } from './hashing.ts'
import { createHelpQueue } from './help-queue.ts'
import type { HelpAsked } from './helpers.ts'
import { createThreads } from './threads.ts'

/** What proofs of one circuit are made with, in shared memory. A thread is given it with each task, and needs it for the first. */
export interface CircuitGiven {
  readonly circuitId: CircuitId
  readonly files: ProvingArtifacts
}

/** Which tables are to be made. */
export interface TablesAsked {
  readonly circuitId: CircuitId
  readonly budgetBytes: number
}

export interface ProvingTask extends CircuitGiven {
  readonly input: WitnessInput
  /** All that there are: a thread gives up its copies of others. */
  readonly tables: SharedTables
  /** How many other threads to ask for help. */
  readonly helpers: number
  readonly stop: StopSign
}

interface HelpingTask extends Pick<CircuitGiven, 'files'> {
  readonly help: HelpAsked
}

interface TablesTask extends Pick<CircuitGiven, 'files'> {
  readonly asked: TablesAsked
  /** The slice to make, and where; none to hear how many there are. */
  readonly slice?: { readonly number: number; readonly into: Uint8Array }
}

interface VerifyingTask {
  readonly circuitId: CircuitId
  /** What packProof made of them. */
  readonly proofs: readonly Uint8Array[]
}

/** What a thread is asked for: to prepare itself, a proof, what to think of proofs, a part of tables, hashes, or a signature. */
export type WorkerTask =
  | { readonly warm: CircuitGiven }
  | { readonly hashes: HashesAsked }
  | { readonly signature: SignatureAsked }
  | ProvingTask
  | HelpingTask
  | VerifyingTask
  | TablesTask

/** A proof, or why there is none: it has no witness, or was to be given up. */
type ProvingAnswer = Proved | { readonly noWitness: string } | { readonly stopped: true }

/** What tables take. */
export type TablesPlan = Pick<TableMaker, 'bytes' | 'slices'>

export type WorkerAnswer = ProvingAnswer | readonly ProofVerdict[] | TablesPlan | Uint8Array | undefined

/** What a thread is given when it starts. */
export interface WorkerData {
  readonly verificationKeys: ReadonlyMap<CircuitId, VerificationKey>
  /** As in WorkerPoolOptions. */
  readonly tableBytes?: number
}

export interface WorkerPoolOptions {
  /** How many tasks run at a time. */
  readonly threads: number
  readonly artifacts: Artifacts
  /** Most memory for the tables of one circuit that a thread makes itself; what createCircuitProver takes where absent. */
  readonly tableBytes?: number
  /** The program that the threads run; the built one where absent. */
  readonly program?: string
  /** Hears of a thread that failed while it had no task. */
  readonly onFailure?: (error: unknown) => void
}

/**
 * Begins the next piece of somebody's work, which is one task.
 * @returns undefined where there is none, else a promise that is kept when a thread is free again, whatever came of it
 */
export type BeginWork = () => Promise<void> | undefined

export interface WorkerPool {
  readonly threads: number
  /** How many tasks run. */
  running(): number
  /**
   * Asks this for work whenever a thread is free.
   * @returns to be called when there may be work
   */
  serve(begin: BeginWork): () => void
  /**
   * Only in work that was begun. Threads that have nothing to do meanwhile help with it.
   * @param stop to give the proof up
   * @throws AppError unavailable when no thread could start
   */
  prove(
    circuitId: CircuitId,
    input: WitnessInput,
    tables: SharedTables,
    stop: StopSign,
  ): Promise<ProvingAnswer>
  /** Likewise. */
  planTables(asked: TablesAsked): Promise<TablesPlan>
  /** Makes a slice of tables. Likewise. @param into shared memory for all of them */
  fillTables(asked: TablesAsked, number: number, into: Uint8Array): Promise<void>
  /** Likewise. @returns the verdict on each proof */
  verify(circuitId: CircuitId, proofs: readonly Uint8Array[]): Promise<readonly ProofVerdict[]>
  /** Likewise. @returns 32 bytes a hash */
  hash(asked: HashesAsked): Promise<Uint8Array>
  /** Likewise. @throws as {@link signMlDsa} */
  sign(asked: SignatureAsked): Promise<Uint8Array>
  /** Starts every thread, so that the first tasks needn't wait for that. @throws as `prove` */
  warm(): Promise<void>
  /** Takes what threads have answered, so that they have their next task before the turn of the event loop ends. */
  hear(): void
  /** Ends the threads when what runs has ended. */
  close(): Promise<void>
}

/** What most verifications ask for. Preparing it also gets the code compiled well. */
const WARM: CircuitId = 'yesno'
/** Of each thread's heap; by default three times as much. */
const YOUNG_GENERATION_MIB = 16
/** With more, what only one thread can make would take longest. */
const MOST_HELPERS = 2

/** Makes a pool; its threads start when they are needed. Close it, after those whose work it does. */
export const createWorkerPool = ({
  threads,
  artifacts,
  tableBytes,
  program = workerFile(),
  onFailure = () => undefined,
}: WorkerPoolOptions): WorkerPool => {
  const verificationKeys = new Map(CIRCUITS.map(({ id }) => [id, artifacts[id].verificationKey]))
  const { run, hear, close } = createThreads({
    most: threads,
    program,
    data: { verificationKeys, tableBytes } satisfies WorkerData,
    // Their work is in WebAssembly: little is allocated that is soon garbage.
    youngGenerationMib: YOUNG_GENERATION_MIB,
    // Nothing else is sent.
    onMessage(asked) {
      help.add(asked as HelpAsked)
      dispatch()
    },
    onFailure,
  })
  const filesOf = (id: CircuitId): Promise<ProvingArtifacts> => artifacts[id].load()
  const help = createHelpQueue(async (asked) => {
    const files = await filesOf(asked.circuitId)
    return run({ help: asked, files }, [asked.scalars.buffer, asked.port])
  })
  /** In the order of their turns. */
  const sources: BeginWork[] = []
  const running = new Set<Promise<void>>()
  let warming: Promise<void> | undefined
  let closing: Promise<void> | undefined

  /** Begins the work of whoever's turn it is, who then has the last turn. */
  const next = (): Promise<void> | undefined => {
    for (const [i, begin] of sources.entries()) {
      const work = begin()
      if (work === undefined) continue
      sources.push(...sources.splice(i, 1))
      return work
    }
    return undefined
  }

  const dispatch = (): void => {
    while (running.size < threads) {
      // Only where nobody waits.
      const work = next() ?? help.begin()
      if (work === undefined) return
      const task: Promise<void> = work.finally(() => {
        running.delete(task)
        help.prune()
        dispatch()
      })
      running.add(task)
    }
  }

  return {
    threads,
    running: () => running.size,
    serve(begin) {
      sources.push(begin)
      return () => {
        if (running.size >= threads) help.end()
        dispatch()
      }
    },
    // What a thread answers follows from the task; both sides are typed by WorkerTask and WorkerAnswer.
    async prove(circuitId, input, tables, stop) {
      // This work doesn't count yet.
      const helpers = Math.min(MOST_HELPERS, threads - running.size - 1)
      const files = await filesOf(circuitId)
      return (await run({ circuitId, files, input, tables, helpers, stop })) as ProvingAnswer
    },
    planTables: async (asked) => (await run({ asked, files: await filesOf(asked.circuitId) })) as TablesPlan,
    async fillTables(asked, number, into) {
      await run({ asked, files: await filesOf(asked.circuitId), slice: { number, into } })
    },
    verify: async (circuitId, proofs) => (await run({ circuitId, proofs })) as readonly ProofVerdict[],
    hash: async (hashes) => (await run({ hashes })) as Uint8Array,
    sign: async (signature) => (await run({ signature })) as Uint8Array,
    warm() {
      const all = async (): Promise<void> => {
        const given = { circuitId: WARM, files: await filesOf(WARM) }
        await Promise.all(Array.from({ length: threads }, () => run({ warm: given })))
      }
      warming ??= all().catch((error: unknown) => {
        warming = undefined
        throw error
      })
      return warming
    },
    hear,
    close() {
      // Who asked for the warmth hears of its failure.
      closing ??= Promise.all([...running, warming?.catch(() => undefined)]).then(close)
      return closing
    },
  }
}
