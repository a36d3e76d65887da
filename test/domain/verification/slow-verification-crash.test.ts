/**
 * kill -9 of the built server at random moments while results are made. Clients repeat each request with its
 * Idempotency-Key until it is answered; then every result was answered once, counted once and paid once.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { BatchResult, VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { clientOf } from '../../support/client.ts'
import { createScratchDatabase } from '../../support/servers/scratch-database.ts'
import { freePort, type ServerProcess, startServerProcess } from '../../support/servers/server-process.ts'
import { freeOrganisation } from '../../support/verification.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const CLIENTS = 8
const ITEMS = 3
const MIN_LOAD_MS = 200
const MAX_LOAD_MS = 1500
const RETRY_PAUSE_MS = 50
/** More than the test can use up. */
const GRANTED = 1_000_000

type Signed = Pick<VerificationResult, 'verificationId' | 'jws' | 'salt'>

/** Clients that make one result after the other, and never give a request up, until told to stop. */
const startLoad = (url: string, apiKey: string, answered: Signed[]) => {
  let stopped = false
  const shop = clientOf(url)
  const insist = async <T>(path: string, body: object): Promise<T> => {
    const headers = { 'idempotency-key': randomUUID() }
    for (;;) {
      const answer = await shop
        .request<T>('POST', path, { key: apiKey, headers, body })
        .catch(() => undefined)
      if (answer?.status === 200) return answer.body
      await pause(RETRY_PAUSE_MS)
    }
  }
  const client = async (_: unknown, number: number): Promise<void> => {
    for (let round = 0; !stopped; round++) {
      const data = { client: number, round }
      if (number === 0) answered.push(await insist<VerificationResult>('/verify', { data }))
      else {
        const items = Array.from({ length: ITEMS }, (__, item) => ({ ...data, item }))
        const { results } = await insist<BatchResult>('/verify/batch', { items })
        answered.push(...results.filter((result) => 'jws' in result))
      }
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return async () => {
    stopped = true
    await Promise.all(clients)
  }
}

const expectOnce = async ({ knex }: Database, answered: readonly Signed[]): Promise<void> => {
  const rows: { id: string; jws: string }[] = await knex('verifications').select('id', 'jws')
  const stored = new Map(rows.map(({ id, jws }) => [id, jws]))
  const lost = answered.filter(({ verificationId, jws }) => stored.get(verificationId) !== jws)
  expect(lost, 'answered but lost').to.deep.equal([])
  expect(new Set(answered.map(({ verificationId }) => verificationId)).size).to.equal(answered.length)
  expect(rows.length, 'made but answered to nobody').to.equal(answered.length)
  const entries = await knex('ledger_entries').where({ type: 'verify' }).count({ count: '*' }).first()
  const counted = await knex('usage_days').sum({ sum: 'results' }).first()
  const paid = await knex('ledger_counters').where('counter', 'like', 'free/%').sum({ sum: 'value' }).first()
  expect([entries?.count, counted?.sum, paid?.sum].map(Number)).to.deep.equal(Array(3).fill(rows.length))
}

describe('results under kill -9', () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-verification-crash-'))
  let databaseUrl: string | undefined
  let drop = async (): Promise<void> => undefined
  before(async () => {
    if (!process.env.DATABASE_URL) return
    const scratch = await createScratchDatabase(process.env.DATABASE_URL)
    databaseUrl = scratch.url
    drop = scratch.drop
  })
  after(async () => {
    await drop()
    rmSync(directory, { recursive: true })
  })

  it('are each answered, recorded, counted and paid once', async () => {
    const env = {
      DATA_DIR: directory,
      PORT: String(await freePort()),
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'fatal',
      ...(databaseUrl && { DATABASE_URL: databaseUrl, MASTER_KEY: randomBytes(32).toString('hex') }),
    }
    const onDatabase = async (work: (database: Database) => Promise<unknown>): Promise<void> => {
      const database = await openDatabase({ dataDir: directory, databaseUrl })
      await work(database).finally(() => database.close())
    }
    let server: ServerProcess = await startServerProcess(env)
    const { apiKey } = await freeOrganisation(clientOf(server.url), ['verify'])
    await server.end('SIGTERM')
    await onDatabase(({ knex }) => knex('free_proof_grants').update({ granted: GRANTED }))

    server = await startServerProcess(env)
    const answered: Signed[] = []
    const stop = startLoad(server.url, apiKey, answered)
    for (let round = 0; round < ROUNDS; round++) {
      await pause(randomInt(MIN_LOAD_MS, MAX_LOAD_MS))
      await server.end('SIGKILL')
      server = await startServerProcess(env)
      const before = answered.length
      while (answered.length === before) await pause(RETRY_PAUSE_MS)
    }
    await stop()
    await server.end('SIGTERM')
    expect(answered.length).to.be.greaterThan(CLIENTS * ROUNDS)
    await onDatabase((database) => expectOnce(database, answered))
  })
})
