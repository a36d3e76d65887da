/** Three that want one lock, in every order in which the second and the third can come between two steps of the first. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const STEPS = ['linkSync', 'renameSync', 'rmSync', 'readFileSync', 'writeFileSync'] as const

/** Calls `before` ahead of every call that `run` makes to the file system, with the number of that call. */
const stepping = (run: () => void, before: (step: number) => void): void => {
  const originals = STEPS.map((name) => [name, fs[name]] as const)
  let step = 0
  let nested = false
  for (const [name, original] of originals) {
    const stepped = (...args: unknown[]): unknown => {
      if (!nested) {
        nested = true
        before(step++)
        nested = false
      }
      return Reflect.apply(original, fs, args)
    }
    Object.assign(fs, { [name]: stepped })
  }
  syncBuiltinESMExports()
  try {
    run()
  } finally {
    Object.assign(fs, Object.fromEntries(originals))
    syncBuiltinESMExports()
  }
}

/**
 * @param prepare leaves the lock as it shall be found
 * @param take takes it, or throws
 * @returns how many held it at the end, order by order
 */
export const holdersOfEveryOrder = (prepare: () => void, take: () => () => void): number[] => {
  const counts: number[] = []
  let steps = 1
  for (let second = 0; second < steps; second++) {
    for (let third = second; third < steps; third++) {
      const releases: (() => void)[] = []
      const attempt = (): void => {
        try {
          releases.push(take())
        } catch {
          // Refused: that is for the count to show.
        }
      }
      prepare()
      let last = 0
      stepping(attempt, (step) => {
        last = step
        if (step === second) attempt()
        if (step === third) attempt()
      })
      steps = Math.max(steps, last + 1)
      counts.push(releases.length)
      for (const release of releases) release()
    }
  }
  return counts
}
