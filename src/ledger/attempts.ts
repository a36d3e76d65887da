/** Steps of a request that commits several times, and attempts of one step, which is made anew when others were faster. @module */
import type { Caller, Idempotency } from '../caller.ts'

/** How many steps each request has begun. */
const steps = new WeakMap<Idempotency, number>()

/** The number of a request's next step, from 0. */
export const beginStep = (idempotency: Idempotency): number => {
  const step = steps.get(idempotency) ?? 0
  steps.set(idempotency, step + 1)
  return step
}

/** The key under which the answer of a request's step is kept. */
export const stepKey = (key: string, step: number): string => (step === 0 ? key : `${key}.${step}`)

/**
 * Has one step of a request attempted until it is no longer undefined: whoever repeats the request under its Idempotency-Key gets the
 * answer of the attempt that wrote, whichever that was.
 * @param attempt commits once, as the caller that it is given; it wrote nothing where it is undefined
 * @returns undefined where the last attempt still was
 */
export const attempted = async <R>(
  caller: Caller,
  maxAttempts: number,
  attempt: (caller: Caller) => Promise<R | undefined>,
): Promise<R | undefined> => {
  const { idempotency } = caller
  const step = idempotency && beginStep(idempotency)
  for (let count = 0; count < maxAttempts; count++) {
    const own = idempotency && { ...idempotency }
    if (own && step !== undefined) steps.set(own, step)
    const result = await attempt({ ...caller, ...(own && { idempotency: own }) })
    if (idempotency && own?.replayed) idempotency.replayed = true
    if (result !== undefined) return result
  }
  return undefined
}
