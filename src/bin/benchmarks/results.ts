/**
 * What benchmarks measured, as one table that programs read: each bench hands its rows over, `npm run bench` merges them into
 * bench/results.json by subject.
 * @module
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const RESULTS_FILE = join(import.meta.dirname, '../../../bench/results.json')

/** Subjects that take long or need more than the others, and are no claim of speed: docs/reliability.md has what they found. */
const BY_NAME: readonly string[] = ['soak', 'neighbours']
/** Whether a subject is measured only where it is named. */
export const isByName = (subject: string): boolean => BY_NAME.includes(subject)

/** A line of a bench's printed table. Of `ours` and `theirs`, each part is a figure with its unit: `3100/s, p99 12 ms`. */
export interface Row {
  readonly what: string
  readonly ours: string
  readonly peer: string
  readonly theirs: string
  /** How often the peer's time goes into ours, or what else the bench says of both: `5.1×`. Empty: none. */
  readonly ratio: string
  /** What the ratio must reach or, with a label or a sign of comparison, the figure. Empty: shown for information. */
  readonly mustReach: string
  readonly ok: boolean
}

/** One figure. */
export interface Result {
  readonly subject: string
  readonly case: string
  readonly figure: number
  readonly unit: string
  readonly peer: string | null
  /** The peer's figure, in the same unit. */
  readonly theirs: number | null
  readonly ratio: number | null
  readonly goal: string | null
  /** Null without a goal. */
  readonly met: boolean | null
}

export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
  /** Null where none answers. */
  readonly postgres: string | null
  readonly redis: string | null
}

/** How the last run of a subject went. */
export interface Run {
  readonly subject: string
  /** Of its end, ISO 8601. */
  readonly at: string
  /** `+` behind it: with changes that were not committed. */
  readonly commit: string
  readonly machine: Machine
  readonly seconds: number
  /** Processes that ran or waited for a processor in the minute before it. */
  readonly load?: number
  /** Why it has no rows, or not all of them. */
  readonly failed: string | null
  /** Parts that were left out, and why. */
  readonly skipped: readonly string[]
}

export interface Results {
  readonly runs: readonly Run[]
  readonly rows: readonly Result[]
}

/** Where the number of a part begins: labels such as `p99` hold digits, too, but no word of theirs begins with one. */
const NUMBER_START = /(?<![^ ])[+-]?\d/
const NUMBER = /^[+-]?[\d,]+(?:\.\d+)?/

interface Figure {
  readonly label: string
  readonly figure: number
  readonly unit: string
}

/** @throws Error where a part holds no number, as of a contender that measured nothing */
const figuresOf = (text: string): Figure[] =>
  text.split(', ').map((part) => {
    const start = part.search(NUMBER_START)
    if (start < 0) throw new Error(`"${text}" is no list of figures with units: "${part}" has none.`)
    const [digits = ''] = NUMBER.exec(part.slice(start)) ?? []
    const unit = part.slice(start + digits.length).trim()
    return { label: part.slice(0, start).trim(), figure: Number(digits.replaceAll(',', '')), unit }
  })

const numberIn = (text: string): number | null => (text === '' ? null : Number.parseFloat(text))

/** A result for each figure of a row; ratio and goal are those of the first, or of the one whose label begins the goal. */
export const resultsOf = (subject: string, row: Row): Result[] => {
  const ours = figuresOf(row.ours)
  const theirs = row.theirs === '' ? [] : figuresOf(row.theirs)
  const labelled = ours.findIndex(({ label }) => label !== '' && row.mustReach.startsWith(label))
  const withGoal = Math.max(labelled, 0)
  return ours.map(({ label, figure, unit }, i) => ({
    subject,
    case: label === '' ? row.what : `${row.what}, ${label}`,
    figure,
    unit,
    peer: row.peer || null,
    theirs: theirs[i]?.figure ?? null,
    ratio: i === withGoal ? numberIn(row.ratio) : null,
    goal: (i === withGoal && row.mustReach) || null,
    met: i === withGoal && row.mustReach !== '' ? row.ok : null,
  }))
}

/** How a bench ended, where it recorded no error: null where it came to its end, also with a missed goal, which gives it a status. */
export const failureOf = (
  { status, signal }: { readonly status: number | null; readonly signal: string | null },
  rows: readonly Result[],
): string | null => {
  const isComplete = signal === null && (status === 0 || rows.some(({ met }) => met === false))
  return isComplete ? null : `ended with ${signal ?? `status ${status}`}`
}

/** What has been measured so far; nothing where there is no file. */
export const readResults = (file = RESULTS_FILE): Results =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : { runs: [], rows: [] }

/** Puts a run and its rows in the place of what the subject had before. */
export const mergeRun = (results: Results, run: Run, rows: readonly Result[]): Results => {
  const bySubject = (a: { subject: string }, b: { subject: string }) => (a.subject < b.subject ? -1 : 1)
  const others = <T extends { subject: string }>(list: readonly T[]) =>
    list.filter(({ subject }) => subject !== run.subject)
  return {
    runs: [...others(results.runs), run].sort(bySubject),
    // The order of sorting is stable: rows of a subject stay as they were printed.
    rows: [...others(results.rows), ...rows].sort((a, b) => (a.subject === b.subject ? 0 : bySubject(a, b))),
  }
}

/** Replaces the file as a whole, so that what was measured before survives whatever ends this. */
export const writeResults = (results: Results, file = RESULTS_FILE): void => {
  writeFileSync(`${file}.new`, `${JSON.stringify(results, null, 1)}\n`)
  renameSync(`${file}.new`, file)
}
