/** A PostgreSQL cluster of one's own, with fsync on, for tests that kill it. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './server-process.ts'

const START_TIMEOUT_MS = 30_000
const PROBE_PAUSE_MS = 50
const INSTALLATIONS = '/usr/lib/postgresql'

export interface PostgresCluster {
  /** Of its database `postgres`. */
  readonly url: string
  /** SIGKILL to the server and all of its processes at once, as a power cut would. */
  kill(): Promise<void>
  /** Sends the server a signal that ends it, SIGINT for a fast shutdown, and waits. */
  end(signal: NodeJS.Signals): Promise<void>
  /** Sends a signal, such as SIGSTOP, to the server and all of its processes. */
  signal(signal: NodeJS.Signals): void
  /** Starts it again after `kill` or `end` and waits until it answers. */
  restart(): Promise<void>
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root, so root runs it as the system's user postgres. */
export const asPostgres = (): { uid: number; gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Where the server's programs may be: Debian keeps them out of PATH, by version. */
const directories = (): string[] =>
  (existsSync(INSTALLATIONS) ? readdirSync(INSTALLATIONS) : [])
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLATIONS, version, 'bin'))

/** A PATH in which they are. */
export const pathOfPostgres = (): string => [...directories(), process.env.PATH].join(':')

const binary = (name: string): string =>
  directories()
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path)) ?? name

const answers = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

const isGone = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/**
 * Makes and starts a cluster below the temporary directory.
 * @param settings `name=value`, beside the defaults
 * @param primary URL of another cluster: this one is then a standby of it, and streams what that one writes
 */
export const startPostgres = async (
  settings: readonly string[] = [],
  primary?: string,
): Promise<PostgresCluster> => {
  const owner = asPostgres()
  const directory = mkdtempSync(join(tmpdir(), 'assay-postgres-'))
  if (owner) chownSync(directory, owner.uid, owner.gid)
  const data = join(directory, 'data')
  const [program, initialise] =
    primary === undefined
      ? (['initdb', ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale']] as const)
      : (['pg_basebackup', ['-d', primary, '-R', '-X', 'stream', '-c', 'fast']] as const)
  await promisify(execFile)(binary(program), ['-D', data, ...initialise], { ...owner, cwd: directory })
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const args = ['-D', data, '-p', String(port), '-k', directory, '-h', '127.0.0.1']
  for (const setting of ['fsync=on', ...settings]) args.push('-c', setting)

  let child: ChildProcess
  const launch = (): { printed: () => string } => {
    let text = ''
    child = spawn(binary('postgres'), args, { ...owner, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr?.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-8192)
    })
    return { printed: () => text }
  }
  const start = async (): Promise<void> => {
    const giveUpAt = performance.now() + START_TIMEOUT_MS
    let run = launch()
    while (!(await answers(url))) {
      if (performance.now() > giveUpAt) throw new Error(`PostgreSQL did not start:\n${run.printed()}`)
      await pause(PROBE_PAUSE_MS)
      // Right after a kill the old shared memory may be in use still.
      if (isGone(child)) run = launch()
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (isGone(child)) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  const signal = (name: NodeJS.Signals): void => {
    const { pid } = child
    if (pid === undefined || isGone(child)) return
    for (const one of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(one, name)
      } catch {
        // It went by itself in between.
      }
    }
  }
  await start()
  return {
    url,
    async kill() {
      if (isGone(child)) return
      const ended = once(child, 'exit')
      signal('SIGKILL')
      await ended
    },
    end,
    signal,
    restart: start,
    async stop() {
      await end('SIGINT')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
