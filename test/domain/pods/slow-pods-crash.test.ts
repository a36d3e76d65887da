/** kill -9 of the server while pods verify: there are exactly as many charges as signed results, to the penny. */
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { clientOf, ok } from '../../support/client.ts'
import { createPod } from '../../support/domain/pods.ts'
import { onEmbedded } from '../../support/servers/database.ts'
import { createScratchDatabase } from '../../support/servers/scratch-database.ts'
import { freePort, type ServerProcess, startServerProcess } from '../../support/servers/server-process.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const CLIENTS = 4
const MIN_LOAD_MS = 2000
const MAX_LOAD_MS = 6000
const CHARGE_MINOR = 35
const ADMIN_KEY = 'admin-key-of-the-pods-crash-test'

interface Made {
  readonly apiKey: string
  readonly podId: string
  readonly podKey: string
}

const makePod = async ({ url }: ServerProcess): Promise<Made> => {
  const client = clientOf(url)
  const body = { name: 'Crash' }
  const { apiKey } = await ok<Made>(client, 'POST', '/console/api/organisations', { key: ADMIN_KEY, body })
  const policy = { ...body, rules: [{ field: 'age', op: 'gte', value: 18 }] }
  return { ...(await createPod(client, apiKey, policy)), apiKey }
}

/** Clients that verify until the server dies under them. @returns the ids of the results that were handed out */
const loadUntilKilled = async (server: ServerProcess, { podId, podKey }: Made): Promise<string[]> => {
  const acknowledged: string[] = []
  const pods = clientOf(server.url)
  let alive = true
  const client = async (): Promise<void> => {
    while (alive) {
      const options = { headers: { 'x-pod-key': podKey }, body: { age: randomInt(36) } }
      const made = await ok<{ verificationId: string }>(pods, 'POST', `/pod/${podId}/verify`, options).catch(
        () => undefined,
      )
      if (made?.verificationId) acknowledged.push(made.verificationId)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  await new Promise((resolve) => setTimeout(resolve, randomInt(MIN_LOAD_MS, MAX_LOAD_MS)))
  const killed = server.end('SIGKILL')
  alive = false
  await Promise.all([killed, ...clients])
  return acknowledged
}

const expectExactCharges = async ({ knex }: Database, podId: string, acknowledged: readonly string[]) => {
  const results: { id: string; decision: string }[] = await knex('verifications').select('id', 'decision')
  const charges: { verification: string; amount_minor: number }[] = await knex('pod_charges')
    .where({ pod: podId })
    .select('verification', 'amount_minor')
  expect(charges.map(({ verification }) => verification).sort()).to.deep.equal(
    results.map(({ id }) => id).sort(),
  )
  const charged = new Set(charges.map(({ verification }) => verification))
  expect(acknowledged.filter((id) => !charged.has(id))).to.deep.equal([])
  const days: { verifications: number; successes: number; charged_minor: number }[] = await knex('pod_days')
    .where({ pod: podId })
    .select('verifications', 'successes', 'charged_minor')
  const sum = (of: 'verifications' | 'successes' | 'charged_minor') =>
    days.reduce((total, day) => total + day[of], 0)
  expect([sum('verifications'), sum('successes'), sum('charged_minor')]).to.deep.equal([
    results.length,
    results.filter(({ decision }) => decision === 'YES').length,
    results.length * CHARGE_MINOR,
  ])
  return results.length
}

const play = async (env: Record<string, string>, open: () => Promise<Database>): Promise<void> => {
  const acknowledged: string[] = []
  let server = await startServerProcess(env)
  const made = await makePod(server)
  for (let round = 0; round < ROUNDS; round++) {
    acknowledged.push(...(await loadUntilKilled(server, made)))
    server = await startServerProcess(env)
  }
  expect(await server.end('SIGTERM')).to.equal(0)
  expect(acknowledged.length).to.be.greaterThan(0)
  const database = await open()
  const results = await expectExactCharges(database, made.podId, acknowledged).finally(() => database.close())
  console.log(`      ${ROUNDS} kills: ${acknowledged.length} answers, ${results} results, as many charges`)
}

describe(`charges of pods, with ${ROUNDS} kills each`, () => {
  const common = { ADMIN_API_KEY: ADMIN_KEY, RATE_LIMITS: 'off' }

  onEmbedded.it('equal the signed results on the embedded database', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'assay-pods-'))
    try {
      const env = { ...common, DATA_DIR: dataDir, PORT: String(await freePort()) }
      await play(env, () => openDatabase({ dataDir }))
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  it('equal the signed results on PostgreSQL', async function () {
    if (!process.env.DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    const scratch = await createScratchDatabase(process.env.DATABASE_URL)
    try {
      const env = {
        ...common,
        DATABASE_URL: scratch.url,
        DATA_DIR: 'memory',
        MASTER_KEY: randomBytes(32).toString('hex'),
        PORT: String(await freePort()),
      }
      await play(env, () => openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' }))
    } finally {
      await scratch.drop()
    }
  })
})
