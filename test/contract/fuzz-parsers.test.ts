/**
 * Everything of ours that reads input from outside, under inputs made from good ones: bytes changed, JSON changed, base64 changed, guided
 * by what the first 50,000 reach. None may crash, hang, hold memory, or throw what it does not declare. The suite gives each a few hundred;
 * with FUZZ_INPUTS=10000000 each gets ten million, which may be stopped (SIGSTOP) and go on (SIGCONT). FUZZ_SEED repeats a run, FUZZ_PARSERS names the only ones, separated by
 * semicolons, FUZZ_CORPUS=keep keeps inputs that reached something new for later runs.
 */
import { randomInt } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Fuzzed } from '../support/fuzz/fuzz-thread.ts'
import { type Fuzzer, startFuzzer } from '../support/fuzz/fuzzer.ts'
import { rejection } from '../support/rejection.ts'
import { filesBelow, ROOT, read } from '../support/sources.ts'

const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const INPUTS = Number(process.env.FUZZ_INPUTS ?? 200)
const ONLY = process.env.FUZZ_PARSERS?.split(';')
const IS_KEEPING = process.env.FUZZ_CORPUS === 'keep'
/** From so many on it pays to look at what each input reaches. */
const MIN_GUIDED_INPUTS = 5000
/** Of more, the others are made from what these kept, in a thread that nobody counts in: counting slows it down, and soon finds nothing. */
const MAX_GUIDED_INPUTS = 50_000
const TOLD_EVERY_MS = 60_000
/** Of so many each parser has a line of its own. */
const MIN_TOLD_INPUTS = 1000
/** Of one input of at most 64 KiB, however busy the machine is; the slowest is measured three times. */
const MAX_INPUT_MS = 2000
/** What is compiled, and remembered of inputs, makes a few; whatever holds on to each input makes far more. */
const MAX_GROWTH_BYTES = 32 * 1024 * 1024
const MAX_KEPT = 60

const TABLE = new URL('../support/fuzz/parsers.ts', import.meta.url)
const BROKEN = new URL('../support/fuzz/broken-parsers.ts', import.meta.url)
const CORPUS = join(ROOT, 'test/fixtures/fuzz-corpus.json')

/** Readers that are fuzzed through others, or read nothing from outside. */
const READ_BY_OTHERS: ReadonlySet<string> = new Set([
  ...['readVerifierKey', 'readWitnessKeys'],
  ...['readDecimal', 'readCoordinates1', 'readCoordinates2', 'readG1', 'readG2'],
  // Streams of requests, and what ajv found wrong with them.
  ...['readBody', 'readForms'],
])

/** By parser: inputs in base64. */
type Corpus = Readonly<Record<string, readonly string[]>>

const readCorpus = (): Corpus => (existsSync(CORPUS) ? JSON.parse(readFileSync(CORPUS, 'utf8')) : {})

/** The shortest of each parser. */
const keep = (found: readonly Fuzzed[]): void => {
  const corpus: Record<string, readonly string[]> = { ...readCorpus() }
  for (const { name, kept } of found)
    corpus[name] = [...new Set([...(corpus[name] ?? []), ...kept])]
      .sort((a, b) => a.length - b.length)
      .slice(0, MAX_KEPT)
  writeFileSync(CORPUS, `${JSON.stringify(corpus, undefined, 1)}\n`)
}

const faultsOf = ({ name, faults, slowestMs, growth }: Fuzzed): string[] => [
  ...faults.map(({ what, input }) => `${name}: ${what}\n    input in base64: ${input}`),
  ...(slowestMs > MAX_INPUT_MS ? [`${name}: an input took ${slowestMs.toFixed(0)} ms`] : []),
  ...(growth > MAX_GROWTH_BYTES ? [`${name}: ${(growth / 2 ** 20).toFixed(1)} MiB stayed`] : []),
]

const ask = (fuzzer: Fuzzer, name: string, inputs: number, corpus: readonly string[] = []): Promise<Fuzzed> =>
  fuzzer.fuzz({ name, inputs, seed: SEED, corpus })

/** Tells every minute how far it is. */
const watched = async (fuzzer: Fuzzer, name: string, work: () => Promise<Fuzzed>): Promise<Fuzzed> => {
  const before = fuzzer.begun()
  const told = setInterval(() => console.log(`    ${name}: ${fuzzer.begun() - before} inputs`), TOLD_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(told)
  }
}

/** Guided inputs, and others made from what those kept. */
const fuzzWhole = async (
  guided: Fuzzer,
  plain: Fuzzer | undefined,
  name: string,
  corpus: readonly string[] = [],
): Promise<Fuzzed> => {
  const first = await watched(guided, name, () =>
    ask(guided, name, Math.min(INPUTS, plain ? MAX_GUIDED_INPUTS : INPUTS), corpus),
  )
  if (plain === undefined) return first
  const rest = await watched(plain, name, () =>
    ask(plain, name, INPUTS - first.inputs, [...corpus, ...first.kept]),
  )
  return {
    ...first,
    inputs: first.inputs + rest.inputs,
    faults: [...first.faults, ...rest.faults],
    slowestMs: Math.max(first.slowestMs, rest.slowestMs),
    growth: Math.max(first.growth, rest.growth),
    seconds: first.seconds + rest.seconds,
  }
}

describe('parsers under fuzzing', function () {
  this.timeout(0)

  it(`hold what they promise: ${INPUTS} inputs each, FUZZ_SEED=${SEED}`, async () => {
    const guided = await startFuzzer(TABLE, { isGuided: INPUTS >= MIN_GUIDED_INPUTS })
    const plain = INPUTS > MAX_GUIDED_INPUTS ? await startFuzzer(TABLE, { isGuided: false }) : undefined
    const corpus = readCorpus()
    const found: Fuzzed[] = []
    try {
      const names = guided.names.filter((name) => ONLY === undefined || ONLY.includes(name))
      expect(names).to.not.deep.equal([])
      for (const name of names) {
        const fuzzed = await fuzzWhole(guided, plain, name, corpus[name])
        found.push(fuzzed)
        const { inputs, seconds, slowestMs, growth, kept, faults } = fuzzed
        if (INPUTS >= MIN_TOLD_INPUTS)
          console.log(
            `    ${name}: ${inputs} inputs in ${seconds.toFixed(0)} s, ${faults.length} faults, ${kept.length} reached something new, slowest ${slowestMs.toFixed(1)} ms, ${(growth / 2 ** 20).toFixed(1)} MiB stayed`,
          )
        for (const fault of faultsOf(fuzzed)) console.log(`    ${fault}`)
      }
    } finally {
      await guided.close()
      await plain?.close()
      if (IS_KEEPING) keep(found)
    }
    expect(found.flatMap(faultsOf).join('\n'), `FUZZ_SEED=${SEED}`).to.equal('')
  })

  it('would be seen to throw, to break a promise, to grow and to hang', async () => {
    const fuzzer = await startFuzzer(BROKEN, { isGuided: false })
    try {
      for (const [name, fault] of [
        ['throws what it does not declare', /SyntaxError/],
        ['rejects with it', /RangeError: too long/],
        ['breaks a promise', /broken: there is one equals sign/],
        ['grows', /MiB stayed/],
      ] as const)
        expect(faultsOf(await ask(fuzzer, name, 3000)).join('\n'), name).to.match(fault)
    } finally {
      await fuzzer.close()
    }
    for (const [name, deadlineMs] of [
      ['hangs', 1000],
      ['waits for ever', 50],
    ] as const) {
      const still = await startFuzzer(BROKEN, { isGuided: false, deadlineMs })
      const { message } = await rejection(ask(still, name, 3000))
      await still.close()
      expect(message).to.match(/stood still for \d+ ms of processor time, .*, in base64: \S+$/)
    }
  })

  it('are all in the table', () => {
    const tables = filesBelow('test/support/fuzz/parsers', '.ts').map(read).join('\n')
    const readers = filesBelow('src/protocol', '.ts')
      .concat(filesBelow('src/terminal/storage', '.ts'), filesBelow('src/http/input', '.ts'))
      .flatMap((file) => [
        ...read(file).matchAll(/^export const ((?:read|parse|decode|split|salvage)[A-Z0-9]\w*)/gm),
      ])
      .map(([, name = '']) => name)
    expect(readers.length).to.be.above(10)
    const missing = readers.filter(
      (name) => !READ_BY_OTHERS.has(name) && !new RegExp(`\\b${name}\\b`).test(tables),
    )
    expect(missing).to.deep.equal([])
  })
})
