/**
 * Reserves pairs of statuses and sets the second, from several callers at once, until it is killed or for a number of pairs; prints a
 * line for each as soon as it is acknowledged. Arguments: database URL or data directory, callers, pairs (0: for ever).
 */
import { writeSync } from 'node:fs'
import { openDatabase } from '../../../src/store/database.ts'
import { statusesOn } from '../domain/statuses.ts'
import { callerOf, ledgerOn } from '../ledger.ts'

const [target = '', callers = '1', wanted = '0'] = process.argv.slice(2)
const database = await openDatabase(
  target.startsWith('postgres') ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
)
const ledger = await ledgerOn(database)
const statuses = await statusesOn(database)
let left = Number(wanted) || Number.POSITIVE_INFINITY

const work = async (): Promise<void> => {
  while (left-- > 0) {
    const [kept, revoked] = [await statuses.reserve(), await statuses.reserve()]
    await ledger.append(callerOf('org_status'), (tx) => {
      statuses.set(tx, revoked)
      tx.append({ type: 'revoke', data: {} })
    })
    // Synchronous, so that a line is out before anything else happens.
    writeSync(1, `kept ${kept} set ${revoked}\n`)
  }
}
await Promise.all(Array.from({ length: Number(callers) }, work))
await ledger.close()
await database.close()
