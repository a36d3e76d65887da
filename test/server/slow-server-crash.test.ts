/**
 * kill -9 of the built server, and of PostgreSQL under it, at random moments while payments come in. Whatever was
 * answered must be in the log, at one place, under the root that the head shows.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { clientOf, ok } from '../support/client.ts'
import { makeProof } from '../support/domain/payment-proofs.ts'
import { leafHash, rootOf } from '../support/reference/merkle.ts'
import { onEmbedded, onPostgres } from '../support/servers/database.ts'
import { startPostgres } from '../support/servers/postgres.ts'
import { freePort, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const CLIENTS = 16
const MIN_LOAD_MS = 100
const MAX_LOAD_MS = 1500
const ADMIN_KEY = 'admin-key-of-the-crash-test'

interface Merchant {
  apiKey: string
  merchantId: string
}

/** Clients that validate one payment after the other until told to stop; failures of a dying server are expected. */
const startLoad = (url: string, { apiKey, merchantId }: Merchant, acknowledged: string[]) => {
  const shop = clientOf(url)
  let stopped = false
  const client = async (): Promise<void> => {
    while (!stopped) {
      const timestampMs = Date.now()
      const transactionId = `txn_${randomUUID()}`
      const input = {
        key: apiKey,
        cardToken: `tok_${randomUUID()}`,
        currency: 'GBP',
        merchantId,
        timestampMs,
      }
      const { stored } = makeProof({ ...input, amountMinor: 1250, nonce: 1 })
      const body = { proofData: stored, amount: 12.5, currency: 'GBP', timestamp: timestampMs, transactionId }
      const path = '/api/merchant/payments/validate'
      const answer = await ok<{ transactionId: string }>(shop, 'POST', path, { bearer: apiKey, body }).catch(
        () => undefined,
      )
      if (answer) acknowledged.push(answer.transactionId)
      else await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return async () => {
    stopped = true
    await Promise.all(clients)
  }
}

interface StoredEntry {
  idx: number
  entry: string
  leaf_hash: Uint8Array
}

/** Reads the whole log back and checks it against every acknowledged payment. */
const expectWholeLog = async (database: Database, acknowledged: readonly string[]): Promise<void> => {
  const entries: StoredEntry[] = await database
    .knex('ledger_entries')
    .orderBy('idx')
    .select('idx', 'entry', 'leaf_hash')
  const head = await database.knex('ledger_head').where({ log: 0 }).first('size', 'root')
  expect(entries.map(({ idx }) => Number(idx))).to.deep.equal(entries.map((_, index) => index))
  expect(Number(head.size)).to.equal(entries.length)
  const leaves = entries.map(({ entry }) => leafHash(Buffer.from(entry)))
  for (const [index, { leaf_hash }] of entries.entries())
    expect(Buffer.from(leaf_hash).equals(leaves[index] as Buffer)).to.equal(true)
  expect(Buffer.from(head.root).toString('hex')).to.equal(Buffer.from(rootOf(leaves)).toString('hex'))

  const payments: { transaction_id: string; entry_index: number; status: string }[] = await database
    .knex('payments')
    .select('transaction_id', 'entry_index', 'status')
  expect(new Set(payments.map((row) => row.transaction_id)).size, 'payments stored twice').to.equal(
    payments.length,
  )
  const booked = new Map(payments.map((row) => [row.transaction_id, row]))
  const lost = acknowledged.filter((id) => booked.get(id)?.status !== 'accepted')
  expect(lost, 'acknowledged but lost').to.deep.equal([])
  const indexes = payments.map((row) => Number(row.entry_index))
  expect(new Set(indexes).size).to.equal(indexes.length)
  for (const index of indexes)
    expect((JSON.parse((entries[index] as StoredEntry).entry) as { type: string }).type).to.equal('payment')
}

/** What is killed each round, and how it comes back. */
interface Victim {
  env: Record<string, string>
  crash(server: ServerProcess): Promise<ServerProcess>
}

const playRounds = async (env: Record<string, string>, crash: Victim['crash']): Promise<string[]> => {
  const acknowledged: string[] = []
  let server = await startServerProcess(env)
  const merchant = await ok<Merchant>(clientOf(server.url), 'POST', '/console/api/organisations', {
    key: ADMIN_KEY,
    body: { name: 'Crash' },
  })
  for (let round = 0; round < ROUNDS; round++) {
    const before = acknowledged.length
    const stop = startLoad(server.url, merchant, acknowledged)
    await new Promise((resolve) => setTimeout(resolve, randomInt(MIN_LOAD_MS, MAX_LOAD_MS)))
    server = await crash(server)
    // The load meets the server after its return as well, so a round that serves nothing again would be seen.
    const giveUpAt = performance.now() + 30_000
    while (acknowledged.length === before || performance.now() < giveUpAt - 29_800) {
      expect(performance.now(), 'payments are accepted again').to.be.below(giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await stop()
  }
  expect(await server.end('SIGTERM')).to.equal(0)
  return acknowledged
}

const killServer =
  (env: Record<string, string>): Victim['crash'] =>
  async (server) => {
    await server.end('SIGKILL')
    return startServerProcess(env)
  }

const report = (what: string, acknowledged: readonly string[]): void => {
  console.log(`      ${what}: ${ROUNDS} kills, ${acknowledged.length} acknowledged payments, all in the log`)
}

describe(`kill -9 under load, ${ROUNDS} times each`, () => {
  onEmbedded.it('of the server on its embedded database loses no acknowledged payment', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'assay-crash-'))
    try {
      const env = {
        DATA_DIR: dataDir,
        ADMIN_API_KEY: ADMIN_KEY,
        RATE_LIMITS: 'off',
        PORT: String(await freePort()),
      }
      const acknowledged = await playRounds(env, killServer(env))
      const database = await openDatabase({ dataDir })
      await expectWholeLog(database, acknowledged).finally(() => database.close())
      report('server on PGlite', acknowledged)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  onPostgres.it(
    'of the server on PostgreSQL, and of PostgreSQL itself, loses no acknowledged payment',
    async () => {
      const postgres = await startPostgres()
      try {
        const env = {
          DATABASE_URL: postgres.url,
          DATA_DIR: 'memory',
          MASTER_KEY: randomBytes(32).toString('hex'),
          ADMIN_API_KEY: ADMIN_KEY,
          RATE_LIMITS: 'off',
          PORT: String(await freePort()),
        }
        const first = await playRounds(env, killServer(env))
        const second = await playRounds(env, async (server) => {
          await postgres.kill()
          await postgres.restart()
          return server
        })
        const database = await openDatabase({ databaseUrl: postgres.url, dataDir: 'memory' })
        await expectWholeLog(database, [...first, ...second]).finally(() => database.close())
        report('server on PostgreSQL', first)
        report('PostgreSQL under the server', second)
      } finally {
        await postgres.stop()
      }
    },
  )
})
