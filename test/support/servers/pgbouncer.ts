/** PgBouncer in transaction mode, for tests; those that need it are skipped, and say so, where it is not installed. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { asPostgres } from './postgres.ts'
import { freePort } from './server-process.ts'

const START_TIMEOUT_MS = 10_000
const PROBE_PAUSE_MS = 50
/** Debian keeps it out of the PATH of ordinary users. */
const PROGRAMS = ['pgbouncer', '/usr/sbin/pgbouncer']

export interface PgBouncer {
  /** Of the same database, through the pooler. */
  readonly url: string
  /** What it said so far. */
  printed(): string
  stop(): Promise<void>
}

interface Context {
  skip(): void
}

const programOrSkip = (test: Context): string => {
  const program = PROGRAMS.find((name) => spawnSync(name, ['--version']).status === 0)
  if (program === undefined) {
    console.log('      SKIPPED: PgBouncer is not installed (apt-get install pgbouncer)')
    test.skip()
  }
  return program ?? ''
}

/** @param sessions of the server that it shares among all clients */
export const startPgBouncer = async (
  test: Context,
  databaseUrl: string,
  sessions: number,
): Promise<PgBouncer> => {
  const program = programOrSkip(test)
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const directory = mkdtempSync(join(tmpdir(), 'assay-pgbouncer-'))
  const own = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  const login = `user=${username || 'postgres'}${password ? ` password=${decodeURIComponent(password)}` : ''}`
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${port || 5432} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
max_client_conn = 200
`,
  )
  // It refuses to run as root.
  const owner = asPostgres()
  if (owner) for (const path of [directory, file]) chownSync(path, owner.uid, owner.gid)
  const child = spawn(program, [file], { ...owner, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const exited = once(child, 'exit')
  const url = `postgres://postgres@127.0.0.1:${own}${pathname}`
  const giveUpAt = performance.now() + START_TIMEOUT_MS
  const stop = async (): Promise<void> => {
    child.kill('SIGINT')
    await exited
    rmSync(directory, { recursive: true })
  }
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    const isUp = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => undefined)
    if (isUp) return { url, printed: () => text, stop }
    if (child.exitCode !== null || performance.now() > giveUpAt) {
      await stop()
      throw new Error(`PgBouncer did not start:\n${text}`)
    }
    await pause(PROBE_PAUSE_MS)
  }
}
