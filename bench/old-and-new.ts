/**
 * Starts and hot routes of this checkout beside those of an older commit, in turns: nothing may have become slower than it was. Each has
 * a server as its own `npm start` starts it, on a database of its own; what counts is the median of the turns. Needs
 * PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres, and BENCH_OLD, a checkout of that commit in
 * which `npm ci` and `npm run build` were run; is skipped without it. `BENCH_OLD=../older npx tsx bench/old-and-new.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { currentCommit } from '../src/bin/benchmarks/machine.ts'
import { quantile, runLoad } from '../test/support/servers/http-load.ts'
import { createScratchDatabase, type ScratchDatabase } from '../test/support/servers/scratch-database.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { hotRoutes, type Work } from './support/hot-routes.ts'
import { type Row, report } from './support/interleaved.ts'
import { processMs } from './support/process-times.ts'
import { compareByProcessorTime, median } from './support/processor-time.ts'
import { skipped } from './support/record.ts'
import { pidOf, startAsNpmDoes } from './support/started-server.ts'

const { BENCH_OLD, DATABASE_URL } = process.env
const ROOT = join(import.meta.dirname, '..')
const TURNS = Number(process.env.BENCH_SLICES ?? 15)
const SLICE_MS = Number(process.env.BENCH_SLICE_MS ?? 1000)
const STARTS = 7
const CONNECTIONS = 16
/** More than are answered in a slice, where each has to be made anew. */
const REQUESTS = 8 * SLICE_MS
/** Of the older rate, what ours must reach. */
const GOAL = 0.95

interface Runner {
  readonly commit: string
  readonly server: ServerProcess
  readonly scratch: ScratchDatabase
  readonly works: readonly Work[]
}

const start = async (root: string): Promise<Runner> => {
  const scratch = await createScratchDatabase(DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres')
  let server: ServerProcess | undefined
  try {
    const key = `ak_bench_${randomBytes(16).toString('hex')}`
    server = await startAsNpmDoes({ DATABASE_URL: scratch.url, ADMIN_API_KEY: key }, root)
    const works = await hotRoutes(server.url, key)
    return { commit: currentCommit(root), server, scratch, works }
  } catch (error) {
    await server?.end()
    await scratch.drop()
    throw error
  }
}

const end = async ({ server, scratch }: Runner): Promise<void> => {
  await server.end()
  await scratch.drop()
}

interface Slice {
  readonly rate: number
  /** Ms. */
  readonly p99: number
}

const slice = async ({ server, works, commit }: Runner, i: number): Promise<Slice> => {
  const { name, expected, request } = works[i] as Work
  const requests = Array.from({ length: REQUESTS }, request)
  const { answers, seconds, latencies, unexpected, example } = await runLoad({
    port: Number(new URL(server.url).port),
    connections: CONNECTIONS,
    next: () => requests.pop(),
    expected,
    milliseconds: SLICE_MS,
  })
  if (unexpected > 0) throw new Error(`${name} of ${commit} answered ${example}`)
  return { rate: answers / seconds, p99: quantile(latencies, 0.99) }
}

const figures = (slices: readonly Slice[]): string =>
  `${median(slices.map(({ rate }) => rate)).toFixed(0)}/s, p99 ${median(slices.map(({ p99 }) => p99)).toFixed(1)} ms`

const compare = async (ours: Runner, older: Runner, i: number): Promise<Row> => {
  await slice(older, i)
  await slice(ours, i)
  const turns: { ours: Slice; theirs: Slice }[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    // Each goes first as often.
    const before = turn % 2 === 0 ? await slice(older, i) : undefined
    const own = await slice(ours, i)
    turns.push({ ours: own, theirs: before ?? (await slice(older, i)) })
  }
  const ratio = median(turns.map((turn) => turn.ours.rate / turn.theirs.rate))
  return {
    what: `${ours.works[i]?.name}, ${CONNECTIONS} connections`,
    ours: figures(turns.map((turn) => turn.ours)),
    peer: `commit ${older.commit}`,
    theirs: figures(turns.map((turn) => turn.theirs)),
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: `${GOAL}×`,
    ok: ratio >= GOAL,
  }
}

/** @returns the processor time that a start takes until the server is ready, in ms */
const startMs = async (root: string, env: Readonly<Record<string, string>>): Promise<number> => {
  const server = await startAsNpmDoes(env, root)
  const ms = processMs(pidOf(server))
  await server.end()
  return ms
}

/** Of a database with a schema, one of each commit, and of an embedded one in memory, which is made anew. */
const compareStarts = async (oldRoot: string, rows: Row[]): Promise<void> => {
  const scratch = () => createScratchDatabase(DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres')
  const [own, older] = [await scratch(), await scratch()]
  const on = ({ url }: ScratchDatabase) => ({
    DATABASE_URL: url,
    MASTER_KEY: randomBytes(32).toString('hex'),
  })
  const compare = compareByProcessorTime(rows, STARTS, 1)
  try {
    for (const [name, ownEnv, olderEnv] of [
      ['on PostgreSQL', on(own), on(older)],
      ['with the embedded database', {}, {}],
    ] as const)
      await compare(`a start ${name}, processor time until it is ready`, [
        { name: 'ours', run: () => startMs(ROOT, ownEnv) },
        { name: `commit ${currentCommit(oldRoot)}`, goal: GOAL, run: () => startMs(oldRoot, olderEnv) },
      ])
  } finally {
    await own.drop()
    await older.drop()
  }
}

const measure = async (oldRoot: string): Promise<void> => {
  if (!existsSync(join(oldRoot, 'build/server.js')))
    throw new Error(`BENCH_OLD: ${oldRoot} has no server; run npm ci and npm run build there.`)
  const rows: Row[] = []
  await compareStarts(oldRoot, rows)
  const older = await start(oldRoot)
  try {
    const ours = await start(ROOT)
    try {
      for (const i of ours.works.keys()) rows.push(await compare(ours, older, i))
      report(rows)
    } finally {
      await end(ours)
    }
  } finally {
    await end(older)
  }
}

if (BENCH_OLD) await measure(resolve(BENCH_OLD))
else skipped('an older commit', 'BENCH_OLD names no checkout of one')
