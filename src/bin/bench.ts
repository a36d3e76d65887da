/**
 * `npm run bench` runs every benchmark but those of the list below, `npm run bench core ledger` the named ones. Each prints a table with its peers side by
 * side. Their rows go into bench/results.json, in the place of what the same subjects had there, so that a run may be made in
 * pieces. Ends with a non-zero status when a goal was missed or a benchmark failed; the others run all the same.
 * @module
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { currentCommit, describeMachine } from './benchmarks/machine.ts'
import {
  failureOf,
  isByName,
  mergeRun,
  type Result,
  type Run,
  readResults,
  writeResults,
} from './benchmarks/results.ts'

const folder = fileURLToPath(new URL('../../bench/', import.meta.url))
const subjects = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !subjects.includes(name))
if (unknown.length > 0) {
  console.error(`No benchmark named ${unknown.join(', ')}. There are: ${subjects.join(', ')}.`)
  process.exit(2)
}

const machine = await describeMachine()
const commit = currentCommit()
const scratch = mkdtempSync(join(tmpdir(), 'assay-bench-'))

/** A line for each result, each part that was skipped, and the error that ended the bench. */
type Recorded = Result | { readonly skipped: string } | { readonly failed: string }

const measure = (subject: string): { run: Run; rows: Result[] } => {
  const file = join(scratch, subject)
  const began = performance.now()
  const [load] = loadavg()
  const ended = spawnSync(process.execPath, ['--import=tsx', `${folder}${subject}.ts`], {
    stdio: 'inherit',
    env: { ...process.env, BENCH_SUBJECT: subject, BENCH_ROWS: file },
  })
  const recorded = existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Recorded)
    : []
  const rows = recorded.filter((line): line is Result => 'case' in line)
  const reason = recorded.flatMap((line) => ('failed' in line ? [line.failed] : []))[0]
  const run: Run = {
    subject,
    at: new Date().toISOString(),
    commit,
    machine,
    seconds: Math.round((performance.now() - began) / 1000),
    load,
    failed: reason ?? failureOf(ended, rows),
    skipped: recorded.flatMap((line) => ('skipped' in line ? [line.skipped] : [])),
  }
  return { run, rows }
}

const summary: object[] = []
let isGood = true
for (const subject of asked.length > 0 ? asked : subjects.filter((one) => !isByName(one))) {
  console.log(`\n== ${subject}`)
  const { run, rows } = measure(subject)
  writeResults(mergeRun(readResults(), run, rows))
  const missed = rows.filter(({ met }) => met === false)
  isGood &&= run.failed === null && missed.length === 0
  const problems = [
    ...(run.failed === null ? [] : [`failed: ${run.failed}`]),
    ...run.skipped.map((part) => `skipped: ${part}`),
    ...missed.map((row) => `missed: ${row.case}`),
  ]
  summary.push({
    subject,
    seconds: run.seconds,
    rows: rows.length,
    problems: problems.join('; ').slice(0, 200),
  })
}
rmSync(scratch, { recursive: true })
console.log('\n== all')
console.table(summary)
process.exit(isGood ? 0 : 1)
