/**
 * Rows of a table in nanoseconds: ours against peers, or a figure of ours against a limit.
 * @module
 */
import { type Contender, interleaved, type Row, type Timing } from './interleaved.ts'

const nanoseconds = (value: number): string =>
  value < 10_000 ? `${value.toFixed(value < 100 ? 1 : 0)} ns` : `${(value / 1000).toFixed(1)} µs`

export interface Comparison {
  readonly rows: Row[]
  /** Times ours against the peers; a peer without a goal is shown for information. */
  compare(
    what: string,
    ours: () => unknown,
    peers: readonly (Contender & { goal?: number })[],
    per?: number,
  ): Timing[]
  /** A figure of ours alone that must stay below a limit. */
  limit(what: string, value: number, most: number, unit: string): void
}

export const createComparison = (): Comparison => {
  const rows: Row[] = []
  return {
    rows,
    compare(what, ours, peers, per = 1) {
      const [own, ...others] = interleaved([{ name: 'ours', run: ours }, ...peers])
      others.forEach(({ name, nanoseconds: theirs, ratio }, i) => {
        const goal = peers[i]?.goal
        rows.push({
          what,
          ours: nanoseconds((own?.nanoseconds ?? Number.NaN) / per),
          peer: name,
          theirs: nanoseconds(theirs / per),
          ratio: `${ratio.toFixed(2)}×`,
          mustReach: goal === undefined ? '' : `${goal}×`,
          ok: goal === undefined || ratio >= goal,
        })
      })
      return own ? [own, ...others] : others
    },
    limit(what, value, most, unit) {
      const ours = `${value.toFixed(2)} ${unit}`
      const mustReach = `≤ ${most} ${unit}`
      rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok: value <= most })
    },
  }
}

/** The next element of a list at each call, so that nothing is the same message twice in a row. */
export const inTurn = <T>(list: readonly T[]): (() => T) => {
  let i = 0
  return () => list[i++ % list.length] as T
}
