/** A ledger on a fresh PostgreSQL database behind a proxy that breaks its connections when told to. */
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { expectWholeLog, ledgerOn } from '../ledger.ts'
import { type BreakingProxy, startBreakingProxy } from './breaking-proxy.ts'
import { createPostgresDatabase } from './database.ts'

export type BreakingLedger = {
  proxy: BreakingProxy
  database: Database
  ledger: Ledger
  close(): Promise<void>
}

/** `close` checks that the whole log holds before it drops the database. */
export async function openBreakingLedger(): Promise<BreakingLedger> {
  const fresh = await createPostgresDatabase()
  const proxy = await startBreakingProxy(fresh.url)
  const database = await openDatabase({ databaseUrl: proxy.url, dataDir: 'memory' })
  const ledger = await ledgerOn(database)
  async function close() {
    await expectWholeLog(database)
    await ledger.close()
    await database.close()
    await proxy.close()
    await fresh.drop()
  }
  return { proxy, database, ledger, close }
}
