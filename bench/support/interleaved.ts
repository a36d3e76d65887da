/**
 * Contenders timed in turns within one process, so that a disturbance hits all of them alike; what counts is the
 * median of the ratios within each turn.
 * @module
 */
import type { Row } from '../../src/bin/benchmarks/results.ts'
import { record } from './record.ts'

export type { Row } from '../../src/bin/benchmarks/results.ts'

/** How long one contender runs in one turn: less than a scheduler's slice, so that most turns are undisturbed. */
const SLICE_MS = 2
const TURNS = 101
const WARM_UP_MS = 120

export interface Contender {
  name: string
  run: () => unknown
}

export interface Timing {
  name: string
  /** Median nanoseconds of one run. */
  nanoseconds: number
  /** Median over the turns of this contender's time divided by the first one's. */
  ratio: number
}

/** @returns the upper one of the two in the middle where there are two */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/** How long one run takes. */
export const milliseconds = async (run: () => unknown): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** Runs until `milliseconds` have passed. @returns runs made */
const warmUp = (run: () => unknown, milliseconds: number): number => {
  const end = performance.now() + milliseconds
  let runs = 0
  for (; performance.now() < end; runs++) run()
  return runs
}

const timeRuns = (run: () => unknown, runs: number): number => {
  const start = performance.now()
  for (let i = 0; i < runs; i++) run()
  return ((performance.now() - start) * 1e6) / runs
}

/** Times every contender in every turn; the first one is what the others are compared with. */
export const interleaved = (contenders: readonly Contender[]): Timing[] => {
  for (const { run } of contenders) warmUp(run, WARM_UP_MS)
  const runs = contenders.map(({ run }) =>
    Math.max(1, Math.ceil(warmUp(run, WARM_UP_MS) * (SLICE_MS / WARM_UP_MS))),
  )
  const times = contenders.map((): number[] => [])
  for (let turn = 0; turn < TURNS; turn++) {
    contenders.forEach(({ run }, i) => {
      times[i]?.push(timeRuns(run, runs[i] ?? 1))
    })
  }
  const first = times[0] ?? []
  return contenders.map(({ name }, i) => ({
    name,
    nanoseconds: median(times[i] ?? []),
    ratio: median((times[i] ?? []).map((time, turn) => time / (first[turn] ?? Number.NaN))),
  }))
}

/** Prints the rows, records them, and sets the exit code when a goal was missed. @returns whether none was */
export const report = (rows: readonly Row[]): boolean => {
  console.table(
    rows.map(({ what, ours, peer, theirs, ratio, mustReach, ok }) => ({
      row: what,
      ours,
      peer,
      theirs,
      ratio,
      'must reach': mustReach,
      '': mustReach === '' ? '' : ok ? 'ok' : 'MISS',
    })),
  )
  record(rows)
  const isMet = rows.every(({ ok }) => ok)
  if (!isMet) process.exitCode = 1
  return isMet
}
