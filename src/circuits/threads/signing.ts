/** ML-DSA signatures, which the threads for proofs make. Node only. @module */
import { AppError } from '../../errors.ts'
import { type SignatureAsked, signMlDsa } from '../../keys/ml-dsa.ts'
import { inTurn } from './in-turn.ts'
import type { WorkerPool } from './worker-pool.ts'

/**
 * Signatures take turns with proofs. Where no thread can start, or theirs ended, they are made on the thread that asks: the log is signed
 * whatever becomes of proofs.
 * @returns a function that throws as {@link signMlDsa}
 */
export const createSigning = (pool: Pick<WorkerPool, 'serve' | 'sign'>) => {
  const sign = inTurn(pool, pool.sign)
  return (asked: SignatureAsked): Promise<Uint8Array> =>
    sign(asked).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'unavailable') return signMlDsa(asked)
      throw error
    })
}
