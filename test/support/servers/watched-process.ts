/** A server process that tells each second what it holds, and how long it gave nobody a turn. @module */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WatchedSecond } from '../programs/watch-process.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/** Options of Node, with URLs, so that what is loaded is found from any directory. Threads of the server do not get them. */
const WATCHING = [
  import.meta.resolve('tsx'),
  new URL('../programs/watch-process.ts', import.meta.url).href,
].map((url) => `--import=${url}`)
const SERVER = join(import.meta.dirname, '../../../build/server.js')
const startBuilt: Start = (env, options) => startServerProcess(env, undefined, [...options, SERVER])

/** @param options of Node */
type Start = (env: Readonly<Record<string, string>>, options: readonly string[]) => Promise<ServerProcess>

/** More than two seconds, of which one tells what was held after it. */
const SETTLE_MS = 2500

export interface WatchedServer extends ServerProcess {
  /** Seconds from a time on. @param since Unix ms */
  seconds(since?: number): readonly WatchedSecond[]
  /** Waits until it has thrown away what nobody needs any more. @returns bytes of its heap */
  heldBytes(): Promise<number>
}

/** @param start the built server, unless it is another one @param env what it is started with */
export const startWatchedServer = async (
  env: Readonly<Record<string, string>>,
  start: Start = startBuilt,
): Promise<WatchedServer> => {
  const file = join(tmpdir(), `assay-watched-${randomUUID()}.jsonl`)
  const server = await start({ ...env, WATCH_FILE: file }, WATCHING)
  const seconds = (since = 0): readonly WatchedSecond[] =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as WatchedSecond)
      .filter(({ at }) => at >= since)
  return {
    ...server,
    seconds,
    async heldBytes() {
      await pause(SETTLE_MS)
      server.process.kill('SIGUSR2')
      await pause(SETTLE_MS)
      return seconds().at(-1)?.heapBytes ?? Number.NaN
    },
    async end(signal) {
      const code = await server.end(signal)
      rmSync(file, { force: true })
      return code
    },
  }
}
