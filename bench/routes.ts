/**
 * What hot routes cost a server that is a process of its own: answers a second, and processor time of its main thread, which serves
 * everybody. Before that, the memory of a server that nobody has asked anything, on PostgreSQL and on the embedded
 * database. Linux only, which tells threads apart; needs PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user
 * postgres. `npx tsx bench/routes.ts`; `BENCH_WORK=memory` measures memory alone.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { clientOf, ok } from '../test/support/client.ts'
import { quantile, requestBytes, runLoad } from '../test/support/servers/http-load.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { type Row, report } from './support/interleaved.ts'
import { mainThreadMs } from './support/process-times.ts'
import { median } from './support/processor-time.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { pidOf, startAsNpmDoes } from './support/started-server.ts'

const SLICES = Number(process.env.BENCH_SLICES ?? 5)
const SLICE_MS = 2000
/** After which an idle server has done what it does at its start. */
const SETTLE_MS = 8000
const KEY = `ak_bench_${randomBytes(16).toString('hex')}`
const IS_MEMORY_ALONE = process.env.BENCH_WORK === 'memory'
const MOST_MB = { PostgreSQL: 190, embedded: 420 } as const

const rows: Row[] = []
const row = (what: string, ours: string, mustReach = '', isOk = true): void => {
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok: isOk })
}

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const memoryOf = async (server: ServerProcess, database: keyof typeof MOST_MB): Promise<void> => {
  await pause(SETTLE_MS)
  const resident = residentMb(pidOf(server))
  const most = MOST_MB[database]
  row(`memory idle, ${database}`, `${resident.toFixed(0)} MB`, `≤ ${most} MB`, resident <= most)
}

interface Work {
  readonly path: string
  readonly body: object
  readonly expected: string
  readonly connections: number
  readonly goal: number
}

const measureRoute = async (
  server: ServerProcess,
  { path, body, expected, connections, goal }: Work,
): Promise<void> => {
  const request = requestBytes(path, JSON.stringify(body), { 'X-API-Key': KEY })
  const load = () =>
    runLoad({
      port: Number(new URL(server.url).port),
      connections,
      next: () => request,
      expected,
      milliseconds: SLICE_MS,
    })
  await load()
  const slices = []
  for (let slice = 0; slice < SLICES; slice++) {
    const before = mainThreadMs(pidOf(server))
    const { answers, seconds, latencies, unexpected, example } = await load()
    if (unexpected > 0) throw new Error(`${path} answered ${example}`)
    const micros = ((mainThreadMs(pidOf(server)) - before) * 1000) / answers
    slices.push({ rate: answers / seconds, p99: quantile(latencies, 0.99), micros })
  }
  const rate = median(slices.map((slice) => slice.rate))
  const p99 = median(slices.map((slice) => slice.p99))
  const what = `POST ${path}, ${connections} connections`
  row(what, `${rate.toFixed(0)}/s, p99 ${p99.toFixed(0)} ms`, `≥ ${goal}/s`, rate >= goal)
  row(`${what}, main thread`, `${median(slices.map(({ micros }) => micros)).toFixed(0)} µs a request`)
}

const measureRoutes = async (server: ServerProcess): Promise<void> => {
  const post = <T>(path: string, body: object): Promise<T> =>
    ok(clientOf(server.url), 'POST', path, { key: KEY, body })
  const { token } = await post<{ token: string }>('/api/tokens/generate', {
    subject: 'member-7',
    claims: { decision: 1 },
    ttl: 3600,
  })
  for (const connections of [16, 64])
    await measureRoute(server, {
      path: '/api/tokens/validate',
      body: { token },
      expected: '"valid":true',
      connections,
      goal: 3000,
    })
  const { proofId, proof, publicInputs } = await post<{
    proofId: string
    proof: object
    publicInputs: string[]
  }>('/api/proof/generate', {
    userId: 'ada',
    data: { age: 36 },
    rules: [{ field: 'age', op: 'gte', value: 18 }],
  })
  await measureRoute(server, {
    path: '/api/proof/verify',
    body: { proofId, proof, publicInputs },
    expected: '"verified":true',
    connections: 16,
    goal: 250,
  })
}

await measureInScratchDatabase('routes', async (databaseUrl) => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-bench-'))
  try {
    const embedded = await startAsNpmDoes({ DATA_DIR: directory, ADMIN_API_KEY: KEY })
    await memoryOf(embedded, 'embedded').finally(() => embedded.end())
  } finally {
    await rm(directory, { recursive: true })
  }
  const server = await startAsNpmDoes({ DATABASE_URL: databaseUrl, ADMIN_API_KEY: KEY })
  try {
    await memoryOf(server, 'PostgreSQL')
    if (!IS_MEMORY_ALONE) await measureRoutes(server)
  } finally {
    await server.end()
  }
  report(rows)
  return rows.every(({ ok: isOk }) => isOk)
})
