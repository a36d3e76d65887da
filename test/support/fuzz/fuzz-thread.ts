/**
 * The thread in which parsers are fuzzed. It is asked for one parser after another by messages. What is being read stands in shared memory,
 * so that whoever watches it can tell what it hangs at.
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createThreadClock } from '../servers/thread-time.ts'
import { type Coverage, watchCoverage } from './coverage.ts'
import { heldMemory } from './held-memory.ts'
import { createMutation } from './mutation.ts'
import { isDeclared, type Parser } from './parser.ts'
import { createRandom, type Random } from './random.ts'

/** What the thread is started with. */
export interface ThreadData {
  /** URL of a module that exports PARSERS. */
  readonly table: string
  /** Two words: how many inputs were begun, and the length of the last; then its bytes. */
  readonly shared: SharedArrayBuffer
  /** Whether inputs that reach new code are kept and used again. */
  readonly isGuided: boolean
}

export interface Asked {
  readonly name: string
  readonly inputs: number
  readonly seed: number
  /** Inputs that were worth keeping in earlier runs, in base64. */
  readonly corpus: readonly string[]
}

/** Something that may not happen, and the input, in base64, that makes it happen. */
export interface Fault {
  readonly what: string
  readonly input: string
}

export interface Fuzzed {
  readonly name: string
  readonly inputs: number
  readonly faults: readonly Fault[]
  /** Inputs that reached code which none before had reached, in base64. */
  readonly kept: readonly string[]
  /** Ms of this thread's processor time for the slowest one, the least of three. */
  readonly slowestMs: number
  /** Bytes by which held memory grew over the run, by least squares over many looks at it; 0 for few inputs. */
  readonly growth: number
  /** Characters of our sources that ran. */
  readonly characters: number
  readonly seconds: number
}

const BATCH_MS = 250
const FIRST_BATCH = 64
const MAX_BATCH = 8192
/** Larger ones are used in a run, and not kept for the next. */
const MAX_KEPT_BYTES = 4096
const MAX_CORPUS = 1000
const MAX_FAULTS = 5
/** Of fewer nobody could tell what stays from what is compiled and remembered once. */
const MIN_MEASURED_INPUTS = 2000
/** Looks at what is held, after the first fifth of the inputs. */
const LOOKS = 16
/** An input that took longer is read again, since the machine may have been busy. */
const SLOW_MS = 50

const { table, shared, isGuided } = workerData as ThreadData
const processorMs = createThreadClock()
const words = new Int32Array(shared, 0, 2)
const current = new Uint8Array(shared, 8)

/** What is held after so many inputs, besides the inputs that are kept for use. */
interface Look {
  readonly done: number
  readonly bytes: number
}

const lookAt = async (done: number, corpus: readonly Buffer[]): Promise<Look> => {
  const { heap, outside } = await heldMemory()
  // What an input was cut out of is held with it.
  const kept = new Set(corpus.map(({ buffer }) => buffer))
  return { done, bytes: heap + outside - [...kept].reduce((sum, { byteLength }) => sum + byteLength, 0) }
}

/** Growth from the first look to the last, by the line that fits all of them best. */
const growthOf = (looks: readonly Look[]): number => {
  const mean = (of: (look: Look) => number): number =>
    looks.reduce((sum, look) => sum + of(look), 0) / looks.length
  const [x, y] = [mean(({ done }) => done), mean(({ bytes }) => bytes)]
  const spread = mean(({ done }) => (done - x) ** 2)
  if (looks.length < 2 || spread === 0) return 0
  const slope = mean(({ done, bytes }) => (done - x) * (bytes - y)) / spread
  return slope * ((looks.at(-1)?.done ?? 0) - (looks[0]?.done ?? 0))
}

/** Reads inputs, and notes what may not happen. */
const createReading = (parser: Parser) => {
  const faults = new Map<string, Fault>()
  let slowestMs = 0
  let slowest: Buffer | undefined

  const blame = (what: string, input: Buffer): void => {
    const title = what.split('\n')[0] as string
    if (!faults.has(title) && faults.size < MAX_FAULTS)
      faults.set(title, { what, input: input.toString('base64') })
  }
  const failed = (error: unknown, input: Buffer): void => {
    if (isDeclared(parser, error)) return
    blame(
      error instanceof Error ? `${error.name}: ${error.message}\n${error.stack}` : `threw ${String(error)}`,
      input,
    )
  }
  const took = (began: number, input: Buffer): void => {
    const ms = processorMs() - began
    if (ms > slowestMs) {
      slowestMs = ms
      slowest = input
    }
  }
  /** Resolves, or returns at once where the parser waits for nothing. */
  const read = (input: Buffer): Promise<void> | undefined => {
    current.set(input)
    words[1] = input.length
    Atomics.add(words, 0, 1)
    const began = processorMs()
    let result: unknown
    try {
      result = parser.parse(input)
    } catch (error) {
      failed(error, input)
    }
    if (!(result instanceof Promise)) {
      took(began, input)
      return undefined
    }
    return result.then(
      () => took(began, input),
      (error) => {
        took(began, input)
        failed(error, input)
      },
    )
  }
  return {
    read,
    async readAll(inputs: readonly Buffer[]): Promise<void> {
      for (const input of inputs) {
        const reading = read(input)
        if (reading) await reading
      }
    },
    /** The slowest again: what counts is the shortest of its times. */
    async again(): Promise<void> {
      for (let times = 0; times < 2 && slowest !== undefined && slowestMs >= SLOW_MS; times++) {
        const before = slowestMs
        slowestMs = 0
        await read(slowest)
        slowestMs = Math.min(before, slowestMs)
      }
    },
    faults: () => [...faults.values()],
    slowestMs: () => slowestMs,
  }
}

/** The inputs of a batch that run what none before them ran, found by halving it. */
const findNew = async (
  batch: readonly Buffer[],
  readAll: (inputs: readonly Buffer[]) => Promise<void>,
  coverage: Coverage,
): Promise<readonly Buffer[]> => {
  await readAll(batch)
  const fresh = coverage.take()
  if (fresh.length === 0) return []
  if (batch.length === 1) {
    coverage.remember(fresh)
    return batch
  }
  const half = Math.floor(batch.length / 2)
  return [
    ...(await findNew(batch.slice(0, half), readAll, coverage)),
    ...(await findNew(batch.slice(half), readAll, coverage)),
  ]
}

const fuzz = async (parser: Parser, { inputs, seed, corpus: earlier }: Asked): Promise<Fuzzed> => {
  const started = performance.now()
  const random: Random = createRandom(seed)
  const reading = createReading(parser)
  const corpus: Buffer[] = [
    ...parser.seeds.map((one) => Buffer.from(one)),
    ...earlier.map((one) => Buffer.from(one, 'base64')),
  ]
  const mutate = createMutation(random, () => corpus)
  const kept: Buffer[] = []
  await reading.readAll(corpus)
  const coverage = isGuided ? watchCoverage() : undefined
  await reading.readAll(corpus)
  coverage?.remember(coverage.take())
  let done = 0
  let size = FIRST_BATCH
  const looks: Look[] = []
  const isMeasured = inputs >= MIN_MEASURED_INPUTS
  while (done < inputs && reading.faults().length < MAX_FAULTS) {
    const began = performance.now()
    const batch = Array.from({ length: Math.min(size, inputs - done) }, () => mutate(random.pick(corpus)))
    await reading.readAll(batch)
    done += batch.length
    const isShort = performance.now() - began < BATCH_MS / 2
    size = Math.max(1, Math.min(MAX_BATCH, isShort ? size * 2 : Math.floor(size * 0.75)))
    const fresh = coverage?.take() ?? []
    if (coverage && fresh.length > 0 && corpus.length < MAX_CORPUS) {
      const found = await findNew(batch, reading.readAll, coverage)
      // Also what did not happen again, so that nobody looks for it twice.
      coverage.remember(fresh)
      corpus.push(...found)
      kept.push(...found.filter(({ length }) => length <= MAX_KEPT_BYTES))
    }
    if (isMeasured && done >= (inputs * (LOOKS / 4 + looks.length)) / (LOOKS * 1.25))
      looks.push(await lookAt(done, corpus))
  }
  await reading.again()
  coverage?.close()
  return {
    name: parser.name,
    inputs: done,
    faults: reading.faults(),
    kept: kept.map((one) => one.toString('base64')),
    slowestMs: reading.slowestMs(),
    growth: growthOf(looks),
    characters: coverage?.characters() ?? 0,
    seconds: (performance.now() - started) / 1000,
  }
}

const { PARSERS } = (await import(table)) as { readonly PARSERS: readonly Parser[] }

/** Tells the names of the parsers, then what became of each one that is asked for. */
parentPort?.on('message', (asked: Asked) => {
  const parser = PARSERS.find(({ name }) => name === asked.name)
  if (parser === undefined) throw new Error(`there is no parser "${asked.name}"`)
  void fuzz(parser, asked).then((fuzzed) => parentPort?.postMessage(fuzzed))
})
parentPort?.postMessage(PARSERS.map(({ name }) => name))
