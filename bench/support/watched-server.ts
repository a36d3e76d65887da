/**
 * A server as a program of its own, which tells how long its main thread went without a turn of the event loop. Its parent starts it
 * with fork: the arguments are the URL of a database and settings as JSON. It sends where it listens, and answers each message
 * with the longest stretches since the last one.
 * @module
 */
import { startBenchServer } from './bench-server.ts'
import { createThreadClock } from './thread-time.ts'

/** The longest time between two turns of a timer of one millisecond. */
export interface Stretch {
  /** Processor time of the main thread: what it did in between, however busy the machine is otherwise. */
  readonly processorMs: number
  readonly clockMs: number
}

export interface Listening {
  readonly url: string
  readonly key: string
}

const NONE: Stretch = { processorMs: 0, clockMs: 0 }

const watchStretches = (): (() => Stretch) => {
  const processor = createThreadClock()
  let longest = NONE
  let last = { processor: processor(), clock: performance.now() }
  setInterval(() => {
    const now = { processor: processor(), clock: performance.now() }
    longest = {
      processorMs: Math.max(longest.processorMs, now.processor - last.processor),
      clockMs: Math.max(longest.clockMs, now.clock - last.clock),
    }
    last = now
  }, 1)
  return () => {
    const taken = longest
    longest = NONE
    return taken
  }
}

const [databaseUrl = '', settings = '{}'] = process.argv.slice(2)
const { server, key } = await startBenchServer(databaseUrl, JSON.parse(settings))
const takeStretch = watchStretches()
process.on('message', () => process.send?.(takeStretch()))
process.once('disconnect', () => void server.close().then(() => process.exit()))
process.send?.({ url: server.url, key } satisfies Listening)
