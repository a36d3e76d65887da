/** Connections to PostgreSQL that fall silent, as those to a machine that lost its power do: no error, no end. */
import { expect } from 'chai'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { isUnavailable } from '../../src/store/session.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'
import { type SlowProxy, startSlowProxy } from '../support/servers/slow-proxy.ts'

const SILENCE_MS = 15_000
const SOON_MS = 3_000

onPostgres.describe('a database whose connections fall silent', function () {
  this.timeout(60_000)
  let scratch: ScratchDatabase
  let link: SlowProxy
  let database: Database
  before(async () => {
    scratch = await createPostgresDatabase()
    link = await startSlowProxy(scratch.url, 0)
    const url = new URL(scratch.url)
    url.hostname = '127.0.0.1'
    url.port = String(link.port)
    database = await openDatabase({ databaseUrl: url.href, dataDir: 'memory' })
  })
  after(async () => {
    await database.close()
    await link.close()
    await scratch.drop()
  })

  const reads: readonly [what: string, read: () => Promise<unknown>][] = [
    ['a query', () => database.query('SELECT 1', [])],
    ['a query of knex', () => Promise.resolve(database.knex.raw('SELECT 1'))],
    [
      'a timed query',
      () => database.queryWithin?.(1000, 'SELECT 1', []) ?? Promise.reject(new Error('none')),
    ],
    [
      'a session',
      async () => {
        const session = await database.session()
        await session.query('SELECT 1').finally(() => session.release())
      },
    ],
  ]

  it('gives each up in time, which passes, and then uses none that is as old', async () => {
    // Several connections of each pool are open.
    await Promise.all([...reads, ...reads].map(([, read]) => read()))
    link.abandon()
    const began = performance.now()
    for (const error of await Promise.all(reads.map(([, read]) => rejection(read()))))
      expect(isUnavailable(error), String(error)).to.equal(true)
    expect(performance.now() - began).to.be.below(SILENCE_MS)
    const again = performance.now()
    for (const [, read] of [...reads, ...reads]) await read()
    expect(performance.now() - again).to.be.below(SOON_MS)
  })
})
