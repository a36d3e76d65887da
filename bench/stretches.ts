/**
 * What heavy work does to everybody else: proving, verifying, searching, exporting and loading lists. Of each: how much of it a
 * server does at most, and for how long its main thread then gives nobody a turn, in processor time; then the same while half as
 * much comes at a rate, and how long `/health/live` takes beside that. Needs PostgreSQL at DATABASE_URL, by default
 * 127.0.0.1:5432 as user postgres. `BENCH_WORK=proving,searching npx tsx bench/stretches.ts`
 * @module
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { MAX_SEARCHES } from '../src/domain/chat/search.ts'
import { type Client, clientOf, ok } from '../test/support/client.ts'
import { quantile } from '../test/support/servers/http-load.ts'
import type { Stretch } from '../test/support/servers/stretches.ts'
import { fillChat } from './support/chat-messages.ts'
import { type Row, report } from './support/interleaved.ts'
import { backgroundNames } from './support/people.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { askSteadily, get } from './support/steady-load.ts'
import type { Listening } from './support/watched-server.ts'

const MESSAGES = 200_000
const LIST_ENTRIES = 50_000
const LEDGER_ENTRIES = 5000
const WARM_UP_MS = 3000
const SLICE_MS = Number(process.env.BENCH_SLICE_MS ?? 5000)
/** After which work that was asked for last has ended. */
const SETTLE_MS = 1500
const HEALTH_EVERY_MS = 10
const MOST_STRETCH_MS = 5
const MOST_DELAY_MS = 10
/** The first member of the rows of each work. */
const { BENCH_WORK } = process.env

const rows: Row[] = []
const limit = (what: string, ours: string, mustReach = '', isOk = true): void => {
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok: isOk })
}
const ms = (value: number): string => `${value.toFixed(1)} ms`

/** Something that clients ask for. */
interface Work {
  readonly name: string
  /** How many ask at a time to find out how much a server does. */
  readonly clients: number
  ask(): Promise<unknown>
}

const startServer = async (databaseUrl: string, settings: Readonly<Record<string, string>>) => {
  const program = new URL('./support/watched-server.ts', import.meta.url)
  const child = fork(program, [databaseUrl, JSON.stringify(settings)])
  const ended = once(child, 'exit')
  const heard = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, 'message'), ended.then(() => [])])
    if (message === undefined) throw new Error('the server ended')
    return message as T
  }
  const { url, key } = await heard<Listening>()
  return {
    url,
    key,
    async takeStretch(): Promise<Stretch> {
      child.send('take')
      return heard<Stretch>()
    },
    async close() {
      child.disconnect()
      await ended
    },
  }
}
type Server = Awaited<ReturnType<typeof startServer>>

/** All clients ask again as soon as they are answered. @returns answers a second */
const askAll = async ({ clients, ask }: Work, milliseconds: number): Promise<number> => {
  const began = performance.now()
  const end = began + milliseconds
  let answers = 0
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await ask()
      answers += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (1000 * answers) / (performance.now() - began)
}

const health = ({ url }: Server): Promise<Float64Array> =>
  askSteadily(() => get(`${url}/health/live`), HEALTH_EVERY_MS, SLICE_MS)

const stretchRow = (what: string, { processorMs, clockMs }: Stretch): void =>
  limit(
    `${what}: longest without a turn of the event loop`,
    `${ms(processorMs)} of the processor, ${ms(clockMs)} by the clock`,
    `≤ ${MOST_STRETCH_MS} ms of the processor`,
    processorMs <= MOST_STRETCH_MS,
  )

const measure = async (server: Server, work: Work): Promise<void> => {
  const { name } = work
  await askAll(work, WARM_UP_MS)
  await pause(SETTLE_MS)
  const quiet = quantile(await health(server), 0.99)
  await server.takeStretch()
  const rate = await askAll(work, SLICE_MS)
  limit(`${name}, ${work.clients} at a time`, `${rate.toFixed(rate < 10 ? 2 : 0)}/s`)
  stretchRow(`${name}, all that is possible`, await server.takeStretch())
  await pause(SETTLE_MS)
  await server.takeStretch()
  const open = askSteadily(work.ask, 2000 / rate, SLICE_MS)
  const beside = quantile(await health(server), 0.99)
  await open
  stretchRow(`${name}, half of it`, await server.takeStretch())
  limit(
    `GET /health/live beside ${name}, half of what is possible, p99`,
    `${ms(beside)}, quiet ${ms(quiet)}`,
    `+ ${MOST_DELAY_MS} ms`,
    beside - quiet <= MOST_DELAY_MS,
  )
  await pause(SETTLE_MS)
}

/** Lists of which each differs from the one before, so that none is taken for known. */
const loadingLists = (client: Client, key: string, directory: string): Work => {
  const lines = backgroundNames(LIST_ENTRIES).map((name, i) =>
    JSON.stringify({ id: `p-${i}`, schema: 'Person', properties: { name: [name], topics: ['sanction'] } }),
  )
  const texts = [lines, lines.slice(1)].map((some) => some.join('\n'))
  let turn = 0
  // Two loads at a time would be one load and a conflict.
  let last: Promise<unknown> = Promise.resolve()
  const load = async (): Promise<void> => {
    await writeFile(join(directory, 'people.ftm.json'), texts[turn++ % texts.length] ?? '')
    await ok(client, 'POST', '/console/api/lists', { key, body: { action: 'reload' } })
  }
  return {
    name: `loading ${LIST_ENTRIES.toLocaleString('en')} entries of lists`,
    clients: 1,
    ask() {
      last = last.then(load)
      return last
    },
  }
}

const worksOf = async ({ url, key }: Server, directory: string): Promise<Work[]> => {
  const client = clientOf(url)
  const post = <T>(path: string, body: object): Promise<T> => ok<T>(client, 'POST', path, { key, body })
  const question = { userId: 'ada', data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] }
  const generate = () =>
    post<{ proofId: string; proof: object; publicInputs: string[] }>('/api/proof/generate', question)
  const { proofId, proof, publicInputs } = await generate()
  const token = () =>
    post('/api/tokens/generate', { subject: 'member-7', claims: { decision: 1 }, ttl: 3600 })
  for (let made = 0; made < LEDGER_ENTRIES; made += 50) await Promise.all(Array.from({ length: 50 }, token))
  const word = () => `w${1 + Math.floor(Math.random() * 6000)}`
  let exporting: Promise<unknown> = Promise.resolve()
  return [
    { name: 'proving', clients: 8, ask: generate },
    {
      name: 'verifying',
      clients: 16,
      ask: () => post('/api/proof/verify', { proofId, proof, publicInputs }),
    },
    { name: 'searching', clients: MAX_SEARCHES, ask: () => get(`${url}/api/messages?q=${word()}`) },
    {
      name: `exporting evidence of ${LEDGER_ENTRIES.toLocaleString('en')} entries`,
      clients: 1,
      ask() {
        // One at a time is all that an organisation gets.
        exporting = exporting.then(() => ok(client, 'GET', '/api/export/evidence', { key }))
        return exporting
      },
    },
    loadingLists(client, key, directory),
  ]
}

await measureInScratchDatabase('stretches', async (databaseUrl) => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-lists-'))
  await writeFile(join(directory, 'people.ftm.json'), '')
  await fillChat(databaseUrl, MESSAGES)
  const server = await startServer(databaseUrl, { AML_LISTS: directory })
  try {
    for (const work of await worksOf(server, directory))
      if (BENCH_WORK === undefined || BENCH_WORK.split(',').some((asked) => work.name.startsWith(asked)))
        await measure(server, work)
  } finally {
    await server.close()
    await rm(directory, { recursive: true })
  }
  report(rows)
  return rows.every(({ ok: isOk }) => isOk)
})
