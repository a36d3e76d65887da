/** Waiting for what comes when it comes. @module */

/** Shorter than the time a test has, so that it fails with a word and leaves nothing running. */
const PATIENCE_MS = 20_000

/**
 * Looks again and again until something holds.
 * @param what is waited for, as it is called when it does not come
 * @throws Error when it took too long
 */
export const eventually = async (
  what: string,
  is: () => boolean | Promise<boolean>,
  { patienceMs = PATIENCE_MS, pauseMs = 2 } = {},
): Promise<void> => {
  const giveUpAt = performance.now() + patienceMs
  while (!(await is())) {
    if (performance.now() > giveUpAt) throw new Error(`it took too long: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
