/** The built server as a process of its own, for tests that kill it or run several. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { clientOf, isSuccess } from '../client.ts'
import { NODE_FLAGS } from '../programs.ts'

const SERVER = join(import.meta.dirname, '../../../build/server.js')
const START_TIMEOUT_MS = 180_000
const PROBE_PAUSE_MS = 50

export interface ServerProcess {
  readonly url: string
  readonly process: ChildProcess
  /** Sends the signal and resolves with the exit code once the process is gone. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/** A port that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return address !== null && typeof address === 'object' ? address.port : 0
}

const isUp = (url: string): Promise<boolean> =>
  clientOf(url)
    .request('GET', '/health/ready')
    .then(isSuccess, () => false)

/**
 * Starts `build/server.js` with only the given environment (besides PATH and HOME) and waits until it is ready. Few proofs
 * are made by one server of the tests: it has no tables for them, which would cost more than they save.
 * @param directory in which it runs
 * @param program what Node is given, where that is another one: its options, the file and the arguments
 * @throws Error with what the server printed, when it ends or is not ready within three minutes
 */
export const startServerProcess = async (
  env: Readonly<Record<string, string>>,
  directory?: string,
  program?: readonly string[],
): Promise<ServerProcess> => {
  const port = env.PORT ?? String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const { PATH, HOME } = process.env
  const usual = { PATH, HOME, LOG_LEVEL: 'error', ...(program === undefined && { PROVER_TABLE_MB: '0' }) }
  const child = spawn(process.execPath, program ?? [...NODE_FLAGS, SERVER], {
    cwd: directory,
    env: { ...usual, ...env, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => (printed = (printed + text).slice(-8192)))
  const exited = once(child, 'exit')
  const giveUpAt = performance.now() + START_TIMEOUT_MS
  while (!(await isUp(url))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${printed}`)
    if (performance.now() > giveUpAt) {
      child.kill('SIGKILL')
      throw new Error(`the server was not ready in time:\n${printed}`)
    }
    await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS))
  }
  return {
    url,
    process: child,
    end: async (signal = 'SIGTERM') => {
      child.kill(signal)
      const [code] = (await exited) as [number | null]
      return code
    },
  }
}
