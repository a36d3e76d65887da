/**
 * Loaded before a program (`--import`): appends a line of JSON to the file WATCH_FILE each second, about the thread
 * that the program runs in; SIGUSR2 makes it throw away what nobody needs any more. ../servers/watched-process.ts reads them.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { heldMemory } from '../fuzz/held-memory.ts'
import { type Stretch, watchStretches } from '../servers/stretches.ts'

const SECOND_MS = 1000

/** What a process held and did in a second. */
export interface WatchedSecond extends Stretch {
  /** Unix ms. */
  readonly at: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** Sockets, files, timers, requests to the system. */
  readonly handles: number
}

const { WATCH_FILE } = process.env

// Threads of the program load this, too.
if (WATCH_FILE !== undefined && isMainThread) {
  const takeStretch = watchStretches()
  process.on('SIGUSR2', () => void heldMemory())
  setInterval(() => {
    const { rss, heapUsed } = process.memoryUsage()
    const second: WatchedSecond = {
      at: Date.now(),
      rssBytes: rss,
      heapBytes: heapUsed,
      handles: process.getActiveResourcesInfo().length,
      ...takeStretch(),
    }
    appendFileSync(WATCH_FILE, `${JSON.stringify(second)}\n`)
  }, SECOND_MS).unref()
}
