/**
 * Contenders timed in turns by the processor time of all their threads, which a machine that is busy with something else doesn't
 * stretch.
 * @module
 */
import type { Row } from './interleaved.ts'

export const micros = (ms: number): string => `${(ms * 1000).toFixed(0)} µs`

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** Processor time of this process since it began. */
export const processorMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export interface Contender {
  readonly name: string
  readonly goal?: number
  /** How many of what is timed one run does; 1 where absent. */
  readonly per?: number
  /** @returns its own time in milliseconds where it runs elsewhere */
  run(): Promise<unknown> | unknown
}

/**
 * @param rows receives a row for each peer
 * @returns times each contender in each turn, the first being ours, and gives our median in milliseconds
 */
export const compareByProcessorTime =
  (rows: Row[], turns: number, warmUps: number) =>
  async (what: string, contenders: readonly Contender[]): Promise<number> => {
    for (const { run } of contenders) for (let i = 0; i < warmUps; i++) await run()
    const times = contenders.map((): number[] => [])
    for (let turn = 0; turn < turns; turn++)
      for (const [i, { run, per = 1 }] of contenders.entries()) {
        const start = processorMs()
        const elsewhere = await run()
        times[i]?.push(typeof elsewhere === 'number' ? elsewhere : (processorMs() - start) / per)
      }
    const [ours = [], ...theirs] = times
    theirs.forEach((peer, i) => {
      const { name, goal } = contenders[i + 1] as Contender
      const ratio = median(peer) / median(ours)
      rows.push({
        what,
        ours: micros(median(ours)),
        peer: name,
        theirs: micros(median(peer)),
        ratio: `${ratio.toFixed(2)}×`,
        mustReach: goal === undefined ? '' : `${goal}×`,
        ok: goal === undefined || ratio >= goal,
      })
    })
    return median(ours)
  }
