/** kill -9 of a server that writes its event log: afterwards every entry stands in it once. CRASH_ROUNDS sets how often. */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { openDatabase } from '../../../src/store/database.ts'
import { openLog, readAll } from '../../support/domain/event-log.ts'
import { ledgerOn } from '../../support/ledger.ts'
import { startProgram } from '../../support/programs.ts'
import { createPostgresDatabase, DATABASE_URL } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const PROGRAM = join(import.meta.dirname, '../../support/programs/keep-event-log.ts')
const MAX_BYTES = 2 ** 22
const MAX_LOAD_MS = 1_500

describe('the event log after kill -9', function () {
  this.timeout(600_000)
  const directory = temporaryDirectories()

  it('holds every entry since its watermark once, with the leaf that the ledger has', async () => {
    const fresh = DATABASE_URL === undefined ? undefined : await createPostgresDatabase()
    const target = fresh?.url ?? (await directory())
    const path = join(await directory(), 'log')
    for (let round = 0; round < ROUNDS; round++) {
      const program = startProgram(PROGRAM, [target, path])
      await program.line(/^appended/)
      await pause(randomInt(MAX_LOAD_MS))
      await program.kill()
      expect(program.errors()).to.equal('')

      const database = await openDatabase(
        fresh ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
      )
      const ledger = await ledgerOn(database)
      const log = await openLog({ ledger, database }, { directory: path, maxBytes: MAX_BYTES })
      const { rows, gaps } = await readAll(log)
      const leaves = rows.flatMap((row) => (row.type === 'merkle.leaf' ? [row] : []))
      const stored: { idx: number; leaf_hash: Buffer; entry: string }[] = await database
        .knex('ledger_entries')
        .where('idx', '>=', leaves[0]?.index ?? 0)
        .orderBy('idx')
        .select('idx', 'leaf_hash', 'entry')
      expect(gaps.filter((gap) => gap !== 'ROLLED_OFF')).to.deep.equal([])
      expect(leaves.map(({ index, leafHash, entry }) => [index, leafHash, entry])).to.deep.equal(
        stored.map(({ idx, leaf_hash, entry }) => [idx, leaf_hash.toString('hex'), entry]),
      )
      const requests = rows.flatMap((row) => (row.type === 'request' ? [row.requestId] : []))
      expect(requests.length).to.be.greaterThan(0)
      expect(new Set(requests).size).to.equal(requests.length)
      await log.close()
      await ledger.close()
      await database.close()
    }
    await fresh?.drop()
  })
})
