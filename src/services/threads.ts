/** The threads that make and verify proofs, hash and sign, and the files that they do it with. @module */
import { type Artifacts, loadArtifacts } from '../circuits/artifacts/artifacts.ts'
import { QUICK_TABLE_BYTES } from '../circuits/proving/groth16.ts'
import { createWorkerPool, type WorkerPool } from '../circuits/threads/worker-pool.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../http/log.ts'
import type { Database } from '../store/database.ts'

export interface ThreadServices {
  readonly artifacts: Artifacts
  readonly workerPool: WorkerPool
  /** Most memory of all tables. */
  readonly tableBytes: number
}

interface Deps {
  readonly config: Config
  readonly database: Database
  readonly logger: Logger
}

let shipped: Artifacts | undefined
/** Read and checked once, for all servers of a process. */
const shippedArtifacts = (): Artifacts => {
  shipped ??= loadArtifacts()
  return shipped
}

/** None is started yet. Close the pool after those whose work it does. */
export const createThreadServices = ({
  config: { circuitsDir, proverThreads: threads, proverTableMb },
  database,
  logger,
}: Deps): ThreadServices => {
  const artifacts = circuitsDir ? loadArtifacts(circuitsDir) : shippedArtifacts()
  const tableBytes = proverTableMb * 2 ** 20
  const workerPool = createWorkerPool({
    threads,
    artifacts,
    // Above that, the others are made in the background.
    tableBytes: tableBytes < QUICK_TABLE_BYTES ? tableBytes : undefined,
    onFailure: (error) => logger.error({ err: error }, 'a thread for proofs failed'),
  })
  database.onMessage?.(workerPool.hear)
  return { artifacts, workerPool, tableBytes }
}
