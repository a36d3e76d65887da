/**
 * A receiver that was down while events went on catches up by `GET /api/events`: what it was delivered and what it reads are
 * together every event, each of them once, and stand in the log that the service signs. CATCH_UP_MINUTES is how long it is down,
 * CATCH_UP_ROUND_MS how long the load pauses between two rounds.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import {
  readCheckpoint,
  type Tree,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/bin/packages/contents/verify/index.ts'
import { WEBHOOK_EVENTS } from '../../../src/domain/webhooks/events.ts'
import type { AnnouncedEvent, EventPage, Webhook } from '../../../src/domain/webhooks/schemas.ts'
import { verifyWebhook, type WebhookDelivery } from '../../../src/protocol/webhook/webhook.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { withOwnNames } from '../../support/app.ts'
import { type Client, clientOf, ok } from '../../support/client.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import { ADULT_INPUTS } from '../../support/domain/proof-api.ts'
import { runCli } from '../../support/run-cli.ts'
import { createCertificates } from '../../support/servers/certificates.ts'
import { DATABASE_URL, onPostgres } from '../../support/servers/database.ts'
import { createScratchDatabase } from '../../support/servers/scratch-database.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'
import { startTargetServer, type TargetServer } from '../../support/servers/target-server.ts'
import { until } from '../../support/webhooks.ts'

const DOWN_MS = Number(process.env.CATCH_UP_MINUTES ?? 0.5) * 60_000
/** How long the receiver is up before it and after it. */
const UP_MS = Math.max(5_000, DOWN_MS / 20)
/** Between two rounds of the load. */
const ROUND_MS = Number(process.env.CATCH_UP_ROUND_MS ?? 100)
/** A key is made and revoked, a proof made and spent, once in so many rounds. */
const ROUNDS_A_KEY = 5
const ROUNDS_A_PROOF = 10
/** Deliveries come in any order, and some in a third attempt: the receiver asks from so long before the last that it has. */
const OVERLAP_MS = 300_000
const PAGE_EVENTS = 500
const SETTLED_WITHIN_MS = 900_000
const PATH = '/events'
const ORIGIN = 'assay.example'

/** Who reads events: a session, and the endpoint that it asks about. */
interface Reader {
  readonly headers: Readonly<Record<string, string>>
  readonly webhook: string
}

/** What a receiver keeps, whichever process of it is up: bodies by delivery id. */
const createReceiving = (certificates: ReturnType<typeof createCertificates>) => {
  const delivered = new Map<string, string>()
  const faults: string[] = []
  let secret = ''
  return {
    delivered,
    faults,
    trust(given: string): void {
      secret = given
    },
    /** When the last of the first deliveries happened. */
    last: (count: number): string =>
      [...delivered.values()]
        .slice(0, count)
        .map((body) => (JSON.parse(body) as WebhookDelivery).created_at)
        .sort()
        .at(-1) ?? '',
    async start(port?: number): Promise<TargetServer> {
      const server = await startTargetServer({ certificates, port })
      server.on(PATH, ({ headers, body: rawBody }, response) => {
        const verdict = verifyWebhook({ rawBody, headers, secret, now: Date.now() })
        if (!verdict.valid) faults.push(verdict.reason)
        else {
          const { delivery_id } = verdict.delivery
          const body = rawBody.toString()
          if ((delivered.get(delivery_id) ?? body) !== body) faults.push(`two bodies of ${delivery_id}`)
          delivered.set(delivery_id, body)
        }
        response.writeHead(verdict.valid ? 204 : 401).end()
      })
      return server
    },
  }
}

/** Makes events of all five kinds until it is ended. */
const startLoad = (client: Client, key: string) => {
  const ending = new AbortController()
  const prove = async (): Promise<void> => {
    const body = { circuit_id: 'yesno', inputs: ADULT_INPUTS }
    const made = await ok<Record<string, unknown>>(client, 'POST', '/v1/proofs/generate', { key, body })
    const { proof_id, circuit_id, proof, public_signals } = made
    const presented = { proof_id, circuit_id, proof, public_signals, consume: true }
    await ok(client, 'POST', '/v1/proofs/verify', { key, body: presented })
  }
  const revoke = async (): Promise<void> => {
    const body = { label: 'spare', scopes: ['verify'] }
    const { keyId } = await ok<{ keyId: string }>(client, 'POST', '/console/api/keys', { key, body })
    await ok(client, 'DELETE', `/console/api/keys/${keyId}`, { key })
  }
  let round = 0
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      round++
      await ok(client, 'POST', '/verify', { key, body: { data: { order: randomUUID() } } })
      if (round % ROUNDS_A_KEY === 0) await revoke()
      if (round % ROUNDS_A_PROOF === 0) await prove()
      await pause(ROUND_MS)
    }
  }
  const running = run()
  running.catch(() => undefined)
  return {
    rounds: () => round,
    async end(): Promise<void> {
      ending.abort()
      await running
    },
  }
}

/** All pages from a place on. */
const readEvents = async (
  client: Client,
  { headers, webhook }: Reader,
  from: string,
): Promise<AnnouncedEvent[]> => {
  const events: AnnouncedEvent[] = []
  for (let place = from; ; ) {
    const path = `/api/events?webhook=${webhook}&limit=${PAGE_EVENTS}&${place}`
    const page = await ok<EventPage>(client, 'GET', path, { headers })
    events.push(...page.events)
    if (page.nextCursor === null) return events
    place = `after=${page.nextCursor}`
  }
}

/** What the documentation says that entries of a type announce. */
const eventsOf = (type: string, data: { event?: string; keyIds?: string[] }): string[] => {
  const leaf = 'merkle.leaf_appended'
  if (type === 'prove') return ['proof.created', leaf]
  if (type === 'verify' && data.event === 'proof.created') return ['proof.created', 'proof.verified', leaf]
  if (type === 'verify') return ['proof.verified', leaf]
  if (type === 'spend') return ['proof.spent', leaf]
  if (type === 'key.revoked') return [...(data.keyIds ?? ['one']).map(() => 'key.revoked'), leaf]
  return [leaf]
}

/** Entries of the endpoint's organisation, read from the database: their leaves, what they announce, and from which one on it was delivered. */
const announcedIn = async (databaseUrl: string, webhook: string) => {
  const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
  const { rows } = await database
    .query<{ idx: number; type: string; entry: string; leaf_hash: Uint8Array; announces_from: number }>(
      `SELECT e.idx, e.type, e.entry, e.leaf_hash, w.announces_from FROM ledger_entries e
        JOIN webhook_endpoints w USING (organisation) WHERE w.id = $1 ORDER BY e.idx`,
      [webhook],
    )
    .finally(() => database.close())
  return {
    deliveredFrom: rows[0]?.announces_from ?? 0,
    leaves: new Map(rows.map(({ idx, leaf_hash }) => [idx, Buffer.from(leaf_hash).toString('hex')])),
    events: rows.flatMap(({ idx, type, entry }) =>
      eventsOf(type, JSON.parse(entry).data).map((event) => `${idx} ${event}`),
    ),
  }
}

/** What was read comes in the order of the log, nothing twice, and says what was delivered, byte for byte. */
const expectOrdered = (read: readonly AnnouncedEvent[], delivered: ReadonlyMap<string, string>): void => {
  const places = read.map(({ cursor }) => cursor.split('.').map(Number) as [number, number])
  for (const [place, [index, part]] of places.entries()) {
    const [index0, part0] = places[place - 1] ?? [-1, -1]
    expect(index > index0 || (index === index0 && part > part0), `event ${place}`).to.equal(true)
  }
  expect(new Set(read.map(({ event }) => event.delivery_id)).size).to.equal(read.length)
  for (const { event } of read)
    expect(JSON.stringify(event)).to.equal(delivered.get(event.delivery_id) ?? JSON.stringify(event))
}

/** From where it begins, what was read is all that the log announces; before it, what was delivered is. */
const expectWhole = (
  read: readonly AnnouncedEvent[],
  delivered: ReadonlyMap<string, string>,
  { leaves, events, deliveredFrom }: Awaited<ReturnType<typeof announcedIn>>,
): void => {
  const start = Number(read[0]?.leafIndex)
  const indexOf = (event: string): number => Number.parseInt(event, 10)
  const later = events.filter((event) => indexOf(event) >= start)
  expect(read.map(({ leafIndex, event }) => `${leafIndex} ${event.event}`)).to.deep.equal(later)
  for (const { leafIndex, leafHash } of read) expect(leafHash).to.equal(leaves.get(leafIndex))
  const known = new Set(read.map(({ event }) => event.delivery_id))
  const earlier = [...delivered.keys()].filter((id) => !known.has(id))
  const expected = events.filter((event) => indexOf(event) >= deliveredFrom && indexOf(event) < start)
  expect(earlier).to.have.length(expected.length)
}

/** Holds each event against a checkpoint: its leaf stands in that tree, which continues the tree that it names. */
const expectProven = async (
  client: Client,
  { headers }: Reader,
  events: readonly AnnouncedEvent[],
  tree: Tree,
): Promise<void> => {
  const named = new Map<number, { leafHash: string; root: unknown }>()
  for (const { leafIndex, leafHash, event } of events) {
    const { merkle_root, merkle_leaf_hash = leafHash, leaf_hash = leafHash } = event.data
    expect([merkle_leaf_hash, leaf_hash]).to.deep.equal([leafHash, leafHash])
    const root = merkle_root ?? named.get(leafIndex)?.root
    expect(named.get(leafIndex)?.root ?? root).to.equal(root)
    named.set(leafIndex, { leafHash, root })
  }
  const ask = async (path: string): Promise<string[]> =>
    (await ok<{ hashes: string[] }>(client, 'GET', path, { headers })).hashes
  for (const [index, { leafHash, root }] of named) {
    const hashes = await ask(`/api/audit/inclusion?index=${index}&treeSize=${tree.size}`)
    expect(verifyInclusion({ leafHash, index, hashes }, tree), `entry ${index}`).to.equal(true)
    const from = { size: index + 1, root: String(root) }
    const grown = await ask(`/api/audit/consistency?from=${from.size}&to=${tree.size}`)
    expect(verifyConsistency(from, tree, grown), `root after ${index}`).to.equal(true)
  }
}

onPostgres.describe('a receiver that was down', function () {
  this.timeout(DOWN_MS + 2 * UP_MS + 3_600_000)
  const directory = mkdtempSync(join(tmpdir(), 'assay-catch-up-'))
  const certificates = createCertificates({ names: ['127.0.0.1'] })
  const receiving = createReceiving(certificates)
  const closers: (() => unknown)[] = [() => rmSync(directory, { recursive: true })]
  const adminKey = `admin-${randomUUID()}`
  let client: Client
  let databaseUrl = ''
  before(async () => {
    const scratch = await createScratchDatabase(DATABASE_URL as string)
    closers.push(scratch.drop)
    databaseUrl = scratch.url
    const caFile = join(directory, 'ca.pem')
    writeFileSync(caFile, certificates.ca)
    const { REDIS_URL } = process.env
    const server = await startServerProcess({
      DATABASE_URL: databaseUrl,
      ...(REDIS_URL && { REDIS_URL: withOwnNames(REDIS_URL) }),
      DATA_DIR: join(directory, 'data'),
      BASE_URL: `https://${ORIGIN}`,
      MASTER_KEY: randomBytes(32).toString('hex'),
      ADMIN_API_KEY: adminKey,
      RATE_LIMITS: 'off',
      AML_LISTS: 'none',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_OPEN_PROXY: 'on',
      EGRESS_CA_FILE: caFile,
    })
    closers.push(() => server.end())
    client = clientOf(server.url)
  })
  after(async () => {
    for (const close of closers.reverse()) await close()
  })

  const fileOf = async (name: string, path: string, headers = {}): Promise<string> => {
    const file = join(directory, name)
    writeFileSync(file, (await client.request('GET', path, { headers })).bytes)
    return file
  }

  /** What a receiver keeps from its first day: keys, and the log as it was. */
  const keepLog = async () => {
    const keys = (await client.request<string>('GET', '/checkpoint/keys')).body
    const newest = async (): Promise<Tree> => {
      const note = (await client.request<string>('GET', '/checkpoint')).body
      const verdict = readCheckpoint(note, { origin: ORIGIN, keys })
      if (!verdict.valid) throw new Error(verdict.reason)
      return verdict
    }
    return {
      newest,
      first: await newest(),
      jwks: await fileOf('jwks.json', '/.well-known/jwks.json'),
      jwksPq: await fileOf('jwks-pq.json', '/.well-known/jwks-pq.json'),
      since: Date.now(),
    }
  }

  /** Evidence of the whole time, checked as anybody may. @returns the places of its entries */
  const checkEvidence = async (
    { jwks, jwksPq, since }: Awaited<ReturnType<typeof keepLog>>,
    { headers }: Reader,
  ): Promise<number[]> => {
    const path = `/api/export/evidence?since=${since - OVERLAP_MS}&until=${Date.now() + 1_000}`
    const file = await fileOf('evidence.ndjson', path, headers)
    const { status, output, errors } = await runCli([
      ...['verify-evidence', '--json', '--keys', jwks, '--pq-keys', jwksPq],
      file,
    ])
    expect(status, output + errors).to.equal(0)
    expect(JSON.parse(output)).to.include({ holds: true, complete: true })
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'merkle.leaf')
      .map(({ index }) => index)
  }

  /** Waits until nothing waits for the endpoint. */
  const settle = ({ headers, webhook }: Reader): Promise<void> =>
    until(
      'nothing waits',
      async () => {
        const { webhooks } = await ok<{ webhooks: Webhook[] }>(client, 'GET', '/api/webhooks', { headers })
        return webhooks.find(({ id }) => id === webhook)?.backlog === 0
      },
      SETTLED_WITHIN_MS,
    )

  it(`for ${DOWN_MS / 60_000} minutes reads what it missed, without gap or repetition, and proves it against the log`, async () => {
    const account = await signUp(client)
    const { headers } = await signIn(client, account)
    // More than what is free.
    const paying = { key: adminKey, body: { subscription: 'active' } }
    await ok(client, 'PATCH', `/console/api/organisations/${account.organisationId}`, paying)
    const { apiKey } = await ok<{ apiKey: string }>(client, 'POST', '/console/api/keys', {
      headers,
      body: { label: 'load', scopes: ['keys', 'verify', 'proof'] },
    })
    const first = await receiving.start()
    const body = { label: 'receiver', url: first.url + PATH, events: WEBHOOK_EVENTS }
    const { id: webhook, secret } = await ok<Webhook>(client, 'POST', '/api/webhooks', { headers, body })
    receiving.trust(secret)
    const log = await keepLog()

    const load = startLoad(client, apiKey)
    await until('something is delivered', () => receiving.delivered.size > 0, SETTLED_WITHIN_MS)
    await pause(UP_MS)
    await first.close()
    const before = receiving.delivered.size
    const rounds = load.rounds()
    await pause(DOWN_MS)
    await until('events of all kinds', () => load.rounds() > rounds + ROUNDS_A_PROOF, SETTLED_WITHIN_MS)

    // A new process of the receiver, which knows what the old one wrote down.
    const second = await receiving.start(first.port)
    closers.push(second.close)
    const reader: Reader = { headers: (await signIn(client, account)).headers, webhook }
    const from = new Date(Date.parse(receiving.last(before)) - OVERLAP_MS).toISOString()
    const readAt = performance.now()
    const missed = await readEvents(client, reader, `since=${from}`)
    const readMs = Math.round(performance.now() - readAt)
    const only = missed.filter(({ event }) => !receiving.delivered.has(event.delivery_id))
    await pause(UP_MS)
    await load.end()
    await settle(reader)
    // And what came since, to close the account.
    const read = [...missed, ...(await readEvents(client, reader, `after=${missed.at(-1)?.cursor}`))]

    const { delivered, faults } = receiving
    expect(faults).to.deep.equal([])
    expect(new Set(only.map(({ event }) => event.event))).to.deep.equal(new Set(WEBHOOK_EVENTS))
    expectOrdered(read, delivered)
    const announced = await announcedIn(databaseUrl, webhook)
    const start = Number(read[0]?.leafIndex)
    expectWhole(read, delivered, announced)
    const tree = await log.newest()
    const growth = `/api/audit/consistency?from=${log.first.size}&to=${tree.size}`
    const { hashes } = await ok<{ hashes: string[] }>(client, 'GET', growth, { headers: reader.headers })
    expect(verifyConsistency(log.first, tree, hashes)).to.equal(true)
    await expectProven(client, reader, read, tree)
    // The service signs that these are all entries of the organisation in that time.
    const stretch = [...new Set(read.map(({ leafIndex }) => leafIndex))]
    expect((await checkEvidence(log, reader)).filter((index) => index >= start)).to.deep.equal(stretch)
    const others = Number(stretch.at(-1)) - start + 1 - stretch.length
    console.log(
      `      ${new Date().toISOString()} down ${DOWN_MS / 60_000} min: ${read.length} events of ${stretch.length} entries; ${before} delivered before, ${delivered.size - before} after; ` +
        `${missed.length} read in ${readMs} ms when it was back, ${only.length} of which had not been delivered; ${others} leaves between them are of others; tree of ${tree.size}`,
    )
  })
})
