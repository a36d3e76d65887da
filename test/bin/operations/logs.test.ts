/** Which logs `assay doctor` takes a database to have, and what it says of them. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { examineLogs, readLogs } from '../../../src/bin/operations/logs.ts'
import { growLogs } from '../../../src/ledger/growth.ts'
import { leafHash } from '../../../src/ledger/tree/merkle.ts'
import type { Database } from '../../../src/store/database.ts'
import { callerOf, claiming, openTestLedger, type TestLedger, together } from '../../support/ledger.ts'
import { openTestDatabase } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'

const ROOT = "sha256('root')"
/** Everything that may be the last to know a log 2. */
const KNOWING = {
  organisations: `INSERT INTO organisations (id, name, subscription, default_merchant, created_at, log) VALUES ('org_2', '', 'active', '', 0, 2)`,
  ledger_entries: `INSERT INTO ledger_entries (log, idx, id, organisation, type, at, leaf_hash, entry) VALUES (2, 0, '', 'org_2', '', 0, ${ROOT}, '')`,
  ledger_checkpoint: `INSERT INTO ledger_checkpoint (log, name, version, size, root, note, signers, signed_at) VALUES (2, '2', 1, 0, ${ROOT}, '', '', 0)`,
  ledger_heads: `INSERT INTO ledger_heads (log, size, root, entry_index) VALUES (2, 1, ${ROOT}, 0)`,
  ledger_counters: `INSERT INTO ledger_counters (organisation, counter, value) VALUES ('log', 'head/2', 1)`,
}

describe('the logs of a database', function () {
  this.timeout(120_000)
  const temporary = temporaryDirectories()
  let database: Database
  beforeEach(async () => {
    database = await openTestDatabase()
  })
  afterEach(() => database.close())

  it('are known without their rows of ledger_head, whatever else names one', async () => {
    const dataDir = await temporary()
    const logs = () => readLogs(database, { dataDir })
    expect(await logs()).to.deep.equal({ there: [0], missing: [] })
    await growLogs(database, 2)
    expect(await logs()).to.deep.equal({ there: [0, 1], missing: [] })
    for (const [table, statement] of Object.entries(KNOWING)) {
      await database.knex.raw(statement)
      expect(await logs(), table).to.deep.equal({ there: [0, 1], missing: [2] })
      await database.knex(table).delete()
    }
    const mark = join(dataDir, 'checkpoint.high-water.log-2')
    await writeFile(mark, '')
    expect(await logs()).to.deep.equal({ there: [0, 1], missing: [2] })
    await rm(mark)
    // Of another generation than that of the database.
    await writeFile(join(dataDir, 'checkpoint.high-water.2.log-2'), '')
    expect(await logs()).to.deep.equal({ there: [0, 1], missing: [] })
    expect((await readLogs(database, { dataDir: join(dataDir, 'none') })).missing).to.deep.equal([])
    await database.knex('ledger_head').where({ log: 0 }).delete()
    expect(await logs()).to.deep.equal({ there: [1], missing: [0] })
  })

  it('are known of entries alone, also where there was never more than one', async () => {
    await database.knex('ledger_head').delete()
    await database.knex.raw(KNOWING.ledger_entries.replace('(2,', '(0,'))
    expect(await readLogs(database, { dataDir: 'memory' })).to.deep.equal({ there: [], missing: [0] })
  })
})

describe('what is said of the logs of a database', function () {
  this.timeout(120_000)
  let store: TestLedger
  beforeEach(async () => {
    store = await openTestLedger()
  })
  afterEach(() => store.close())

  const append = async (name: string, count: number): Promise<void> => {
    const items = Array.from({ length: count }, (_, i) => claiming(`${name} ${i}`))
    await store.ledger.append(callerOf('org_1'), together(items))
  }
  /** @returns state and text of each thing that was looked at */
  const examined = async (
    isFull: boolean,
    database = store.database,
    logShards = 1,
  ): Promise<Record<string, string>> => {
    const said: Record<string, string> = {}
    await examineLogs(database, { dataDir: 'memory', logShards }, isFull, async (what, examine) => {
      const [state, text] = await examine().catch((error: unknown) => ['error', String(error)] as const)
      said[what] = `${state} ${text}`
    })
    return said
  }

  it('finds an entry of a full tile that was altered with all hashes that are kept of it alone', async () => {
    const { knex } = store.database
    await append('entry', 300)
    expect((await examined(true)).entries).to.equal('ok 300 of 300 entries have the hashes of the log')
    const text = '{"altered":true}'
    await knex('ledger_entries')
      .where({ idx: 7 })
      .update({ entry: text, leaf_hash: leafHash(text) })
    await knex.raw(
      'UPDATE ledger_tiles SET hashes = overlay(hashes PLACING ?::bytea FROM ?::int) WHERE level = 0 AND tile = 0',
      [leafHash(text), 7 * 32 + 1],
    )
    const { tree, entries } = await examined(true)
    // The root comes from that of the full tile, which was left as it is.
    expect(tree).to.match(/^ok/)
    expect(entries).to.match(/^error the 300 entries do not give the root of the log/)
  })

  it('takes no log for an older copy that a server appends to, and signs, meanwhile', async () => {
    const { knex } = store.database
    await append('before', 2)
    const sign = async (): Promise<void> => {
      const head = await knex('ledger_head').where({ log: 0 }).first('size', 'root')
      const row = { log: 0, name: 'ledger', version: 1, ...head, note: '', signers: '', signed_at: 0 }
      await knex('ledger_checkpoint').insert(row).onConflict('log').merge()
    }
    await sign()
    let turns = 0
    /** As the database, but that each time that a head was read the log goes on, and is signed. */
    const beside: Database = {
      ...store.database,
      knex: new Proxy(knex, {
        apply(_, __, [name]: [string]) {
          const asked = knex(name)
          if (name !== 'ledger_head') return asked
          const read = asked.first.bind(asked)
          const first = async (...columns: string[]): Promise<unknown> => {
            const row = await read(...columns)
            await append(`turn ${++turns}`, 1)
            await sign()
            return row
          }
          return Object.assign(asked, { first })
        },
      }),
    }
    expect((await examined(false, beside)).checkpoint).to.match(/^ok the log of \d+ entries goes on from/)
    expect(turns).to.be.above(0)
  })

  it('is whether there are as many as a server wants, which starts with no fewer', async () => {
    const logs = async (wanted: number) => (await examined(false, store.database, wanted)).logs
    expect(await logs(1)).to.equal('ok there is one')
    expect(await logs(3)).to.match(/^warning there is one, of 3: `npx assay migrate`/)
    await growLogs(store.database, 2)
    expect(await logs(2)).to.equal('ok there are 2')
    expect(await logs(1)).to.match(
      /^error LOG_SHARDS is 1, and this database has 2 logs: .* Set LOG_SHARDS=2/,
    )
  })

  it('is that nothing was examined where it can’t be read which there are', async () => {
    await store.database.knex.raw('ALTER TABLE ledger_home RENAME TO ledger_gone')
    const { logs, ...others } = await examined(false)
    expect(logs).to.match(/^error/)
    expect(Object.keys(others)).to.deep.equal(['tree', 'entries', 'checkpoint', 'heads'])
    for (const said of Object.values(others)) expect(said).to.match(/^warning not examined/)
  })
})
