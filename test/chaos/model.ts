/**
 * What was asked and answered, what went wrong meanwhile, and which invariant broke. It knows nothing of the product but
 * what its answers said.
 */

/** One request and what came of it. */
export interface Attempt {
  /** Unix ms. */
  readonly at: number
  readonly ms: number
  /** Status and code of the answer, or why there was none. */
  readonly result: string
}

/** Something that a client wants done, however often it has to ask for it. */
export interface Operation {
  readonly area: string
  /** What it is about, such as a transaction id. */
  readonly what: string
  readonly attempts: Attempt[]
}

export interface Violation {
  /** Which invariant, such as `lost write`. */
  readonly invariant: string
  readonly detail: string
  /** Of the operations that it is about, and the faults around them. */
  readonly history: readonly string[]
}

export interface Model {
  begin(area: string, what: string): Operation
  /** Notes what was done to the servers, or what they did. */
  happened(text: string): void
  /** Notes that an invariant broke. The run ends soon after the first one. */
  broken(invariant: string, detail: string, ...operations: readonly (Operation | undefined)[]): void
  readonly violations: readonly Violation[]
  /** Operations that had a final answer, by area. */
  readonly done: ReadonlyMap<string, number>
  finished(operation: Operation): void
}

/** Faults so long before an operation began, or after it ended, may be why. */
const AROUND_MS = 8_000
const MAX_HISTORY_LINES = 60
/** More of the same teach nothing. */
const MAX_VIOLATIONS = 20

const timeOf = (at: number): string => new Date(at).toISOString().slice('2026-01-01T'.length, -1)

const linesOf = ({ area, what, attempts }: Operation) =>
  attempts.map(({ at, ms, result }) => ({
    at,
    text: `${area} ${what}: ${result} after ${Math.round(ms)} ms`,
  }))

export const createModel = (): Model => {
  const timeline: { readonly at: number; readonly text: string }[] = []
  const violations: Violation[] = []
  const done = new Map<string, number>()

  const historyOf = (operations: readonly Operation[]): string[] => {
    const asked = operations.flatMap(linesOf)
    const times = asked.map(({ at }) => at)
    const from = Math.min(...times, Date.now() - AROUND_MS) - AROUND_MS
    const to = asked.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...times) + AROUND_MS
    const around = timeline.filter(({ at }) => at >= from && at <= to)
    return [...asked, ...around]
      .sort((a, b) => a.at - b.at)
      .slice(-MAX_HISTORY_LINES)
      .map(({ at, text }) => `${timeOf(at)} ${text}`)
  }

  return {
    begin: (area, what) => ({ area, what, attempts: [] }),
    happened(text) {
      timeline.push({ at: Date.now(), text })
    },
    broken(invariant, detail, ...operations) {
      if (violations.length === MAX_VIOLATIONS) return
      const known = operations.filter((operation) => operation !== undefined)
      violations.push({ invariant, detail, history: historyOf(known) })
    },
    violations,
    done,
    finished({ area }) {
      done.set(area, (done.get(area) ?? 0) + 1)
    },
  }
}
