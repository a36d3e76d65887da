/** Work for the threads that make and verify proofs, of one kind, which takes turns with the others. Node only. @module */
import type { WorkerPool } from './worker-pool.ts'

interface Waiting<Asked, Answer> {
  readonly asked: Asked
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * First come, first served. Whoever asks waits for the answer before the pool is closed.
 * @param work of the pool
 * @returns a function that has it done; it throws what `work` throws
 */
export const inTurn = <Asked, Answer>(
  pool: Pick<WorkerPool, 'serve'>,
  work: (asked: Asked) => Promise<Answer>,
): ((asked: Asked) => Promise<Answer>) => {
  const waiting: Waiting<Asked, Answer>[] = []
  const wake = pool.serve(() => {
    const next = waiting.shift()
    return next && work(next.asked).then(next.resolve, next.reject)
  })
  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      wake()
    })
}
