/** Servers that write to one database, as far as logs go: which there are, what appends to them, and their heads. */
import { expect } from 'chai'
import { systemClock } from '../../src/clock.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { createSigners } from '../../src/keys/signers.ts'
import { createCheckpoints } from '../../src/ledger/checkpoints/checkpoint.ts'
import { createHeads, type Heads } from '../../src/ledger/checkpoints/heads.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Logs, openLogs } from '../../src/ledger/logs.ts'
import { createLog } from '../../src/ledger/tree/log.ts'
import { originOfLog } from '../../src/protocol/log-heads.ts'
import type { Database } from '../../src/store/database.ts'
import { ledgerOn } from './ledger.ts'

export const ORIGIN = 'log.example'
const SEALING = createSealing(new Uint8Array(32).fill(7))
export const logger = { info: () => undefined, warn: () => undefined }

export interface Server {
  readonly logs: Logs
  readonly ledger: Ledger
  readonly heads: Heads
  close(): Promise<void>
}

/** What one server has of logs. */
export const serverOn = async (database: Database, wanted: number): Promise<Server> => {
  const logs = await openLogs({ database, logger, wanted })
  const ledger = await ledgerOn(database, { logs })
  const signers = await createSigners({ database, sealing: SEALING, clock: systemClock })
  const checkpointsOf = (number: number) =>
    createCheckpoints({
      ...{ database, number, signers, clock: systemClock, directory: undefined },
      log: createLog(database, number),
      origin: originOfLog(ORIGIN, number),
      onInconsistency: (reason) => expect.fail(reason),
    })
  const heads = createHeads({
    database,
    ledger,
    logs,
    logger,
    checkpointOf: (log) => checkpointsOf(log).latest(),
  })
  return {
    ...{ logs, ledger, heads },
    async close() {
      await heads.close()
      await ledger.close()
      await logs.close()
    },
  }
}

let serial = 0
/** A row of an organisation that has a log. @returns its id */
export const newOrganisation = async ({ knex }: Database, log: number): Promise<string> => {
  const id = `org_test${serial++}`
  const row = { id, name: id, subscription: 'active', default_merchant: 'mer_1', created_at: 0, log }
  await knex('organisations').insert(row)
  return id
}
