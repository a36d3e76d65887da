/** What is missing of the schema is brought into a database that is at work: migration by migration. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { growLogs } from '../../src/ledger/growth.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { type MigrationStep, migrate, missingMigrations } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations/index.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'
import { read } from '../support/sources.ts'

/** The first that changes api_keys, which each request with a key reads. */
const CHANGES_KEYS = '0014-last-told'
/** Makes an index of ledger_entries: held up by whoever writes there. */
const HELD_UP = '0023-entry-indexes'
const ANSWER_MS = 2_000

const names = MIGRATIONS.map(({ name }) => name)
const from = (name: string): string[] => names.slice(names.indexOf(name))

onPostgres.describe('a schema of an earlier version', () => {
  let fresh: ScratchDatabase
  let database: Database
  let other: pg.Client
  beforeEach(async () => {
    fresh = await createPostgresDatabase()
    other = new pg.Client({ connectionString: fresh.url })
    await other.connect()
    database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory', migrate: 'any' })
    await database.knex.raw('CREATE TABLE migrations (name text COLLATE "C" PRIMARY KEY)')
    await applyUntil(CHANGES_KEYS)
  })
  afterEach(async () => {
    await other.end()
    await database.close()
    await fresh.drop()
  })

  /** Applies what is missing before a migration. */
  const applyUntil = async (end: string): Promise<void> => {
    const done = await database.knex('migrations').count({ count: '*' }).first()
    for (const { name, up } of MIGRATIONS.slice(Number(done?.count), names.indexOf(end)))
      await database.knex.transaction(async (trx) => {
        await up(trx)
        await trx('migrations').insert({ name })
      })
  }
  /** Resolves to the process that waits for a lock. */
  const whoWaits = async (): Promise<number> => {
    for (;;) {
      const { rows } = await other.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      )
      if (rows[0]) return rows[0].pid
      await pause(5)
    }
  }
  /** Writes to the ledger until `meanwhile`, which is told who waits for that, has ended. */
  const heldUp = async (
    meanwhile: (pid: number) => Promise<void>,
  ): Promise<PromiseSettledResult<string[]>> => {
    await other.query('BEGIN; LOCK TABLE ledger_entries IN ROW EXCLUSIVE MODE')
    const migrated = Promise.allSettled([migrate(database)])
    await meanwhile(await whoWaits())
    await other.query('ROLLBACK')
    return (await migrated)[0]
  }

  it('locks nothing that an earlier migration changed while a later one waits', async () => {
    const result = await heldUp(async () => {
      await other.query(`SET LOCAL statement_timeout = ${ANSWER_MS}`)
      expect((await other.query('SELECT last_used_at FROM api_keys')).rows).to.deep.equal([])
      expect((await other.query('SELECT subject FROM tokens')).rows).to.deep.equal([])
    })
    expect(result).to.deep.equal({ status: 'fulfilled', value: from(CHANGES_KEYS) })
    expect(await missingMigrations(database)).to.deep.equal([])
  })

  it('is brought up to date by the next start where one ended between two migrations', async () => {
    const { status } = await heldUp(async (pid) => {
      await other.query('SELECT pg_terminate_backend($1)', [pid])
    })
    expect(status).to.equal('rejected')
    expect(await missingMigrations(database)).to.deep.equal(from(HELD_UP))
    const older = { databaseUrl: fresh.url, dataDir: 'memory', migrate: false }
    expect((await rejection(openDatabase(older))).message).to.include(HELD_UP)
    const steps: MigrationStep[] = []
    expect(await migrate(database, (step) => void steps.push(step))).to.deep.equal(from(HELD_UP))
    const of = from(HELD_UP).length
    expect(steps).to.deep.equal(from(HELD_UP).map((name, i) => ({ name, number: i + 1, of })))
  })

  it('takes over the indexes that the documents make beforehand, whatever time-outs the role has', async () => {
    const blocks = [...read('docs/scaling.md').matchAll(/```sql\n([^`]* CONCURRENTLY [^`]*)```/g)]
    expect(blocks).to.have.length(2)
    const name = new URL(fresh.url).pathname.slice(1)
    await other.query(`ALTER DATABASE ${name} SET lock_timeout = '20ms'`)
    const make = async ([, block = '']: readonly string[]): Promise<void> => {
      const client = new pg.Client({ connectionString: fresh.url })
      await client.connect()
      await other.query('BEGIN; LOCK TABLE ledger_entries IN ROW EXCLUSIVE MODE')
      const statements = block.split(';').filter((text) => text.trim() !== '')
      const made = (async () => {
        for (const statement of statements) await client.query(statement)
      })().finally(() => client.end())
      await Promise.race([made, whoWaits().then(() => pause(100))])
      await other.query('ROLLBACK')
      await made
    }
    await make(blocks[0] as string[])
    await migrate(database)
    await make(blocks[1] as string[])
    await growLogs(database, 2)
  })

  it('has webhook endpoints of which it knows what was told: of those that fail already, nothing is told anew', async () => {
    await applyUntil('0031-webhook-told')
    const row = {
      organisation: 'org_1',
      label: '',
      sealed_url: Buffer.of(0),
      sealed_secret: Buffer.of(0),
      events: '[]',
      active: true,
      private_egress: false,
      announces_from: 0,
      created_at: 0,
      last_delivery_at: 5,
    }
    await database.knex('webhook_endpoints').insert([
      { ...row, id: 'fails', last_status: 500, failing_since: 3, drops_in_row: 10 },
      { ...row, id: 'may fail', last_status: null, failing_since: 3, drops_in_row: 9 },
      { ...row, id: 'delivers', last_status: 204, failing_since: null, drops_in_row: 0 },
    ])
    expect(await migrate(database)).to.deep.equal(from('0031-webhook-told'))
    const migrated = await database
      .knex('webhook_endpoints')
      .orderBy('id')
      .select('id', 'delivered_at', 'told_failing')
    expect(migrated).to.deep.equal([
      { id: 'delivers', delivered_at: 5, told_failing: false },
      { id: 'fails', delivered_at: null, told_failing: true },
      { id: 'may fail', delivered_at: null, told_failing: false },
    ])
  })

  it('gets each migration once from servers that start at once, whatever isolation is the default', async () => {
    for (const isolation of ['read committed', 'repeatable read']) {
      const both = await createPostgresDatabase()
      try {
        const name = new URL(both.url).pathname.slice(1)
        await other.query(`ALTER DATABASE ${name} SET default_transaction_isolation = '${isolation}'`)
        const applied: string[] = []
        const onMigration = (step: MigrationStep): void => void applied.push(step.name)
        const options = { databaseUrl: both.url, dataDir: 'memory', onMigration }
        const opened = await Promise.all([1, 2, 3].map(() => openDatabase(options)))
        await Promise.all(opened.map((one) => one.close()))
        expect(applied, isolation).to.deep.equal(names)
      } finally {
        await both.drop()
      }
    }
  })
})
