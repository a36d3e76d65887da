/** Runs the thread in which parsers are fuzzed, and watches it from outside. @module */
import { Worker } from 'node:worker_threads'
import type { Asked, Fuzzed, ThreadData } from './fuzz-thread.ts'
import { MAX_INPUT_BYTES } from './mutation.ts'

const THREAD = new URL('./fuzz-thread.ts', import.meta.url).href
/** Threads begin without the loader of TypeScript. */
const START = `import('${import.meta.resolve('tsx/esm/api')}').then(({ register }) => {
  register()
  return import('${THREAD}')
})`
/** Processor time of one input; what takes more hangs. Far more than the slowest one, on whatever machine. */
const DEADLINE_MS = 10_000
/** How often as long, by the clock, something may take that computes nothing: others may have the processor, or it waits for what never comes. */
const IDLE_DEADLINES = 60
const WATCH_MS = 250
/** Of the thread: an input that takes more ends it. */
const MAX_HEAP_MB = 512
const HEAD_BYTES = 8

export interface Fuzzer {
  /** Of the parsers in the table. */
  readonly names: readonly string[]
  /** Inputs so far, of all parsers. */
  begun(): number
  /** @throws Error naming the input for one that hangs, or takes all memory; the fuzzer has then ended */
  fuzz(asked: Asked): Promise<Fuzzed>
  close(): Promise<void>
}

export interface FuzzerOptions {
  readonly isGuided?: boolean
  readonly deadlineMs?: number
}

/** @param table URL of a module that exports PARSERS */
export const startFuzzer = async (
  table: URL,
  { isGuided = true, deadlineMs = DEADLINE_MS }: FuzzerOptions = {},
): Promise<Fuzzer> => {
  const shared = new SharedArrayBuffer(HEAD_BYTES + MAX_INPUT_BYTES)
  const words = new Int32Array(shared, 0, 2)
  const data: ThreadData = { table: table.href, shared, isGuided }
  const worker = new Worker(START, {
    eval: true,
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const lastInput = (): string =>
    Buffer.from(new Uint8Array(shared, HEAD_BYTES, Atomics.load(words, 1))).toString('base64')

  /** The next message, unless the thread ends or stands still before. */
  const answer = <T>(what: string): Promise<T> =>
    new Promise((resolve, reject) => {
      let seen = Atomics.load(words, 0)
      // Counted in looks, not by the clock: a run may be stopped (SIGSTOP) and go on hours later.
      let looks = 0
      let before = process.cpuUsage()
      const done = (): void => {
        clearInterval(watch)
        worker.off('message', heard).off('error', broke).off('exit', ended)
      }
      const failed = (why: string): void => {
        done()
        reject(new Error(`${what} ${why}; the last input was, in base64: ${lastInput()}`))
      }
      const watch = setInterval(() => {
        const begun = Atomics.load(words, 0)
        if (begun === 0 || begun !== seen) [seen, looks, before] = [begun, 0, process.cpuUsage()]
        looks += 1
        const { user, system } = process.cpuUsage(before)
        if ((user + system) / 1000 <= deadlineMs && looks * WATCH_MS <= IDLE_DEADLINES * deadlineMs) return
        failed(
          `stood still for ${deadlineMs} ms of processor time, or ${IDLE_DEADLINES} times as long without any`,
        )
        void worker.terminate()
      }, WATCH_MS)
      const heard = (message: T): void => {
        done()
        resolve(message)
      }
      const broke = (error: Error): void => failed(`ended: ${error.message}`)
      const ended = (): void => failed('ended')
      worker.on('message', heard).on('error', broke).on('exit', ended)
    })

  return {
    names: await answer<readonly string[]>('the table'),
    begun: () => Atomics.load(words, 0),
    fuzz(asked) {
      worker.postMessage(asked)
      return answer(asked.name)
    },
    close: async () => {
      await worker.terminate()
    },
  }
}
