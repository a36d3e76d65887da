/**
 * kill -9 of the server, and of PostgreSQL, while ten thousand deliveries are made: what was committed reaches each
 * healthy receiver at least once, under one id each time, and nothing else does.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { type Client, clientOf, isSuccess } from '../../support/client.ts'
import { createCertificates } from '../../support/servers/certificates.ts'
import { onPostgres } from '../../support/servers/database.ts'
import { startPostgres } from '../../support/servers/postgres.ts'
import { createScratchDatabase } from '../../support/servers/scratch-database.ts'
import { freePort, startServerProcess } from '../../support/servers/server-process.ts'
import {
  type SeenRequest,
  startTargetServer,
  type TargetServer,
} from '../../support/servers/target-server.ts'
import { answer, deliveryOf, requestsTo } from '../../support/webhooks.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const RECEIVERS = ['/one', '/two'] as const
const EVENTS = ['proof.verified', 'merkle.leaf_appended']
const BATCHES = Number(process.env.CRASH_BATCHES ?? 25)
const BATCH_ITEMS = 100
const ENTRIES = BATCHES * BATCH_ITEMS
/** Receivers × events × entries. */
const DELIVERIES = RECEIVERS.length * EVENTS.length * ENTRIES
const RETRY_PAUSE_MS = 100
/** Claims of a server that died hold for a minute. */
const GIVE_UP_MS = 240_000

const certificates = createCertificates({ names: ['127.0.0.1'] })

/** The environment of servers whose webhooks may go to this machine. */
const environment = async (directory: string, databaseUrl: string | undefined) => {
  const caFile = join(directory, 'ca.pem')
  writeFileSync(caFile, certificates.ca)
  return {
    DATA_DIR: join(directory, 'data'),
    PORT: String(await freePort()),
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: `admin-${randomUUID()}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'fatal',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    EGRESS_CA_FILE: caFile,
    WEBHOOK_PAUSES_MS: '50,200',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  }
}

/** Asks until there is an answer, under one Idempotency-Key. */
const insist = async (client: Client, path: string, key: string, body: object): Promise<void> => {
  const headers = { 'idempotency-key': randomUUID() }
  for (;;) {
    const sent = await client.request('POST', path, { key, headers, body }).catch(() => undefined)
    if (sent && isSuccess(sent)) return
    await pause(RETRY_PAUSE_MS)
  }
}

const register = async (client: Client, key: string, receiver: TargetServer): Promise<void> => {
  for (const path of RECEIVERS) {
    receiver.on(path, answer(204))
    await insist(client, '/api/webhooks', key, { label: path, url: receiver.url + path, events: EVENTS })
  }
  // One that is dead all the time.
  await insist(client, '/api/webhooks', key, { label: 'dead', url: 'https://127.0.0.1:9/', events: EVENTS })
}

const load = async (client: Client, key: string): Promise<void> => {
  for (let batch = 0; batch < BATCHES; batch++) {
    const items = Array.from({ length: BATCH_ITEMS }, (_, item) => ({ batch, item }))
    await insist(client, '/verify/batch', key, { items })
  }
}

const idOf = (request: SeenRequest): string => deliveryOf(request).delivery_id

/** Distinct deliveries that each receiver has got. */
const countsOf = (receiver: TargetServer): number[] =>
  RECEIVERS.map((path) => new Set(requestsTo(receiver, path).map(idOf)).size)

const waitFor = async (what: string, holds: () => boolean): Promise<void> => {
  const giveUpAt = performance.now() + GIVE_UP_MS
  while (!holds()) {
    if (performance.now() > giveUpAt) throw new Error(`never: ${what}`)
    await pause(RETRY_PAUSE_MS)
  }
}

const expectAnnounced = async ({ knex }: Database, receiver: TargetServer): Promise<void> => {
  const rows: { leaf_hash: Uint8Array }[] = await knex('ledger_entries')
    .where({ type: 'verify' })
    .select('leaf_hash')
  const leaves = rows.map(({ leaf_hash }) => Buffer.from(leaf_hash).toString('hex')).sort()
  expect(leaves).to.have.length(ENTRIES)
  for (const path of RECEIVERS) {
    // The same id always comes with the same bytes.
    const bodies = new Map<string, string>()
    for (const request of requestsTo(receiver, path)) {
      const known = bodies.get(idOf(request)) ?? request.body.toString()
      expect(request.body.toString()).to.equal(known)
      bodies.set(idOf(request), known)
    }
    const told = [...bodies.values()].map((body) => JSON.parse(body))
    for (const [event, field] of [
      ['proof.verified', 'merkle_leaf_hash'],
      ['merkle.leaf_appended', 'leaf_hash'],
    ] as const) {
      const announced = told
        .filter(
          (delivery) => delivery.event === event && (delivery.data.audit_event ?? 'verify') === 'verify',
        )
        .map(({ data }) => data[field])
      expect(announced.sort(), `${path} ${event}`).to.deep.equal(leaves)
    }
  }
}

describe('webhooks under kill -9', () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-webhooks-crash-'))
  let receiver: TargetServer
  beforeEach(async () => {
    receiver = await startTargetServer({ certificates })
  })
  afterEach(() => receiver.close())
  after(() => rmSync(directory, { recursive: true }))

  /** All that verifications announce; `merkle.leaf_appended` also of what else happened to be logged. */
  const isComplete = (): boolean =>
    // Asked all the time: bodies are only read once there are enough of them.
    receiver.requests.length >= DELIVERIES &&
    countsOf(receiver).every((count) => count >= EVENTS.length * ENTRIES)

  /** Kills again and again while deliveries go on, until all have arrived. */
  const deliverThrough = async (url: string, key: string, kill: () => Promise<void>): Promise<void> => {
    const client = clientOf(url)
    await register(client, key, receiver)
    const loaded = load(client, key)
    for (let round = 0; round < ROUNDS; round++) {
      const before = receiver.requests.length
      await waitFor('deliveries go on', () => receiver.requests.length > before + 100 || isComplete())
      await pause(randomInt(50, 500))
      await kill()
    }
    await loaded
    await waitFor('everything arrives', isComplete)
  }

  it(`of the server: ${DELIVERIES} deliveries arrive, each under one id, and nothing that was rolled back`, async () => {
    const scratch = process.env.DATABASE_URL
      ? await createScratchDatabase(process.env.DATABASE_URL)
      : undefined
    const env = await environment(directory, scratch?.url)
    let server = await startServerProcess(env)
    try {
      await deliverThrough(server.url, env.ADMIN_API_KEY, async () => {
        await server.end('SIGKILL')
        server = await startServerProcess(env)
      })
      await server.end('SIGTERM')
      const database = await openDatabase({ dataDir: env.DATA_DIR, databaseUrl: scratch?.url })
      await expectAnnounced(database, receiver).finally(() => database.close())
    } finally {
      server.process.kill('SIGKILL')
      await scratch?.drop()
    }
  })

  onPostgres.it('of PostgreSQL: the same', async () => {
    const cluster = await startPostgres()
    const env = await environment(directory, cluster.url)
    const server = await startServerProcess(env)
    try {
      await deliverThrough(server.url, env.ADMIN_API_KEY, async () => {
        await cluster.kill()
        await cluster.restart()
      })
      const database = await openDatabase({ dataDir: 'memory', databaseUrl: cluster.url })
      await expectAnnounced(database, receiver).finally(() => database.close())
    } finally {
      await server.end('SIGKILL')
      await cluster.stop()
    }
  })
})
