/**
 * Follows a log into the table `test_consumed` until it is killed, and prints a line for each batch that it is about to
 * write. Arguments: database URL, name of the follower.
 */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createFollower } from '../../../src/ledger/follower.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { integer, table } from '../../../src/store/table.ts'

const [databaseUrl = '', name = ''] = process.argv.slice(2)
const consumed = table('test_consumed', { idx: integer() })
const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
createFollower({
  database,
  name,
  batchEntries: 5,
  pollMs: 10,
  leaseMs: 300,
  logger: { warn: (details) => writeSync(2, `${JSON.stringify(details)}\n`) },
  async consume(entries) {
    await pause(3)
    // Synchronous, so that a kill comes while the batch is on its way.
    writeSync(1, `batch ${entries.at(-1)?.index}\n`)
    return entries.map(({ index }) => consumed.row({ idx: index }))
  },
})
// Pauses of a follower don't keep a process alive.
setInterval(() => {}, 60_000)
