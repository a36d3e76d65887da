/** Backups of a running server, restored elsewhere: nothing that was acknowledged is missing, and no copy forks the log. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openDatabase } from '../../../src/store/database.ts'
import { clientOf } from '../../support/client.ts'
import { rejection } from '../../support/rejection.ts'
import { type CliRun, runCli } from '../../support/run-cli.ts'
import { createPostgresDatabase, onEmbedded, onPostgres } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { openShop, payOnce, startPayments } from '../../support/servers/payment-load.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'

const ADMIN_API_KEY = 'admin-key-of-the-backup'
const BASE_URL = 'https://log.example'
const common = { ADMIN_API_KEY, BASE_URL, RATE_LIMITS: 'off', AML_LISTS: 'none' }

const checkpointOf = async (url: string): Promise<string> =>
  (await clientOf(url).request<string>('GET', '/checkpoint')).body
const sizeOf = (note: string): number => Number(note.split('\n')[1])

const expectDone = ({ status, output, errors }: CliRun): string => {
  expect(status, errors).to.equal(0)
  return output
}
const expectRefused = ({ status, errors }: CliRun): string => {
  expect(status).to.equal(1)
  expect(errors, 'no stack').to.not.include('    at ')
  return errors
}

/** Enough that something is written at every moment. */
const CLIENTS = 2

onEmbedded.describe('npx assay backup and restore', function () {
  this.timeout(600_000)
  const directory = temporaryDirectories()

  it('bring back all that was acknowledged before, under writing load, and don’t fork the log', async () => {
    const [DATA_DIR, restored, files] = await Promise.all([directory(), directory(), directory()])
    const env = { ...common, DATA_DIR }
    const server = await startServerProcess(env)
    const at = { ...env, PORT: new URL(server.url).port }
    const shop = await openShop(server.url, ADMIN_API_KEY)
    const load = startPayments(() => server.url, shop, CLIENTS)
    const [backup, older, newer] = ['backup.zip', 'older.txt', 'newer.txt'].map((name) =>
      join(files, name),
    ) as [string, string, string]
    await new Promise((resolve) => setTimeout(resolve, 1000))
    writeFileSync(older, await checkpointOf(server.url))
    const before = [...load.acknowledged]
    const said = expectDone(await runCli(['backup', backup], at))
    expect(said)
      .to.match(/for \d+ ms/)
      .and.to.match(/sha256 [0-9a-f]{64}/)
    expect(existsSync(join(DATA_DIR, 'backup.partial')), 'a copy is left').to.equal(false)
    expect(expectRefused(await runCli(['backup', backup], at))).to.include('exists')
    const second = join(files, 'second.zip')
    writeFileSync(`${second}.partial`, 'of another one')
    expect(expectRefused(await runCli(['backup', second], at))).to.include('another backup is being made')
    expect(readFileSync(`${second}.partial`, 'utf8')).to.equal('of another one')
    await load.stop()
    expect(load.refused).to.deep.equal([])
    expect(load.acknowledged.length).to.be.greaterThan(before.length)
    writeFileSync(newer, await checkpointOf(server.url))
    expect(sizeOf(readFileSync(newer, 'utf8'))).to.be.greaterThan(sizeOf(readFileSync(older, 'utf8')))
    expect(await server.end()).to.equal(0)

    const elsewhere = { ...common, DATA_DIR: restored }
    expect(expectRefused(await runCli(['restore', backup], elsewhere))).to.include('MASTER_KEY must be set')
    const keyed = { ...elsewhere, MASTER_KEY: readFileSync(join(DATA_DIR, 'master.key'), 'utf8').trim() }
    expect(expectDone(await runCli(['restore', backup], keyed))).to.include('does not start yet')
    expect(readdirSync(restored)).to.include('database').and.to.not.include('master.key')
    expect(expectRefused(await runCli(['restore', '--checkpoint', newer], keyed))).to.match(
      /too old: .+ so \d+ are missing/,
    )
    // A file that is not there is missed before anything is written.
    const elsewhereYet = { ...keyed, DATA_DIR: await directory() }
    expectRefused(await runCli(['restore', backup, '--checkpoint', join(files, 'none.txt')], elsewhereYet))
    expect(readdirSync(elsewhereYet.DATA_DIR)).to.deep.equal([])
    expect(expectRefused(await runCli(['restore', '--checkpoint', backup], keyed))).to.include(
      'holds no checkpoint. Nothing was changed.',
    )

    const copied = await openDatabase({ dataDir: restored })
    const [own = '']: string[] = await copied.knex('ledger_checkpoint').pluck('note')
    await copied.close()
    expect(sizeOf(own)).to.be.greaterThan(sizeOf(readFileSync(older, 'utf8')))
    expect(expectRefused(await runCli(['restore', '--checkpoint', older], keyed)))
      .to.include('is not the newest checkpoint')
      .and.to.match(new RegExp(`remembers one over ${sizeOf(own)}, signed at \\d{4}-`))
    // Neither the restoring nor one of the refusals above lets it start.
    expect((await rejection(startServerProcess(keyed))).message).to.include('restored from a copy')
    const newest = join(files, 'newest.txt')
    writeFileSync(newest, own)
    expect(expectDone(await runCli(['restore', '--checkpoint', newest], keyed))).to.include(
      'goes on as log.example',
    )
    expect(expectRefused(await runCli(['restore', '--new-log'], keyed))).to.include('was not restored')
    const again = await startServerProcess(keyed)
    expect(sizeOf(await checkpointOf(again.url))).to.be.at.least(sizeOf(readFileSync(older, 'utf8')))
    expect((await payOnce(again.url, shop)).status).to.equal(200)
    expect(await again.end()).to.equal(0)
    const database = await openDatabase({ dataDir: restored })
    const paid: string[] = await database.knex('payments').pluck('transaction_id')
    await database.close()
    expect(
      before.filter((id) => !paid.includes(id)),
      'acknowledged before the backup, and lost',
    ).to.deep.equal([])

    // A new log: another name, whose first entry names the checkpoint that the copy could not follow.
    const third = await directory()
    const anew = { ...keyed, DATA_DIR: third }
    expect(
      expectDone(await runCli(['restore', backup, '--new-log', '--checkpoint', newer], anew)),
    ).to.include('log.example/2')
    const begun = await startServerProcess(anew)
    const note = await checkpointOf(begun.url)
    expect(note).to.match(/^log\.example\/2\n/)
    const [evidence, jwks] = [join(files, 'evidence.ndjson'), join(files, 'jwks.json')]
    const answered = async (path: string) =>
      (await clientOf(begun.url).request('GET', path, { key: ADMIN_API_KEY })).bytes
    writeFileSync(evidence, await answered('/api/export/evidence'))
    writeFileSync(jwks, await answered('/.well-known/jwks.json'))
    const verified = expectDone(await runCli(['verify-evidence', '--keys', jwks, evidence]))
    expect(verified).to.include('The evidence holds').and.to.include('begun anew as log.example/2')
    await begun.end()
    const log = await openDatabase({ dataDir: third })
    const entries: string[] = await log.knex('ledger_entries').orderBy('idx').pluck('entry')
    await log.close()
    const first = entries.findIndex((entry) => entry.includes('"log.begun"'))
    expect(JSON.parse(entries[first] ?? '').data.before).to.deep.equal({
      origin: 'log.example',
      checkpoint: readFileSync(newer, 'utf8'),
    })
    // What the backup held, and nothing before it.
    expect(first).to.be.greaterThan(before.length - 1)
  })

  describe('of a server that has stopped', () => {
    let env: Record<'DATA_DIR' | 'MASTER_KEY', string> & typeof common
    let files: string
    let backup: string
    let url: string
    before(async () => {
      files = mkdtempSync(join(tmpdir(), 'assay-backup-'))
      backup = join(files, 'backup.zip')
      env = { ...common, DATA_DIR: join(files, 'home'), MASTER_KEY: randomBytes(32).toString('hex') }
      const server = await startServerProcess(env)
      url = server.url
      expectDone(await runCli(['backup', backup, '--url', url], env))
      expect(expectRefused(await runCli(['restore', backup], env))).to.include('in use by process')
      await server.end()
      expect(expectRefused(await runCli(['restore', backup], env))).to.include(
        'exists: a backup is restored into an empty',
      )
    })
    after(() => rmSync(files, { recursive: true }))

    it('refuse what was altered or cut short, what would overwrite, and a server of PostgreSQL', async () => {
      expect(expectRefused(await runCli(['backup', join(files, 'none.zip'), '--url', url], env))).to.include(
        `The server at ${url} can't be asked (connect ECONNREFUSED 127.0.0.1:`,
      )
      expect(existsSync(join(files, 'none.zip.partial'))).to.equal(false)

      const bytes = readFileSync(backup)
      const cut = join(files, 'cut.zip')
      writeFileSync(cut, bytes.subarray(0, -1000))
      const fresh = { ...env, DATA_DIR: await directory() }
      expect(expectRefused(await runCli(['restore', cut], fresh))).to.include('is no backup')
      const altered = join(files, 'altered.zip')
      const changed = Buffer.from(bytes)
      changed[Math.floor(bytes.length / 2)] = (changed[Math.floor(bytes.length / 2)] ?? 0) ^ 1
      writeFileSync(altered, changed)
      expectRefused(await runCli(['restore', altered], fresh))
      expect(readdirSync(fresh.DATA_DIR)).to.deep.equal([])
      const onServer = { ...env, DATABASE_URL: 'postgres://ada:hunter2@db/assay' }
      const how = expectRefused(await runCli(['backup', join(files, 'x.zip')], onServer))
      expect(how).to.include('~/.pgpass')
      expect(how).to.include('pg_dump --format=custom').and.to.not.include('hunter2')
    })

    it('do not take a database that was copied by hand without its place for the one that is at home', async () => {
      const copy = await directory()
      cpSync(join(env.DATA_DIR, 'database'), join(copy, 'database'), { recursive: true })
      expect((await rejection(startServerProcess({ ...env, DATA_DIR: copy }))).message).to.include(
        'restored from a copy',
      )
      await (await startServerProcess(env)).end()
    })

    it('say what isn’t as the server had it: BASE_URL, and the admin key', async () => {
      const { ADMIN_API_KEY: _, BASE_URL: __, ...rest } = env
      const bare = { ...rest, DATA_DIR: await directory() }
      const said = expectDone(await runCli(['restore', backup], bare))
      expect(said).to.include('BASE_URL leads to 127.0.0.1:8080, and the log is named after log.example')
      expect(said).to.include('DATA_DIR holds no admin.key')
      expect(said).to.include('counts again').and.to.include('npx assay rotate-keys --leaked KID')
      writeFileSync(join(bare.DATA_DIR, 'admin.key'), `${ADMIN_API_KEY}\n`)
      const begun = expectDone(await runCli(['restore', '--new-log'], { ...bare, BASE_URL }))
      expect(begun).to.include('begins as log.example/2').and.to.not.include('BASE_URL leads')
      expect(begun).to.not.include('admin.key')
    })

    // The last one: it takes the database away.
    it('do not take a backup for what is at home, although it is unpacked where the database was', async () => {
      rmSync(join(env.DATA_DIR, 'database'), { recursive: true })
      expect(expectDone(await runCli(['restore', backup], env))).to.include('does not start yet')
      expect((await rejection(startServerProcess(env))).message).to.include('restored from a copy')
    })
  })
})

onPostgres.describe('a dump of PostgreSQL that was restored', function () {
  this.timeout(600_000)
  const directory = temporaryDirectories()

  it('is not made up where none is: an empty database stays empty, so that the dump still fits in', async () => {
    const target = await createPostgresDatabase()
    const checkpoint = join(await directory(), 'checkpoint.txt')
    writeFileSync(checkpoint, 'log.example\n1\n')
    const MASTER_KEY = randomBytes(32).toString('hex')
    const env = { ...common, DATA_DIR: 'memory', MASTER_KEY, DATABASE_URL: target.url }
    const refused = async () => {
      for (const args of [['--new-log'], ['--checkpoint', checkpoint]])
        expect(expectRefused(await runCli(['restore', ...args], env))).to.include(
          'no log that ever signed anything',
        )
    }
    const rowsOf = async (query: string): Promise<unknown[]> => {
      const database = await openDatabase({ databaseUrl: target.url, dataDir: 'memory', migrate: 'any' })
      const { rows } = await database.query(query, [])
      await database.close()
      return [...rows]
    }
    await refused()
    expect(await rowsOf('SELECT tablename FROM pg_tables WHERE schemaname = current_schema()')).to.deep.equal(
      [],
    )
    // Nor in one that has tables alone.
    expectDone(await runCli(['migrate'], env))
    await refused()
    for (const table of ['signing_keys', 'data_keys', 'ledger_home', 'ledger_entries'])
      expect(await rowsOf(`SELECT 1 FROM ${table}`), table).to.deep.equal([])
    await target.drop()
  })

  it('has all that was acknowledged before it, and does not fork the log', async () => {
    const scratch = await createPostgresDatabase()
    const target = await createPostgresDatabase()
    const files = await directory()
    const env = { ...common, DATA_DIR: 'memory', MASTER_KEY: randomBytes(32).toString('hex') }
    const server = await startServerProcess({ ...env, DATABASE_URL: scratch.url })
    const shop = await openShop(server.url, ADMIN_API_KEY)
    const load = startPayments(() => server.url, shop, CLIENTS)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const [dump, older, newer] = ['dump', 'older.txt', 'newer.txt'].map((name) => join(files, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(older, await checkpointOf(server.url))
    const before = [...load.acknowledged]
    execFileSync('pg_dump', ['--format=custom', `--file=${dump}`, scratch.url])
    await new Promise((resolve) => setTimeout(resolve, 500))
    await load.stop()
    writeFileSync(newer, await checkpointOf(server.url))
    expect(await server.end()).to.equal(0)

    execFileSync('pg_restore', ['--no-owner', `--dbname=${target.url}`, dump])
    const copy = { ...env, DATABASE_URL: target.url }
    expect((await rejection(startServerProcess(copy))).message).to.include('restored from a copy')
    expect(expectRefused(await runCli(['restore', '--checkpoint', newer], copy))).to.match(/too old/)
    expect(expectDone(await runCli(['restore', '--checkpoint', older], copy))).to.include(
      'goes on as log.example',
    )
    const again = await startServerProcess(copy)
    expect((await payOnce(again.url, shop)).status).to.equal(200)
    expect(sizeOf(await checkpointOf(again.url))).to.be.at.least(sizeOf(readFileSync(older, 'utf8')))
    await again.end()
    const database = await openDatabase({ databaseUrl: target.url, dataDir: 'memory' })
    const paid: string[] = await database.knex('payments').pluck('transaction_id')
    await database.close()
    expect(before.filter((id) => !paid.includes(id))).to.deep.equal([])
    // The one that it was dumped from goes on by itself.
    await (await startServerProcess({ ...env, DATABASE_URL: scratch.url })).end()
    await target.drop()
    await scratch.drop()
  })
})
