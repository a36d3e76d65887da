/** Tells on standard error how far something is that takes long. @module */

const TELL_MS = 1000
const MS_PER_SECOND = 1000

export interface Shown {
  /** Begins a step. */
  step(text: string): void
  end(): void
}

/** Each step is a line; one that takes longer has a line for each second more. */
export const startProgress = (): Shown => {
  let text: string | undefined
  let startedAt = performance.now()
  const tell = (line: string): void => void process.stderr.write(`${line}\n`)
  const again = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / MS_PER_SECOND)
    if (text !== undefined) tell(`${text} (${seconds} s)`)
  }, TELL_MS).unref()
  return {
    step(next) {
      text = next
      startedAt = performance.now()
      tell(next)
    },
    end: () => clearInterval(again),
  }
}
