/** Which logs `assay doctor` takes a database to have. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readLogs } from '../../../src/bin/operations/logs.ts'
import { growLogs } from '../../../src/ledger/growth.ts'
import type { Database } from '../../../src/store/database.ts'
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
