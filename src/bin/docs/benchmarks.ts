/**
 * Writes docs/benchmarks.md from bench/results.json, and README's table of speed from docs/benchmarks.md: what was measured on one
 * machine. Where that was at several times or commits, both say so of each; what was not measured is named.
 * Usage: npm run bench && npm run docs:benchmarks
 * @module
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isByName,
  type Machine,
  type Result,
  type Results,
  type Run,
  readResults,
} from '../benchmarks/results.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'docs/benchmarks.md')
const README = join(ROOT, 'README.md')
const START = '<!-- speed: made by npm run docs:benchmarks -->'
const END = '<!-- /speed -->'
const TABLE_HEAD = ['| | Assay | Beside it |', '|---|---|---|']
const HEAD = '| Case | Assay | Peer | Its figure | Ratio | Goal | |'

/** What README shows, in its order: a case of docs/benchmarks.md with all of its peers, under words of its own. */
export const SHOWN: readonly (readonly [subject: string, words: string, cases: RegExp])[] = [
  ['core', 'SHA-256 of 32 bytes', /^SHA-256 of 32 B$/],
  ['core', 'SHA-256 of many 64-byte inputs, each', /^SHA-256, 256 × 64 B$/],
  ['core', 'compact payment proof, string to string', /^compact proof, string to string$/],
  ['core', 'verify a batch of 50 payment proofs, each', /^verify, batch of 50, each$/],
  ['core', 'nullifier check among 10 million, in batches', /^nullifier set, 10 M, check$/],
  [
    'ledger',
    'ledger, 128 callers on PostgreSQL',
    /^group commit, \d+ callers, (beside one by one|latency, p99)$/,
  ],
  ['ledger', 'ledger, a lone caller', /^a lone caller$/],
  ['log', 'append to a log of 10 million leaves', /^append, 10,000,000 leaves$/],
  ['log', 'inclusion proof in a log of 10 million leaves', /^inclusion proof, 10,000,000 leaves$/],
  ['prover', 'zero-knowledge proof `yesno`, one thread', /^proof of yesno, tables of 8 MiB$/],
  ['prover', 'zero-knowledge proof `kyc`, one thread', /^proof of kyc, tables of 8 MiB$/],
  ['prover', 'zero-knowledge proof `composite`, one thread', /^proof of composite, tables of 8 MiB$/],
  ['circuits', '`yesno` proofs, two workers', /^yesno, 2 workers$/],
  ['verifier', 'verify a `yesno` proof, subgroup included', /^verify yesno$/],
  ['verifier', 'verify a `yesno` proof in a batch of 64', /^verify yesno, batch of 64, each$/],
  ['field', 'field multiplication', /^field multiplication, one at a time$/],
  ['field', 'Poseidon of two', /^Poseidon of two elements$/],
  ['payments', '`payments/validate`, 64 connections', /^payments\/validate, 64 connections(, p99)?$/],
  ['routes', '`tokens/validate`, 64 connections', /^POST \/api\/tokens\/validate, 64 connections(, p99)?$/],
  ['routes', '`proof/verify`, 16 connections', /^POST \/api\/proof\/verify, 16 connections(, p99)?$/],
  ['routes', 'memory of an idle server, PostgreSQL', /^memory idle, PostgreSQL$/],
  ['chat', '`POST /api/messages`, 64 connections', /^POST .+, 64 connections(, p99)?$/],
  ['chat', '`GET /api/messages`, all asking alike', /^GET .+, 64 connections(, p99)?$/],
  ['search', 'search in 4 million messages', /^search for two common words, p99$/],
  ['stream', 'one message to 5,000 streams', /^one message to \d+ streams, p(50|99)$/],
  ['webhooks', 'webhooks to one endpoint, from commit to receipt', /^deliveries to 1 endpoint$/],
  ['webhooks', 'webhooks to 100 endpoints', /^deliveries to 100 endpoints$/],
  ['tokens', 'hybrid token, Dilithium3: sign', /^sign both, Dilithium3$/],
  ['tokens', 'hybrid token, Dilithium3: verify', /^verify both, Dilithium3$/],
  [
    'aml',
    'screening a name against 50,000 entries',
    /^screening against 50,000 entries by the clock, p(50|99)$/,
  ],
  ['aml', 'names told apart, recall', /^recall, \d+ labelled pairs$/],
  ['aml', 'names told apart, precision', /^precision, \d+ labelled pairs$/],
  ['terminal', '`pay` offline, in memory', /^pay offline, memory storage$/],
  ['terminal', '`pay` offline, durable journal', /^pay offline, durable journal$/],
]

const text = (value: number, unit: string): string =>
  unit === '' || /^[/%×]/.test(unit)
    ? `${value.toLocaleString('en')}${unit}`
    : `${value.toLocaleString('en')} ${unit}`

/** Figures are parted from units as they were printed, so that they are read back as they were. */
const lineOf = ({ case: name, figure, unit, peer, theirs, ratio, goal, met }: Result): string =>
  `| ${[
    name,
    text(figure, unit),
    peer ?? '',
    theirs === null ? '' : text(theirs, unit),
    ratio === null ? '' : `${ratio}×`,
    goal ?? '',
    met === null ? '' : met ? 'met' : '**missed**',
  ].join(' | ')} |`

const describe = ({ processor, cores, memoryGiB, system, node, postgres, redis }: Machine): string =>
  `${cores} cores (${processor}), ${memoryGiB} GiB, ${system}, Node ${node}, PostgreSQL ${postgres ?? 'none'}, Redis ${redis ?? 'none'}`

/** Of what, and when, a subject was measured. */
const stateOf = ({ commit, at }: Run): string => `${at.slice(0, 10)}, commit ${commit}`

/** @throws Error that nothing was measured, or names the subjects that were measured on another machine than the newest */
const newestOf = (runs: readonly Run[]): Run => {
  const [newest] = runs.toSorted((a, b) => b.at.localeCompare(a.at))
  if (newest === undefined) throw new Error('Nothing was measured. Run npm run bench.')
  const elsewhere = runs.filter((run) => describe(run.machine) !== describe(newest.machine))
  if (elsewhere.length > 0)
    throw new Error(
      `Measured elsewhere than ${newest.subject}: ${elsewhere.map(({ subject }) => subject).join(', ')}.`,
    )
  return newest
}

/** What was busy besides; a run before loads were noted has none. */
const loadOf = ({ load }: Run): string => (load === undefined ? '' : `, load at its start ${load.toFixed(1)}`)

/** @param subjects that there are; all that were measured must have been on the same machine */
export const benchmarksOf = ({ runs, rows }: Results, subjects: readonly string[]): string => {
  const newest = newestOf(runs)
  const isOne = runs.every((run) => stateOf(run) === stateOf(newest))
  const missing = subjects.filter((subject) => !runs.some((run) => run.subject === subject))
  const problems = runs.flatMap(({ subject, failed, skipped }) => [
    ...(failed === null ? [] : [`- ${subject} failed: ${failed}`]),
    ...skipped.map((part) => `- ${subject}, skipped: ${part}`),
  ])
  problems.push(...missing.map((subject) => `- ${subject}: not measured`))
  const goals = rows.filter(({ met }) => met !== null)
  const missed = goals.filter(({ met }) => met === false)
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0)
  const parts = runs.map((run) => {
    const lines = rows.filter((row) => row.subject === run.subject).map(lineOf)
    return [
      `## ${run.subject}`,
      '',
      `Measured ${stateOf(run)}${loadOf(run)}.`,
      '',
      ...(lines.length > 0 ? [HEAD, '|---|---|---|---|---|---|---|', ...lines] : ['Nothing was measured.']),
      '',
    ].join('\n')
  })
  const minutes = Math.round(seconds / 60)
  return [
    '<!-- generated by npm run docs:benchmarks -->',
    '# Benchmarks',
    '',
    isOne
      ? `One run of \`npm run bench\`, ended ${newest.at.slice(0, 10)}, of commit ${newest.commit}, in ${minutes} minutes.`
      : `Made of several runs of \`npm run bench\`, the last one ${newest.at.slice(0, 10)}, in ${minutes} minutes: each part says when it was measured, and at which commit.`,
    `Machine: ${describe(newest.machine)}.`,
    '',
    'A ratio says how many times as fast as the peer Assay is, measured in turns in the same run; where the peer’s name says "ratio: of times", how many',
    'times as long it takes. Each file of `bench/` says what exactly it measures. The load is that of the machine in the minute before, the benchmark before it included, in processes that ran or waited',
    'for a processor: with more than 0.5 of them, figures by the clock are worse than they are alone.',
    '',
    `${goals.length - missed.length} of ${goals.length} goals were met.${missed.length > 0 ? ' Missed:' : ''}`,
    ...missed.map((row) => `- ${row.subject}: ${row.case}${row.peer === null ? '' : `, beside ${row.peer}`}`),
    ...(problems.length > 0 ? ['', 'Parts that failed or were left out:', ...problems] : []),
    '',
    ...parts,
  ].join('\n')
}

interface Line {
  readonly subject: string
  readonly cells: readonly string[]
}

const linesOf = (benchmarks: string): Line[] => {
  let subject = ''
  return benchmarks.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) subject = line.slice(3)
    const isRow = line.startsWith('| ') && line !== HEAD
    return isRow ? [{ subject, cells: line.slice(2, -2).split(' | ') }] : []
  })
}

/** When each subject was measured, where the document is of several runs. */
const measuredAt = (benchmarks: string): ReadonlyMap<string, string> => {
  const measured = new Map<string, string>()
  if (!benchmarks.includes('\nMade of several runs ')) return measured
  let subject = ''
  for (const line of benchmarks.split('\n')) {
    if (line.startsWith('## ')) subject = line.slice(3)
    const [, state] = /^Measured ([\d-]{10}, commit \w+\+?)/.exec(line) ?? []
    if (state !== undefined) measured.set(subject, state)
  }
  return measured
}

/** A row for what README shows: our figures, and the ratio to each peer, or its figure where there is none. */
const shownRow = (words: string, found: readonly Line[]): string => {
  // A peer's other figures, and limits of our own, are for docs/benchmarks.md.
  const compared = found.filter(({ cells: [, , , , ratio] }) => ratio)
  const beside = compared.length > 0 ? compared : found.filter(({ cells: [, , peer] }) => peer)
  const own = found.filter(
    ({ cells: [name, , peer] }) =>
      beside.length === 0 || peer || !beside.some(({ cells }) => cells[0] === name),
  )
  const ofGoal = (goal = '', met = ''): string => (met === '**missed**' ? ` (goal ${goal}, missed)` : '')
  const figures = new Set(
    own.map(({ cells: [name = '', ours = '', peer, , , goal, met] }) =>
      `${/(p\d+|median)$/.exec(name)?.[0] ?? ''} ${ours}${peer ? '' : ofGoal(goal, met)}`.trim(),
    ),
  )
  const peers = beside.map(
    ({ cells: [, , peer = '', theirs = '', ratio = '', goal, met] }) =>
      `${ratio || theirs} ${peer}${ofGoal(goal, met)}`,
  )
  return `| ${words} | ${[...figures].join(', ')} | ${peers.join('; ')} |`
}

/** The part of README on speed. @throws Error that names what README shows and the run does not have, though its subject was measured */
export const speedTable = (benchmarks: string): string => {
  const lines = linesOf(benchmarks)
  const measured = measuredAt(benchmarks)
  const isMeasured = (subject: string) => lines.some((line) => line.subject === subject)
  const rows = SHOWN.flatMap(([subject, words, cases]) => {
    const found = lines.filter((line) => line.subject === subject && cases.test(line.cells[0] ?? ''))
    const state = measured.get(subject)
    const when = state === undefined ? '' : ` ${state} |`
    if (found.length > 0) return [shownRow(words, found) + when]
    if (isMeasured(subject)) throw new Error(`${subject} has no case like ${cases}, which README shows.`)
    return [`| ${words} | not measured | |${when}`]
  })
  const [run, machine] = benchmarks
    .split('\n')
    .filter((line) => /^(One run|Made of several runs|Machine:) /.test(line))
  const head = measured.size > 0 ? ['| | Assay | Beside it | Measured |', '|---|---|---|---|'] : TABLE_HEAD
  return [
    `${run} ${machine} [docs/benchmarks.md](docs/benchmarks.md) has all rows, with the goals, and what a ratio says.`,
    '',
    ...head,
    ...rows,
  ].join('\n')
}

/** What of README stands between the marks. */
export const speedPartOf = (readme: string): string => {
  const [, rest = ''] = readme.split(START)
  return rest.split(END)[0]?.trim() ?? ''
}

const main = (): void => {
  const subjects = readdirSync(join(ROOT, 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .filter((subject) => !isByName(subject))
  const benchmarks = benchmarksOf(readResults(), subjects)
  const readme = readFileSync(README, 'utf8')
  const written = readme.replace(
    `${START}\n${speedPartOf(readme)}\n${END}`,
    () => `${START}\n${speedTable(benchmarks)}\n${END}`,
  )
  writeFileSync(FILE, benchmarks)
  writeFileSync(README, written)
  console.log('docs/benchmarks.md and the table in README.md are written.')
}

if (process.argv[1] === import.meta.filename) main()
