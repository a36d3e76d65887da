import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  failureOf,
  type Machine,
  mergeRun,
  type Result,
  type Row,
  type Run,
  readResults,
  resultsOf,
  writeResults,
} from '../../src/bin/benchmarks/results.ts'
import { benchmarksOf, SHOWN, speedPartOf, speedTable } from '../../src/bin/docs/benchmarks.ts'
import { read } from '../support/sources.ts'

const row = (changes: Partial<Row>): Row => ({
  what: 'a case',
  ours: '1 ms',
  peer: '',
  theirs: '',
  ratio: '',
  mustReach: '',
  ok: true,
  ...changes,
})
const machine: Machine = {
  processor: 'a processor',
  cores: 2,
  memoryGiB: 24,
  system: 'Linux 6',
  node: 'v20',
  postgres: '15',
  redis: null,
}
const run = (subject: string, changes: Partial<Run> = {}): Run => ({
  subject,
  at: '2026-11-23T00:00:00.000Z',
  commit: 'abc',
  machine,
  seconds: 30,
  failed: null,
  skipped: [],
  ...changes,
})

describe('results of benchmarks', () => {
  it('are a figure with its unit for each that a row prints, beside the peer’s', () => {
    const [rate, p99] = resultsOf(
      'chat',
      row({
        ours: '3,100/s, p99 12.5 ms',
        peer: 'bare',
        theirs: '2000/s, p99 20 ms',
        ratio: '1.55×',
        mustReach: '1.2×',
      }),
    )
    expect(rate).to.deep.equal({
      subject: 'chat',
      case: 'a case',
      figure: 3100,
      unit: '/s',
      peer: 'bare',
      theirs: 2000,
      ratio: 1.55,
      goal: '1.2×',
      met: true,
    })
    expect(p99).to.include({
      case: 'a case, p99',
      figure: 12.5,
      unit: 'ms',
      theirs: 20,
      ratio: null,
      goal: null,
      met: null,
    })
  })

  it('give the goal to the figure that it names', () => {
    const results = resultsOf(
      'x',
      row({ ours: 'median 1.2 ms, p99 30 ms', mustReach: 'p99 ≤ 10 ms', ok: false }),
    )
    expect(results.map(({ case: name, met }) => [name, met])).to.deep.equal([
      ['a case, median', null],
      ['a case, p99', false],
    ])
  })

  it('refuse what is no figure, so that no bench records nothing', () => {
    for (const ours of ['NaN ms', 'fast', '', '3 ms, soon'])
      expect(() => resultsOf('x', row({ ours })), ours).to.throw('figures')
  })

  it('are complete where a bench ended by itself, though a goal was missed, and not where a signal ended it', () => {
    const missed = resultsOf('x', row({ ours: '1 ms', mustReach: '2×', ok: false }))
    const met = resultsOf('x', row({ ours: '1 ms', mustReach: '2×' }))
    expect(failureOf({ status: 0, signal: null }, met)).to.equal(null)
    expect(failureOf({ status: 1, signal: null }, missed)).to.equal(null)
    expect(failureOf({ status: 1, signal: null }, met)).to.equal('ended with status 1')
    expect(failureOf({ status: null, signal: 'SIGKILL' }, missed)).to.equal('ended with SIGKILL')
  })

  it('of one subject take the place of its former ones, and leave the others’ as they are', () => {
    const of = (subject: string, figure: number): Result =>
      ({ ...resultsOf(subject, row({ ours: `${figure} ms` }))[0] }) as Result
    let results = mergeRun({ runs: [], rows: [] }, run('b'), [of('b', 1), of('b', 2)])
    results = mergeRun(results, run('a'), [of('a', 3)])
    results = mergeRun(results, run('b', { failed: 'no database' }), [of('b', 4)])
    expect(results.rows.map(({ subject, figure }) => [subject, figure])).to.deep.equal([
      ['a', 3],
      ['b', 4],
    ])
    expect(results.runs.map(({ subject, failed }) => [subject, failed])).to.deep.equal([
      ['a', null],
      ['b', 'no database'],
    ])
    const folder = mkdtempSync(join(tmpdir(), 'assay-results-'))
    const file = join(folder, 'results.json')
    expect(readResults(file)).to.deep.equal({ runs: [], rows: [] })
    writeResults(results, file)
    expect(readResults(file)).to.deep.equal(results)
    rmSync(folder, { recursive: true })
  })
})

describe('docs/benchmarks.md', () => {
  const rows = resultsOf(
    'core',
    row({ ours: '1,234.5 ns', peer: 'noble', theirs: '5 µs', ratio: '4.1×', mustReach: '5×', ok: false }),
  )

  it('has each figure, and names what was missed, failed or left out', () => {
    const runs = [run('core', { skipped: ['a part: no browser'] }), run('chat', { failed: 'no database' })]
    const text = benchmarksOf({ runs, rows }, ['core', 'chat'])
    expect(text).to.include('| a case | 1,234.5 ns | noble | 5 ns | 4.1× | 5× | **missed** |')
    expect(text).to.include('0 of 1 goals were met').and.include('- core: a case, beside noble')
    expect(text).to.include('- core, skipped: a part: no browser').and.include('- chat failed: no database')
  })

  it('is of one machine, and names the subjects that were not measured', () => {
    const of =
      (...runs: Run[]) =>
      () =>
        benchmarksOf({ runs, rows }, ['core', 'chat'])
    expect(of()).to.throw('Nothing was measured')
    expect(of(run('core'))()).to.include('left out:\n- chat: not measured')
    expect(of(run('core'), run('chat'))()).to.not.include('not measured')
    const later = '2026-11-23T01:00:00.000Z'
    expect(of(run('core'), run('chat', { machine: { ...machine, cores: 4 }, at: later }))).to.throw(
      'than chat: core',
    )
  })

  it('says of each part when it was measured, and so does README where these differ', () => {
    const of = (...runs: Run[]): string => benchmarksOf({ runs, rows }, ['core', 'chat'])
    const one = of(run('core', { load: 0.25 }), run('chat'))
    expect(one)
      .to.include('One run of')
      .and.include('Measured 2026-11-23, commit abc, load at its start 0.3.')
    const several = of(run('core'), run('chat', { commit: 'abd', at: '2026-11-24T01:00:00.000Z' }))
    expect(several).to.include('Made of several runs').and.include('the last one 2026-11-24')
    expect(several).to.include('## core\n\nMeasured 2026-11-23, commit abc.')
    const table = speedTable(
      several.replaceAll('| a case |', '| SHA-256 of 32 B |').replace('## core', '## other'),
    )
    expect(table).to.include('| | Assay | Beside it | Measured |')
    expect(table).to.include(
      '| `POST /api/messages`, 64 connections | not measured | | 2026-11-24, commit abd |',
    )
  })

  it('gives README each peer once, by its ratio, and says of our own figures which goal they missed', () => {
    const runs = [run('payments'), run('search')]
    const compared = { ours: '5 /s, p99 9 ms', peer: 'bare', theirs: '10 /s, p99 7 ms', ratio: '0.5×' }
    const missed = { ours: 'median 2 ms, p99 12 ms', mustReach: 'p99 ≤ 10 ms', ok: false }
    const named = [
      ...resultsOf('payments', row({ ...compared, what: 'payments/validate, 64 connections' })),
      ...resultsOf('search', row({ ...missed, what: 'search for two common words' })),
    ]
    const table = speedTable(benchmarksOf({ runs, rows: named }, ['payments', 'search']))
    expect(table).to.include('| `payments/validate`, 64 connections | 5/s, p99 9 ms | 0.5× bare |')
    expect(table).to.include('| search in 4 million messages | p99 12 ms (goal p99 ≤ 10 ms, missed) |  |')
  })

  it('is where README’s part on speed comes from', () => {
    expect(speedPartOf(read('README.md'))).to.equal(speedTable(read('docs/benchmarks.md')))
  })

  it('has no case of a subject that README shows under another name', () => {
    const named = resultsOf('core', row({ what: 'SHA-256 by another name' }))
    const text = benchmarksOf({ runs: [run('core')], rows: named }, ['core'])
    expect(() => speedTable(text)).to.throw('which README shows')
    expect(new Set(SHOWN.map(([, words]) => words)).size).to.equal(SHOWN.length)
  })
})
