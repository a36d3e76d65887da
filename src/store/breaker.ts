/** A circuit breaker around calls that may fail or hang, and without which one can do. @module */

/** @returns the promise's own outcome. @throws Error when there is none within `timeoutMs` */
export const within = async <T>(promise: Promise<T>, timeoutMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Makes the call, unless one failed a moment ago. @returns undefined where it wasn't made, failed or hung */
export type Breaker = <T>(call: () => Promise<T>) => Promise<T | undefined>

/**
 * @param options.timeoutMs longest wait for a call
 * @param options.pauseMs how long no call is made after one failed
 * @param options.onFailure called at most once a pause
 */
export const createBreaker = (options: {
  readonly timeoutMs: number
  readonly pauseMs: number
  readonly onFailure?: (error: unknown) => void
}): Breaker => {
  const { timeoutMs, pauseMs, onFailure } = options
  let pausedUntil = 0
  return async (call) => {
    if (performance.now() < pausedUntil) return undefined
    try {
      return await within(call(), timeoutMs)
    } catch (error) {
      // Calls that were made together fail together, and are told as one.
      if (performance.now() >= pausedUntil) onFailure?.(error)
      pausedUntil = performance.now() + pauseMs
      return undefined
    }
  }
}
