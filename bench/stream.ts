/**
 * One message to 5,000 open streams of one server process: how long from sending the POST until each reader has it, and
 * what a stream costs in memory; beside a bare node:http server that inserts the same row with node-postgres and writes
 * the same event to every response. Both are processes of their own on one database, take their posts from the same
 * client, and are read through raw sockets in processes of their own. Posts alternate between the two; a ratio is the
 * peer's figure divided by ours within one turn, so that 1 is parity and less is slower or larger.
 *
 * Needs DATABASE_URL or a PostgreSQL on 127.0.0.1:5432; works in a database of its own that is dropped at the end. Needs
 * twice as many open files as there are streams in one process (`ulimit -n`).
 * @module
 */
import { fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { clientOf, ok } from '../test/support/client.ts'
import { quantile } from '../test/support/servers/http-load.ts'
import { createScratchDatabase } from '../test/support/servers/scratch-database.ts'
import { startServerProcess } from '../test/support/servers/server-process.ts'
import { type Row, report } from './support/interleaved.ts'
import { createReaders, type Readers } from './support/stream-readers.ts'

const STREAMS = Number(process.env.BENCH_STREAMS ?? 5000)
const READING_PROCESSES = 2
const TURNS = Number(process.env.BENCH_TURNS ?? 31)
const WARM_UP_TURNS = 5
const GOAL = 0.7
/** Files that a server needs besides its streams. */
const OTHER_FILES = 200
const SETTLE_MS = 3000
/** Streams that are opened before memory is measured: they fill what a process has free from its start. */
const FIRST_STREAMS = STREAMS / 5

const INSERT = `INSERT INTO peer_messages (id, created_at, agent_name, thread_id, text, kind, source, verified, reply_count,
  poster, text_hash) VALUES (nextval('peer_message_id'), $1, $2, currval('peer_message_id'), $3, 'agent', 'api', false, 0,
  $4, $5) RETURNING id`

/** The peer: `stream.ts --peer`; sends its port to its parent. */
const servePeer = (): void => {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 8 })
  const readers = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      response.write('retry: 3000\n\n')
      readers.add(response)
      request.on('close', () => readers.delete(response))
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const { agent_name, text } = JSON.parse(Buffer.concat(chunks).toString())
      const now = Date.now()
      const values = [now, agent_name, text, randomBytes(16), randomBytes(16)]
      const { rows } = await pool.query({ name: 'insert', text: INSERT, values })
      const id = Number(rows[0].id)
      const message = {
        id,
        created_at: new Date(now).toISOString(),
        agent_name,
        model: null,
        prompt_id: null,
        topic: null,
        reply_to: null,
        thread_id: id,
        text,
        kind: 'agent',
        source: 'api',
        verified: false,
        reply_count: 0,
      }
      const event = Buffer.from(`id: ${id}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`)
      for (const reader of readers) reader.write(event)
      response.writeHead(201, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ message }))
    })
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () =>
    process.send?.((server.address() as AddressInfo).port),
  )
  process.on('disconnect', () => process.exit(0))
}

interface Runner {
  readonly name: string
  readonly url: string
  readonly pid: number
  end(): Promise<unknown>
}

const startPeer = async (databaseUrl: string): Promise<Runner> => {
  const env = { ...process.env, DATABASE_URL: databaseUrl, NODE_OPTIONS: COLLECTING }
  const child = fork(import.meta.filename, ['--peer'], { env })
  const [port] = (await once(child, 'message')) as [number]
  return {
    name: 'bare node:http + pg',
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    end() {
      const exited = once(child, 'exit')
      child.disconnect()
      return exited
    },
  }
}

const startOurs = async (databaseUrl: string): Promise<Runner> => {
  const {
    url,
    process: child,
    end,
  } = await startServerProcess({
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    RATE_LIMITS: 'off',
    DATA_DIR: 'memory',
    NODE_OPTIONS: COLLECTING,
  })
  return { name: 'ours', url, pid: child.pid ?? 0, end }
}

/** Collects garbage at SIGUSR2; what a first collection finalised goes with the second. */
const COLLECT = `import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => { collect(); setImmediate(collect) })`
/** Loaded into both servers, so that neither is measured just before it would have collected. */
const COLLECTING = `--import=data:text/javascript,${encodeURIComponent(COLLECT)}`

/** Resident memory in KiB, after all garbage was collected. */
const residentKib = async (pid: number): Promise<number> => {
  process.kill(pid, 'SIGUSR2')
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

interface Turn {
  readonly p50: number
  readonly p99: number
}

/** Posts one message. @returns milliseconds from sending it until readers had it */
const deliver = async ({ url }: Runner, readers: Readers, count = STREAMS): Promise<Turn> => {
  const text = `A message to everyone who listens: ${randomUUID()}`
  const arrivals = await readers.expect(text)
  const sentAt = Number(process.hrtime.bigint()) / 1e6
  await ok(clientOf(url), 'POST', '/api/messages', { body: { agent_name: 'Bench', text } })
  const latencies = Float64Array.from(await arrivals(), (time) => time - sentAt).sort()
  if (latencies.length < count) throw new Error(`only ${latencies.length} readers have it`)
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

const median = (values: readonly number[]): number => quantile(Float64Array.from(values).sort(), 0.5)

interface Measured {
  readonly runner: Runner
  readonly readers: Readers
  readonly kibPerStream: number
  readonly turns: Turn[]
}

const prepare = async (runner: Runner): Promise<Measured> => {
  const readers = await createReaders(Number(new URL(runner.url).port), '/api/stream', READING_PROCESSES)
  /** What a few messages leave behind belongs to a stream as well. */
  const openUpTo = async (count: number): Promise<number> => {
    await readers.open(count)
    for (let i = 0; i < WARM_UP_TURNS; i++) await deliver(runner, readers, count)
    return residentKib(runner.pid)
  }
  const before = await openUpTo(FIRST_STREAMS)
  const after = await openUpTo(STREAMS)
  return { runner, readers, kibPerStream: (after - before) / (STREAMS - FIRST_STREAMS), turns: [] }
}

const rowsOf = (ours: Measured, peer: Measured): Row[] => {
  const row = (what: string, [own, theirs]: readonly [string, string], ratio: number): Row => ({
    what,
    ours: own,
    peer: 'bare node:http',
    theirs,
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: `${GOAL}×`,
    ok: ratio >= GOAL,
  })
  const time = (of: keyof Turn): Row => {
    const values = (measured: Measured) => measured.turns.map((turn) => turn[of])
    const ratios = values(peer).map((theirs, i) => theirs / (values(ours)[i] ?? Number.NaN))
    const ms = (measured: Measured) => `${median(values(measured)).toFixed(1)} ms`
    return row(`one message to ${STREAMS} streams, ${of}`, [ms(ours), ms(peer)], median(ratios))
  }
  const kib = (measured: Measured) => `${measured.kibPerStream.toFixed(1)} KiB`
  const memory = peer.kibPerStream / ours.kibPerStream
  return [time('p50'), time('p99'), row('memory of a stream', [kib(ours), kib(peer)], memory)]
}

const requireFiles = (): void => {
  const limit = /Max open files\s+(\d+|unlimited)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  const needed = STREAMS + OTHER_FILES
  if (limit !== 'unlimited' && Number(limit) < needed) {
    console.error(`A process may open ${limit} files; ${needed} are needed: ulimit -n ${needed}`)
    process.exit(2)
  }
}

const main = async (): Promise<void> => {
  requireFiles()
  const scratch = await createScratchDatabase(
    process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  )
  const runners: Runner[] = []
  const prepared: Measured[] = []
  try {
    runners.push(await startOurs(scratch.url))
    const client = new pg.Client({ connectionString: scratch.url })
    await client.connect()
    await client.query(
      'CREATE TABLE peer_messages (LIKE chat_messages INCLUDING ALL); CREATE SEQUENCE peer_message_id',
    )
    await client.end()
    runners.push(await startPeer(scratch.url))
    for (const runner of runners) prepared.push(await prepare(runner))
    const [ours, peer] = prepared
    if (!ours || !peer) throw new Error('nothing to compare')
    for (let turn = 0; turn < TURNS; turn++) {
      const order = turn % 2 === 0 ? [ours, peer] : [peer, ours]
      for (const each of order) each.turns.push(await deliver(each.runner, each.readers))
    }
    report(rowsOf(ours, peer))
  } finally {
    await Promise.all(prepared.map(({ readers }) => readers.end()))
    await Promise.all(runners.map((runner) => runner.end()))
    await scratch.drop()
  }
}

if (process.argv.includes('--peer')) servePeer()
else await main()
