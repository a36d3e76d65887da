/** `assay version`, `config` and `migrate`, as they are built; and servers that may not migrate. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/clock.ts'
import { effectiveSettings } from '../../../src/config/effective-settings.ts'
import { variables } from '../../../src/config/environment.ts'
import { SERVICE_VERSION } from '../../../src/domain/system/service.ts'
import { openSealing } from '../../../src/keys/data-keys.ts'
import { createSigners } from '../../../src/keys/signers.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { lockDirectory } from '../../../src/store/directory-lock.ts'
import { missingMigrations } from '../../../src/store/migrate.ts'
import { MIGRATIONS } from '../../../src/store/migrations/index.ts'
import { rejection } from '../../support/rejection.ts'
import { runCli } from '../../support/run-cli.ts'
import { createPostgresDatabase, DATABASE_URL } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'
import { createTestLog } from '../../support/tlog.ts'

const MASTER_KEY = 'cd'.repeat(32)
const MISSING = '0022-ledger-home'
const LAST = MIGRATIONS.at(-1)?.name ?? ''

describe('npx assay version and config', function () {
  this.timeout(60_000)

  it('tells what it is', async () => {
    const { status, output } = await runCli(['version'])
    expect([status, output]).to.deep.equal([
      0,
      `assay ${SERVICE_VERSION}\nschema ${LAST}\nnode ${process.version}\n`,
    ])
  })

  it('shows every setting in effect and no secret', async () => {
    const secrets = {
      MASTER_KEY,
      ADMIN_API_KEY: 'only-for-the-operator',
      METRICS_TOKEN: 'scrape:me/12345678',
    }
    const DATABASE_URL = 'postgres://ada:hunter2@db.example:5433/assay?password=hunter3'
    const { status, output } = await runCli(['config'], { ...secrets, DATABASE_URL, PORT: '9000' })
    expect(status).to.equal(0)
    expect(output)
      .to.match(/^PORT=9000$/m)
      .and.to.match(/^# HOST: 127\.0\.0\.1$/m)
      .and.to.match(/^# MIGRATE: on$/m)
    expect(output).to.include('DATABASE_URL=postgres://********@db.example:5433/assay\n')
    for (const secret of [...Object.values(secrets), 'hunter2', 'hunter3', 'ada'])
      expect(output).to.not.include(secret)
    for (const [variable] of variables) expect(output).to.match(new RegExp(`^(# )?${variable}[=:]`, 'm'))
  })

  it('shows nothing of an address that may have a part of its password elsewhere', () => {
    const passwords = ['12/hunter2', '12?hunter2', '12#hunter2']
    const addresses = passwords.map((password) => `postgres://ada:${password}@db/assay`)
    for (const DATABASE_URL of ['postgres:ada:hunter2@db/assay', ...addresses]) {
      const shown = effectiveSettings({ DATABASE_URL }).find(({ variable }) => variable === 'DATABASE_URL')
      expect(shown).to.deep.equal({ variable: 'DATABASE_URL', isSet: true, value: '********' })
    }
  })

  it('ends with 1 for all that a server refuses of them', async () => {
    const refused = {
      MASTER_KEY: { DATABASE_URL: 'postgres://db.example/assay' },
      OIDC_CLIENT_SECRET: { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'assay' },
      WITNESS_MAX_AGE_SECONDS: { WITNESS_INTERVAL_SECONDS: '60', WITNESS_MAX_AGE_SECONDS: '90' },
      EGRESS_CA_FILE: { EGRESS_CA_FILE: '/nowhere/ca.pem' },
    }
    for (const [variable, env] of Object.entries(refused)) {
      const { status, output, errors } = await runCli(['config', '--json'], env)
      expect([status, errors.split('\n').length], variable).to.deep.equal([1, 2])
      expect(errors).to.match(/ must be /)
      expect(JSON.parse(output).faults).to.have.length(1)
      expect(JSON.parse(output).faults[0], variable).to.include({ variable })
    }
  })

  it('names what breaks its rule, and ends with 1', async () => {
    const { status, errors } = await runCli(['config', '--json'], {
      PORT: 'eighty',
      METRICS_TOKEN: 'with space',
    })
    expect(status).to.equal(1)
    expect(errors).to.include('PORT must be a whole number').and.to.not.include('with space')
  })
})

describe('npx assay migrate', function () {
  this.timeout(120_000)
  const directory = temporaryDirectories()

  /** A database that lacks a migration, as an earlier release left it. */
  const olderDatabase = async () => {
    const scratch = DATABASE_URL === undefined ? undefined : await createPostgresDatabase()
    const dataDir = await directory()
    const options = { dataDir, databaseUrl: scratch?.url }
    const database = await openDatabase(options)
    await database.knex.raw('DROP TABLE ledger_home')
    await database.knex('migrations').where({ name: MISSING }).del()
    await database.close()
    const env = { DATA_DIR: dataDir, MASTER_KEY, ...(scratch && { DATABASE_URL: scratch.url }) }
    return { options, env, drop: () => scratch?.drop() }
  }

  it('lets a log go on only in a database that is there', async () => {
    const dataDir = await directory()
    const backup = join(await directory(), 'backup.zip')
    writeFileSync(backup, 'a backup')
    for (const args of [['--new-log'], ['--checkpoint', backup, backup]]) {
      const { status, errors } = await runCli(['restore', ...args], { DATA_DIR: dataDir, MASTER_KEY })
      expect(status).to.equal(1)
      expect(errors).to.include('holds no database').and.include('it comes before --checkpoint')
      expect(readdirSync(dataDir)).to.deep.equal([])
    }
  })

  it('leaves a database as it is whose log did not sign the checkpoint, or never signed', async () => {
    const { options, env, drop } = await olderDatabase()
    const checkpoint = join(options.dataDir, 'checkpoint.txt')
    writeFileSync(checkpoint, createTestLog('log.example', 3).note(3))
    const refusal = async () => {
      const { status, errors } = await runCli(['restore', '--checkpoint', checkpoint], env)
      expect(status).to.equal(1)
      return errors
    }
    const opened = async <T>(use: (database: Database) => Promise<T>): Promise<T> => {
      const database = await openDatabase({ ...options, migrate: 'any' })
      return use(database).finally(() => database.close())
    }
    expect(await refusal())
      .to.include('no log that ever signed anything')
      .and.include('Nothing was changed')
    expect(await opened(({ knex }) => knex('signing_keys'))).to.deep.equal([])
    await opened(async (database) => {
      const { sealing, close } = await openSealing(database, Buffer.from(MASTER_KEY, 'hex'))
      close()
      await createSigners({ database, sealing, clock: systemClock })
    })
    expect(await refusal())
      .to.include('no key of this copy signed')
      .and.include('Nothing was changed')
    writeFileSync(checkpoint, '<h1>Bad gateway</h1>')
    expect(await refusal())
      .to.include('holds no checkpoint')
      .and.include('Nothing was changed')
    expect(await opened(missingMigrations)).to.deep.equal([MISSING])
    await drop()
  })

  it('unpacks no backup beside a process that uses DATA_DIR', async () => {
    const dataDir = await directory()
    const backup = join(await directory(), 'backup.zip')
    writeFileSync(backup, 'a backup')
    mkdirSync(join(dataDir, 'database.restoring'))
    writeFileSync(join(dataDir, 'database.place'), 'here')
    const unlock = lockDirectory(join(dataDir, 'database.lock'))
    const { status, errors } = await runCli(['restore', backup], { DATA_DIR: dataDir, MASTER_KEY })
    expect(status).to.equal(1)
    expect(errors).to.include(`in use by process ${process.pid} (`)
    expect(readdirSync(dataDir).sort()).to.deep.equal([
      'database.lock',
      'database.place',
      'database.restoring',
    ])
    unlock()
  })

  it('brings a schema up to date that servers with MIGRATE=off refuse, and says so', async () => {
    const { options, env, drop } = await olderDatabase()
    const refused = await rejection(startServerProcess({ ...env, MIGRATE: 'off' }))
    expect(refused.message).to.include(`lacks ${MISSING}`).and.to.include('npx assay migrate')
    const shown = join(options.dataDir, 'checkpoint.txt')
    writeFileSync(shown, 'example.com\n1\n')
    const restored = await runCli(['restore', '--checkpoint', shown], { ...env, MIGRATE: 'off' })
    expect(restored.errors, 'nor does anything else').to.include(`lacks ${MISSING}`)
    const migrated = await runCli(['migrate'], env)
    expect(migrated.errors).to.include(`1 of 1: ${MISSING}`)
    expect([migrated.status, migrated.output]).to.deep.equal([
      0,
      `The schema is up to date; migrations applied: 1 (${LAST}).\n`,
    ])
    expect((await runCli(['migrate'], env)).output).to.equal(`The schema was up to date (${LAST}).\n`)
    const server = await startServerProcess({ ...env, MIGRATE: 'off' })
    expect(await server.end()).to.equal(0)

    const database = await openDatabase(options)
    await database.knex('migrations').insert({ name: '9999-later' })
    await database.close()
    for (const failed of [
      (await runCli(['migrate'], env)).errors,
      (await rejection(startServerProcess({ ...env, MIGRATE: 'off' }))).message,
      (await rejection(startServerProcess(env))).message,
    ])
      expect(failed).to.include('later version').and.to.include('9999-later').and.to.not.include('    at ')
    await drop()
  })
})
