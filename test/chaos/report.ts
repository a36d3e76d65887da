/** What a run tells: the table of faults, what was done meanwhile, and what broke. */
import type { Model, Violation } from './model.ts'

export interface Report {
  /** A round of faults at one time. @param recoveryMs after the last of them had ended */
  add(kinds: readonly string[], recoveryMs: number): void
  /** As Markdown. */
  text(): string
}

interface Row {
  alone: number[]
  together: number[]
}

const ms = (values: readonly number[]): string => {
  if (values.length === 0) return '–'
  const sorted = [...values].sort((a, b) => a - b)
  const [median, greatest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  return [median, greatest].map((value) => `${((value ?? 0) / 1000).toFixed(2)} s`).join(' / ')
}

export const createReport = (): Report => {
  const rows = new Map<string, Row>()
  return {
    add(kinds, recoveryMs) {
      for (const kind of kinds) {
        const row = rows.get(kind) ?? { alone: [], together: [] }
        rows.set(kind, row)
        row[kinds.length === 1 ? 'alone' : 'together'].push(recoveryMs)
      }
    },
    text() {
      const lines = [...rows]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(
          ([kind, { alone, together }]) =>
            `| ${kind} | ${alone.length + together.length} | ${ms(alone)} | ${ms(together)} |`,
        )
      return [
        '| Fault | Times | Served again after it, median / longest | With others at the same time |',
        '|---|---|---|---|',
        ...lines,
      ].join('\n')
    },
  }
}

/** What was done by area, as a line. */
export const operationsLine = ({ done }: Model): string => {
  const all = [...done.values()].reduce((sum, count) => sum + count, 0)
  const parts = [...done].map(([area, count]) => `${area} ${count}`)
  return `${all} requests answered for good: ${parts.join(', ')}`
}

export const violationText = ({ invariant, detail, history }: Violation): string =>
  [`BROKEN: ${invariant}: ${detail}`, ...history.map((line) => `    ${line}`)].join('\n')
