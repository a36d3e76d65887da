/**
 * Appends to a ledger, keeps an event log of it and records requests until it is killed. Arguments: database URL or data
 * directory, directory of the event log.
 */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openDatabase } from '../../../src/store/database.ts'
import { ORGANISATION, openLog, requestAt } from '../domain/event-log.ts'
import { callerOf, claiming, ledgerOn } from '../ledger.ts'

const MAX_BYTES = 2 ** 22
const CALLERS = 16
const READ_PAUSE_MS = 20

const [target = '', directory = ''] = process.argv.slice(2)
const database = await openDatabase(
  target.startsWith('postgres') ? { databaseUrl: target, dataDir: 'memory' } : { dataDir: target },
)
const ledger = await ledgerOn(database)
const logger = {
  warn: (details: object, message: string) => writeSync(2, `${message} ${JSON.stringify(details)}\n`),
}
const log = await openLog({ ledger, database }, { directory, maxBytes: MAX_BYTES, logger })
let next = 0
const append = async (): Promise<void> => {
  for (;;) {
    const key = `${process.pid}-${next++}`
    await ledger.append(callerOf(ORGANISATION), claiming(key))
    log.record(requestAt(Date.now(), key))
    // Synchronous, so that it is out before anything else happens.
    if (next % 500 === 0) writeSync(1, `appended ${next}\n`)
  }
}
/** As exports do, so that it does not only follow at leisure. */
const read = async (): Promise<void> => {
  for (;;) {
    const reading = await log.read('org_nobody', { since: 0, until: Number.MAX_SAFE_INTEGER })
    for await (const rows of reading.rows()) if (rows.length > 0) throw new Error('rows of nobody')
    await pause(READ_PAUSE_MS)
  }
}
await Promise.all([...Array.from({ length: CALLERS }, append), read()])
