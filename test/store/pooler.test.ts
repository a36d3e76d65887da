import { expect } from 'chai'
import pg from 'pg'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { clientOf, ok } from '../support/client.ts'
import { callerOf, claiming, expectWholeLog, ledgerOn } from '../support/ledger.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import { type PgBouncer, startPgBouncer } from '../support/servers/pgbouncer.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'
import { startServerProcess } from '../support/servers/server-process.ts'

/** Fewer than one server would like to have, so that sessions change hands at every turn. */
const SESSIONS = 3

onPostgres.describe('behind PgBouncer in transaction mode', () => {
  let fresh: ScratchDatabase
  let direct: pg.Client
  let pooler: PgBouncer
  const open = (): Promise<Database> => openDatabase({ databaseUrl: pooler.url, dataDir: 'memory' })
  before(async function () {
    fresh = await createPostgresDatabase()
    direct = new pg.Client({ connectionString: fresh.url })
    await direct.connect()
    pooler = await startPgBouncer(this, fresh.url, SESSIONS)
  })
  after(async () => {
    await pooler?.stop()
    await direct.end()
    await fresh.drop()
  })

  it('refuses to start without time-outs, and says what makes them; with them it starts', async () => {
    const { message } = (await rejection(open())) as Error
    expect(message).to.include('connection pooler')
    const commands = message.match(/ALTER ROLE [^;]+;/g) ?? []
    expect(commands).to.have.length(3)
    for (const command of commands) await direct.query(command)
    await pooler.stop()
    pooler = await startPgBouncer({ skip: () => undefined }, fresh.url, SESSIONS)
    const database = await open()
    expect((await database.knex.raw('SHOW statement_timeout')).rows).to.deep.equal([
      { statement_timeout: '10s' },
    ])
    await database.close()
  })

  it('two servers on three sessions commit and read all, prepare nothing, and wait for the head for two seconds', async () => {
    const servers = await Promise.all([open(), open()])
    const ledgers = await Promise.all(servers.map((database) => ledgerOn(database)))
    const alice = callerOf('org_alice')
    const append = (server: number) =>
      Promise.all(
        Array.from({ length: 100 }, (_, i) => ledgers[server]?.append(alice, claiming(`${server} ${i}`))),
      )
    const echo = 'SELECT $1::int AS n'
    const read = ({ query, queryWithin }: Database): Promise<{ rows: { n: number }[] }[]> =>
      Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          i % 2 === 0 || queryWithin === undefined
            ? query<{ n: number }>(echo, [i], 'a name')
            : queryWithin<{ n: number }>(1000, echo, [i], 'a name'),
        ),
      )
    const [, , ...answers] = await Promise.all([append(0), append(1), ...servers.map(read)])
    for (const answer of answers)
      expect(answer.map(({ rows }) => rows[0]?.n)).to.deep.equal([...Array(100).keys()])
    expect(await expectWholeLog(servers[0] as Database)).to.have.length(200)
    await direct.query('BEGIN; SELECT 1 FROM ledger_head FOR UPDATE')
    const began = performance.now()
    expect(await rejection(ledgers[0]!.append(alice, claiming('late')))).to.include({ code: 'unavailable' })
    expect(performance.now() - began).to.be.within(1500, 9000)
    await direct.query('ROLLBACK')
    await ledgers[0]?.append(alice, claiming('late'))
    for (const ledger of ledgers) await ledger.close()
    for (const database of servers) await database.close()
  })

  it('a whole server works: tokens, the chat, search, the log', async () => {
    const key = 'ak_test_of_the_pooler_0123456789abcdef'
    await direct.query('TRUNCATE ledger_claims, ledger_entries, ledger_tiles, pseudonym_epochs')
    await direct.query("UPDATE ledger_head SET size = 0, root = sha256(''), edge = ''")
    const server = await startServerProcess({
      DATABASE_URL: pooler.url,
      MASTER_KEY: '07'.repeat(32),
      ADMIN_API_KEY: key,
      RATE_LIMITS: 'off',
      DATA_DIR: 'memory',
    })
    try {
      const client = clientOf(server.url)
      const ask = <T>(method: string, path: string, body?: object) =>
        ok<T>(client, method, path, { key, ...(body && { body }) })
      await Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          const made = await ask<{ token: string }>('POST', '/api/tokens/generate', {
            subject: `s${i}`,
            claims: {},
            ttl: 60,
          })
          expect(await ask('POST', '/api/tokens/validate', { token: made.token })).to.include({ valid: true })
          await ask('POST', '/api/messages', { agent_name: 'Ada', text: `heliotrope ${i}` })
          await ask('GET', '/api/messages?q=heliotrope')
        }),
      )
      const { messages } = await ask<{ messages: object[] }>('GET', '/api/messages?q=heliotrope&limit=50')
      expect(messages).to.have.length(40)
      expect(pooler.printed()).not.to.match(/closing because: (?!client)/)
    } finally {
      expect(await server.end()).to.equal(0)
    }
  })
})
