/**
 * An archive of the write-ahead log, by the very commands of docs/operations.md: what was acknowledged up to a moment comes back, the
 * log goes on where the checkpoint allows it, and a new one begins where it does not.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { loadConfig } from '../../../src/config/config.ts'
import { type RunningServer, startServer } from '../../../src/server/server.ts'
import { type Client, clientOf, ok } from '../../support/client.ts'
import { shellBlocks } from '../../support/docs/shell-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { runCli } from '../../support/run-cli.ts'
import { onPostgres } from '../../support/servers/database.ts'
import { asPostgres, pathOfPostgres } from '../../support/servers/postgres.ts'
import { freePort } from '../../support/servers/server-process.ts'
import { read } from '../../support/sources.ts'

const execute = promisify(execFile)
const ADMIN_API_KEY = 'admin-key-of-the-archive'
const MOMENT = '2026-11-25 12:00:00+00'

/** The block of docs/operations.md with this command. */
const documented = (command: string): string => {
  const blocks = shellBlocks(read('docs/operations.md')).map(({ lines }) => lines.join('\n'))
  const found = blocks.filter((block) => block.includes(command))
  expect(found, command).to.have.lengthOf(1)
  return found[0] as string
}

onPostgres.describe('an archive of the write-ahead log of PostgreSQL', function () {
  this.timeout(300_000)
  let directory: string
  let env: Record<string, string>
  let server: RunningServer | undefined
  const at = (name: string): string => join(directory, name)

  /** Runs commands as the user of PostgreSQL does, with what they name below /srv in a directory of the test's own. */
  const shell = async (commands: string): Promise<string> => {
    const here = commands.replaceAll('/srv/', `${directory}/`)
    const { stdout } = await execute('bash', ['-euc', here], { ...asPostgres(), cwd: directory, env })
    return stdout.trim()
  }
  const query = (sql: string): Promise<string> => shell(`psql "$DATABASE_URL" -Atc "${sql}"`)

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'assay-archive-'))
    chmodSync(directory, 0o755)
    mkdirSync(at('archive'))
    const owner = asPostgres()
    if (owner) for (const path of [directory, at('archive')]) chownSync(path, owner.uid, owner.gid)
    const port = await freePort()
    env = {
      PATH: pathOfPostgres(),
      PGDATA: at('data'),
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres`,
      DATA_DIR: 'memory',
      MASTER_KEY: randomBytes(32).toString('hex'),
      BASE_URL: 'https://log.example',
      ADMIN_API_KEY,
    }
    await shell('initdb -U postgres -A trust -E UTF8 --no-locale')
    const settings = `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${directory}'\n`
    appendFileSync(at('data/postgresql.conf'), settings)
    await shell('pg_ctl -w start > log')
  })
  after(async () => {
    await server?.close()
    for (const cluster of ['data', 'restored'])
      await shell(`pg_ctl -D ${cluster} -m immediate stop`).catch(() => undefined)
    rmSync(directory, { recursive: true, force: true })
  })

  const start = async (): Promise<Client> => {
    server = await startServer(loadConfig({ ...env, PORT: '0', LOG_LEVEL: 'silent', AML_LISTS: 'none' }))
    return clientOf(server.url)
  }
  const stop = async (): Promise<void> => {
    await server?.close()
    server = undefined
  }
  /** Commits something. @returns its id */
  const record = async (client: Client): Promise<string> => {
    const body = { data: { text: randomBytes(8).toString('hex') } }
    const { verificationId } = await ok<{ verificationId: string }>(client, 'POST', '/verify', {
      key: ADMIN_API_KEY,
      body,
    })
    return verificationId
  }
  /** Keeps a checkpoint that has more entries than the one before. */
  const keepCheckpoint = async (client: Client, file: string, above: number): Promise<number> => {
    let size = 0
    await eventually('a newer checkpoint', async () => {
      const note = await ok<string>(client, 'GET', '/checkpoint')
      size = Number(note.split('\n')[1])
      writeFileSync(at(file), note)
      return size > above
    })
    return size
  }
  const statusOf = async (client: Client, id: string): Promise<number> =>
    (await client.request('GET', `/verify/${id}`, { key: ADMIN_API_KEY })).status

  it('brings back what was committed before a moment, and nothing that was after it', async () => {
    await shell(documented('archive_command'))
    const client = await start()
    const [backup] = documented('pg_basebackup').split('\n')
    const size = await keepCheckpoint(client, 'first.txt', 0)
    await shell(backup as string)
    const before = await record(client)
    const newest = await keepCheckpoint(client, 'checkpoint.txt', size)
    const moment = await query('SELECT clock_timestamp()')
    const after = await record(client)
    await keepCheckpoint(client, 'later.txt', newest)
    await stop()
    const segment = await query('SELECT pg_walfile_name(pg_current_wal_lsn()) FROM pg_switch_wal()')
    await eventually('the last segment in the archive', async () => {
      const archived = await query('SELECT last_archived_wal FROM pg_stat_archiver')
      return archived >= segment
    })
    await shell('pg_ctl -m immediate stop')

    await shell(documented('recovery.signal').replace(MOMENT, moment))
    const restore = (...args: string[]) => runCli(['restore', ...args], env)
    const lacking = await restore('--checkpoint', at('later.txt'))
    expect([lacking.status, lacking.errors]).to.deep.equal([1, lacking.errors])
    expect(lacking.errors).to.match(/too old: .+ are missing/)
    const goesOn = await restore('--checkpoint', at('checkpoint.txt'))
    expect([goesOn.status, goesOn.errors]).to.deep.equal([0, ''])
    expect(goesOn.output).to.include('The log goes on as log.example.')

    const again = await start()
    expect([await statusOf(again, before), await statusOf(again, after)]).to.deep.equal([200, 404])
    expect(await statusOf(again, await record(again))).to.equal(200)
    await stop()
  })

  it('begins a new log only where a checkpoint shows that something is missing', async () => {
    const anew = (...args: string[]) => runCli(['restore', '--new-log', ...args], env)
    for (const shown of [[], ['--checkpoint', at('checkpoint.txt')]]) {
      const { status, errors } = await anew(...shown)
      expect([status, errors.includes('was not restored')]).to.deep.equal([1, true])
    }
    const { status, output, errors } = await anew('--checkpoint', at('later.txt'))
    expect([status, errors]).to.deep.equal([0, ''])
    expect(output).to.include('A new log begins as log.example/2')
  })
})
