/**
 * Three servers on a PostgreSQL of their own, which grow from one log to two and to four while clients write, are restarted one by one, and
 * are killed, as the database is. Whatever was answered must be at its place in its log and under a head in log 0; no organisation is in two logs;
 * every tree that anybody saw is the beginning of the last. A monitor follows all logs, a witness cosigns log 0.
 * MANY_LOGS_ROUNDS sets how often all of it is done (default 2).
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { createLogClient } from '../../src/bin/monitor/log-client.ts'
import { createMonitor } from '../../src/bin/monitor/monitor.ts'
import { createLog } from '../../src/ledger/tree/log.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { clientOf, ok } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { expectWholeLog } from '../support/ledger.ts'
import { rootOf } from '../support/reference/merkle.ts'
import { verifyConsistency } from '../support/reference/merkle-proofs.ts'
import { onPostgres } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { startPostgres } from '../support/servers/postgres.ts'
import { freePort, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { startWitness } from '../support/witness-process.ts'

const ROUNDS = Number(process.env.MANY_LOGS_ROUNDS ?? 2)
const SERVERS = 3
const ORGANISATIONS = 4
const ORIGIN = 'log.example'
const LOAD_MS = 1_500

interface Receipt {
  readonly organisationId: string
  readonly log: number
  readonly index: number
  readonly leafHash: string
}

interface Seen {
  readonly log: number
  readonly size: number
  readonly root: string
}

interface Owner {
  readonly organisationId: string
  readonly apiKey: string
}

const headOf = (log: number, note: string): Seen => {
  const [origin, size = '', root = ''] = note.split('\n')
  expect(origin).to.equal(log === 0 ? ORIGIN : `${ORIGIN}/log/${log}`)
  return { log, size: Number(size), root: Buffer.from(root, 'base64').toString('hex') }
}

/** What runs beside the servers, and asks whichever answers. */
const createWorld = (urls: readonly string[], adminKey: string) => {
  const receipts: Receipt[] = []
  const seen: Seen[] = []
  let isOver = false
  const running: Promise<void>[] = []
  const client = () => clientOf(urls[randomInt(urls.length)] ?? '')

  /** Again and again, of whoever answers; a server that ends answers nothing. */
  const forever = (work: () => Promise<void>): void => {
    const run = async (): Promise<void> => {
      while (!isOver) await work().catch(() => pause(20))
    }
    running.push(run())
  }
  const write = async ({ organisationId, apiKey: key }: Owner): Promise<void> => {
    const body = {
      subjectId: randomUUID(),
      controller: 'shop.example',
      purposes: ['newsletter'],
      status: 'refused',
    }
    const {
      log = 0,
      leafIndex,
      leafHash,
    } = await ok<{ log?: number; leafIndex: number; leafHash: string }>(
      client(),
      'POST',
      '/api/consent/log',
      { key, body },
    )
    receipts.push({ organisationId, log, index: leafIndex, leafHash })
  }
  const look = async (): Promise<void> => {
    const log = randomInt(4)
    const answer = await client().request('GET', log === 0 ? '/checkpoint' : `/log/${log}/checkpoint`)
    if (answer.status === 200) seen.push(headOf(log, answer.bytes.toString()))
    await pause(50)
  }
  return {
    receipts,
    seen,
    /** Makes organisations that write from now on. */
    async addOwners(): Promise<void> {
      for (let i = 0; i < ORGANISATIONS; ) {
        const path = '/console/api/organisations'
        const body = { name: `Shop ${randomUUID()}` }
        const owner = await ok<Owner>(client(), 'POST', path, { key: adminKey, body }).catch(() => undefined)
        if (owner === undefined) continue
        i++
        forever(() => write(owner))
      }
    },
    observe: () => forever(look),
    async end(): Promise<void> {
      isOver = true
      await Promise.all(running)
    },
  }
}

/** Each receipt at its index of its log; each head in log 0 as its log has it, and each receipt under one. */
const expectAllInPlace = async (database: Database, receipts: readonly Receipt[], seen: readonly Seen[]) => {
  const numbers: number[] = await database.knex('ledger_head').orderBy('log').pluck('log')
  const leaves = new Map<number, Buffer[]>()
  for (const log of numbers) {
    const entries = await expectWholeLog(database, log)
    leaves.set(
      log,
      entries.map(({ leaf_hash }) => Buffer.from(leaf_hash)),
    )
    for (const { index, leafHash, organisationId } of receipts.filter((one) => one.log === log)) {
      expect(entries[index]?.organisation, `receipt ${log}/${index}`).to.equal(organisationId)
      expect(leaves.get(log)?.[index]?.toString('hex')).to.equal(leafHash)
    }
  }
  const { rows: split } = await database.query(
    `SELECT organisation FROM ledger_entries WHERE organisation LIKE 'org\\_%' GROUP BY organisation HAVING count(DISTINCT log) > 1`,
    [],
  )
  expect(split, 'organisations in two logs').to.deep.equal([])
  const said: { entry: string }[] = await database
    .knex('ledger_entries')
    .where({ log: 0, type: 'ledger.head' })
  const heads = said.map(({ entry }) => JSON.parse(entry).data as Seen)
  const rootAt = ({ log, size }: Seen): string =>
    rootOf((leaves.get(log) ?? []).slice(0, size)).toString('hex')
  for (const one of [...heads, ...seen])
    expect(rootAt(one), `log ${one.log} at ${one.size}`).to.equal(one.root)
  for (const log of numbers.slice(1)) {
    const sizes = heads.filter((head) => head.log === log).map(({ size }) => size)
    expect(new Set(sizes).size, `heads of log ${log} said twice`).to.equal(sizes.length)
    expect(Math.max(0, ...sizes), `entries of log ${log} under a head`).to.equal(leaves.get(log)?.length)
  }
  for (const log of numbers) {
    const sizes = [
      ...new Set(seen.filter((one) => one.log === log && one.size > 0).map(({ size }) => size)),
    ].sort((a, b) => a - b)
    const tree = createLog(database, log)
    for (const [place, later] of sizes.entries()) {
      const earlier = sizes[place - 1]
      if (earlier === undefined) continue
      const [before, after, proof] = await Promise.all([
        tree.root(earlier),
        tree.root(later),
        tree.consistency(earlier, later),
      ])
      const [from, to] = [Buffer.from(before), Buffer.from(after)]
      expect(
        verifyConsistency(earlier, later, from, to, proof.map(Buffer.from)),
        `${log}: ${earlier}, ${later}`,
      ).to.equal(true)
    }
  }
  return numbers.length
}

onPostgres.describe(`three servers that grow to four logs, ${ROUNDS} times`, function () {
  this.timeout(600_000)
  const temporary = temporaryDirectories()

  const play = async (): Promise<void> => {
    const postgres = await startPostgres()
    const folder = await temporary()
    const adminKey = `admin-${randomBytes(16).toString('hex')}`
    const ports = await Promise.all(Array.from({ length: SERVERS }, freePort))
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const policy = join(folder, 'policy')
    const env = {
      DATABASE_URL: postgres.url,
      MASTER_KEY: randomBytes(32).toString('hex'),
      ADMIN_API_KEY: adminKey,
      BASE_URL: `https://${ORIGIN}`,
      RATE_LIMITS: 'off',
      DATA_DIR: 'memory',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      WITNESS_INTERVAL_SECONDS: '1',
    }
    const start = (place: number, logs: number, more: Record<string, string> = {}): Promise<ServerProcess> =>
      startServerProcess({ ...env, PORT: String(ports[place]), LOG_SHARDS: String(logs), ...more })
    const servers = await Promise.all(urls.map((_, place) => start(place, 1)))
    const killed = { servers: 0, postgres: 0 }
    const expectAlive = (): void => {
      for (const [place, { process: server }] of servers.entries())
        expect([server.exitCode, server.signalCode], `server ${place}, which nobody ended`).to.deep.equal([
          null,
          null,
        ])
    }
    const restart = async (place: number, logs: number, signal: NodeJS.Signals): Promise<void> => {
      // The others have heard of the logs that the last one began.
      await pause(1_500)
      expectAlive()
      if (signal === 'SIGKILL') killed.servers++
      await servers[place]?.end(signal)
      servers[place] = await start(place, logs, { WITNESS_POLICY: policy })
    }
    const [first = ''] = urls
    const keys = (await clientOf(first).request('GET', '/checkpoint/keys')).bytes.toString()
    const logsFile = join(folder, 'logs')
    await writeFile(logsFile, keys)
    const witness = await startWitness('w1.example', await temporary(), logsFile)
    const [ed25519] = witness.keys
    await writeFile(policy, `witness w1 ${ed25519} ${witness.url}\nquorum w1\n`)

    const world = createWorld(urls, adminKey)
    await world.addOwners()
    world.observe()
    const look = createMonitor({
      log: createLogClient(first),
      policy: undefined,
      apiKey: undefined,
      state: { origin: ORIGIN, keys, newest: null, newestEntry: null },
      remember: async () => undefined,
    })
    const found: string[] = []
    const followed = { isOver: false }
    const following = (async () => {
      for (; !followed.isOver; await pause(500))
        for (const { code, detail } of (await look()).findings)
          if (code !== 'UNREACHABLE') found.push(`${code}: ${detail}`)
    })()

    await pause(LOAD_MS)
    for (const logs of [2, 4]) {
      for (const place of urls.keys()) {
        await restart(place, logs, randomInt(2) === 0 ? 'SIGKILL' : 'SIGTERM')
        await world.addOwners()
      }
      await pause(LOAD_MS)
      killed.postgres++
      await postgres.kill()
      await postgres.restart()
      await pause(LOAD_MS)
    }
    const refused = await start(0, 2, { PORT: String(await freePort()) }).catch(
      (error: Error) => error.message,
    )
    expect(refused).to.include('LOG_SHARDS is 2')
    await restart(randomInt(SERVERS), 4, 'SIGKILL')
    await pause(LOAD_MS)
    expectAlive()
    await world.end()

    const database = await openDatabase({ databaseUrl: postgres.url, dataDir: 'memory' })
    const headsSaid = async () => {
      const { rows } = await database.query(
        `SELECT h.log FROM ledger_head AS h WHERE h.log > 0 AND h.size <> coalesce((SELECT max(size) FROM ledger_heads AS s WHERE s.log = h.log), 0)`,
        [],
      )
      return rows.length === 0
    }
    await eventually('all heads in log 0', headsSaid)
    await eventually('the witness has cosigned', async () => {
      const row = await database.knex('ledger_cosignatures').where({ origin: ORIGIN }).first('size')
      return Number(row?.size ?? 0) > 0
    })
    followed.isOver = true
    await following
    expect(found, 'what a monitor saw').to.deep.equal([])
    const alerts = await database.knex('security_alerts').where({ type: 'tree_inconsistency' })
    expect(alerts, 'alerts of contradictions').to.deep.equal([])
    const logs = await expectAllInPlace(database, world.receipts, world.seen)
    const used = new Set(world.receipts.map(({ log }) => log))
    expect([logs, used.size]).to.deep.equal([4, 4])
    console.log(
      `      ${world.receipts.length} receipts in ${logs} logs, ${world.seen.length} checkpoints seen; kill -9 of ${killed.servers} servers, and ${killed.postgres} times of PostgreSQL`,
    )
    await database.close()
    await Promise.all(servers.map((server) => server.end()))
    await witness.kill()
    await postgres.stop()
  }

  for (let round = 1; round <= ROUNDS; round++) it(`lose nothing and fork nothing: ${round}`, play)
})
