/**
 * What a server does under mixed traffic that does not end, on both databases: whether its memory, its handles, its event loop and its answers
 * stay as they are; what it does at twice the load that it can carry, and how soon it is itself again; and what a noisy organisation costs
 * the others. SOAK_MINUTES says how long the first part takes. PostgreSQL is that of DATABASE_URL, by default 127.0.0.1:5432 as
 * user postgres; Redis that of REDIS_URL, where it is set. Runs only by name: `npm run bench soak`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { clientOf, ok } from '../test/support/client.ts'
import { runLoad } from '../test/support/servers/http-load.ts'
import { createScratchDatabase } from '../test/support/servers/scratch-database.ts'
import { startWatchedServer, type WatchedServer } from '../test/support/servers/watched-process.ts'
import { hotRoutes, type Work } from './support/hot-routes.ts'
import { type Row, report } from './support/interleaved.ts'
import { type Answered, quantileMs, runOpenLoad } from './support/open-load.ts'
import { seeded } from './support/seeded.ts'
import { startAsNpmDoes } from './support/started-server.ts'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 30)
const ORGANISATIONS = 8
/** How often each is asked. POST /verify and what the chat is asked are rarer than payments. */
const SHARES: Readonly<Record<string, number>> = {
  'payments/validate': 6,
  'tokens/validate': 4,
  'proof/verify': 2,
  verify: 1,
  'consent/verify': 4,
  'POST /api/messages': 1,
  'GET /api/messages': 3,
}
const CAPACITY_MS = 10_000
const CAPACITY_CONNECTIONS = 32
/** Of what it can carry. */
const SOAK_LOAD = 0.5
const SETTLE_MS = 5000
/** Of the soak, at its beginning: programs are compiled, stores are filled. */
const WARM_SHARE = 0.2
/** Of what was not answered with success. */
const MAX_TOLD = 20
const CONNECTIONS = 1000
/** Of the soak, all open from its beginning to its end, or what the load opens and what the server closes would count as the server's handles. */
const SOAK_CONNECTIONS = 64
/** More than a window of the limits. */
const OVERLOAD_MS = 75_000
const RECOVERY_MS = 5000
const RECOVERY_WINDOW_MS = 500
const FAIR_SLICE_MS = 5000
const FAIR_TURNS = 7
/** More than an organisation may have waiting. */
const NOISY_CONNECTIONS = 512
const QUIET_CONNECTIONS = 256
/** Of what it can carry: what the quiet ones ask for together; another, so that the server is busy and not overloaded; and the noisy one. */
const QUIET_LOAD = 0.25
const BUSY_LOAD = 0.65
const NOISY_LOAD = 2

/** Least squares over the time from first to last: how much of its mean a figure grows. */
const MOST_GROWTH = 0.1
const MOST_P99_GROWTH = 0.25
const MOST_NEIGHBOUR_COST = 1.2
const MINUTE_SECONDS = 60
/** Requests a minute. */
const NO_LIMIT = 10_000_000

const rows: Row[] = []
const note = (what: string, ours: string, mustReach = '', isOk = true): void => {
  console.log(`${what}: ${ours}`)
  rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach, ok: isOk })
}
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const isRefusal = ({ status, saysWhen }: Answered): boolean => (status === 429 || status === 503) && saysWhen
const isGood = ({ status }: Answered): boolean => status === 200 || status === 201

interface Organisation {
  readonly organisationId: string
  readonly apiKey: string
  readonly next: () => Buffer
  /** Without the chat, which takes no credential: what is sent there is no organisation's. Each kind as often as it comes. */
  readonly ofItsOwn: readonly Work[]
}

interface Running {
  readonly server: WatchedServer
  readonly port: number
  readonly adminKey: string
  readonly organisations: readonly Organisation[]
}

/** Each kind as often as it comes. */
const inShares = (works: readonly Work[]): Work[] =>
  works.flatMap((work) => Array.from({ length: SHARES[work.name] ?? 1 }, () => work))

/** Requests of one organisation. @param turns each kind as often as it comes */
const mixOf = (turns: readonly Work[]): (() => Buffer) => {
  // Not one kind after the other.
  const order = turns.map((_, i) => turns[(i * 8) % turns.length] as Work)
  let turn = 0
  return () => (order[turn++ % order.length] as Work).request()
}

const roundRobin = (organisations: readonly Organisation[]): (() => Buffer) => {
  let turn = 0
  return () => (organisations[turn++ % organisations.length] as Organisation).next()
}

/** Whoever asks and whatever for, by chance. */
const byChance = (organisations: readonly Organisation[], random: () => number): (() => Buffer) => {
  const all = organisations.flatMap(({ ofItsOwn }) => ofItsOwn)
  return () => (all[Math.floor(random() * all.length)] as Work).request()
}

const open = async (env: Readonly<Record<string, string>>): Promise<Running> => {
  const adminKey = `ak_bench_${randomBytes(16).toString('hex')}`
  const manyPosts = JSON.stringify({
    postsPerMinute: 1e6,
    postsPerHour: 1e8,
    keyPostsPerMinute: 1e6,
    readsPerMinute: 1e8,
    namesPerDay: 1e6,
  })
  const server = await startWatchedServer(
    {
      ADMIN_API_KEY: adminKey,
      RATE_LIMITS: 'on',
      RATE_LIMIT_PER_MINUTE: '10000000',
      CHAT_LIMITS: manyPosts,
      ...env,
    },
    (variables, options) => startAsNpmDoes(variables, undefined, options),
  )
  const client = clientOf(server.url)
  const organisations: Organisation[] = []
  for (let i = 0; i < ORGANISATIONS; i++) {
    const made = await ok<Pick<Organisation, 'organisationId' | 'apiKey'>>(
      client,
      'POST',
      '/console/api/organisations',
      {
        key: adminKey,
        body: { name: `Organisation ${i}` },
      },
    )
    const works = await hotRoutes(server.url, made.apiKey)
    const ofItsOwn = inShares(works.filter(({ name }) => !name.endsWith('/api/messages')))
    organisations.push({ ...made, next: mixOf(inShares(works)), ofItsOwn })
  }
  return { server, port: Number(new URL(server.url).port), adminKey, organisations }
}

/** Answers a second, as many as there can be. */
const capacityOf = async ({ port, organisations }: Running): Promise<number> => {
  const next = roundRobin(organisations)
  const load = (milliseconds: number) =>
    runLoad({ port, connections: CAPACITY_CONNECTIONS, next, expected: 'HTTP/1.1 200', milliseconds })
  await load(CAPACITY_MS / 2)
  const { answers, seconds } = await load(CAPACITY_MS)
  return answers / seconds
}

/** How much a line through the points grows from the first to the last, as a share of their mean. */
const growthOf = (points: readonly (readonly [at: number, value: number])[]): number => {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [at, value] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const slope =
    points.reduce((sum, [x, y]) => sum + (x - at) * (y - value), 0) /
    points.reduce((sum, [x]) => sum + (x - at) ** 2, 0)
  return (slope * ((points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0))) / value
}

const soak = async (
  name: string,
  { server, port, organisations }: Running,
  capacity: number,
): Promise<void> => {
  const rate = capacity * SOAK_LOAD
  const startedAt = Date.now()
  const clock = performance.now()
  const answers = await runOpenLoad({
    port,
    connections: SOAK_CONNECTIONS,
    opened: SOAK_CONNECTIONS,
    rate,
    milliseconds: MINUTES * MINUTE_SECONDS * 1000,
    next: roundRobin(organisations),
  })
  const warmMs = WARM_SHARE * MINUTES * MINUTE_SECONDS * 1000
  const seconds = server.seconds(startedAt + warmMs)
  const refused = answers.filter((answer) => !isGood(answer))
  for (const { dueAt, ms, refusal } of refused.slice(0, MAX_TOLD))
    console.log(`${name}: after ${((dueAt - clock) / 1000).toFixed(0)} s, ${ms.toFixed(0)} ms: ${refusal}`)
  const warm = answers.filter(({ dueAt }) => dueAt >= clock + warmMs)
  const windows = new Map<number, Answered[]>()
  for (const answer of warm) {
    const window = Math.floor((answer.dueAt - clock) / SETTLE_MS)
    windows.set(window, [...(windows.get(window) ?? []), answer])
  }
  const p99s = [...windows].map(([window, some]): [number, number] => [window, quantileMs(some, 0.99)])
  const figure = (
    what: string,
    unit: string,
    points: readonly (readonly [number, number])[],
    most: number,
  ): void => {
    const growth = growthOf(points)
    const last = points.at(-1)?.[1] ?? Number.NaN
    note(`${name}: growth of ${what}`, percent(growth), `≤ ${percent(most)}`, growth <= most)
    note(`${name}: ${what} at the end`, `${last.toFixed(1)} ${unit}`)
  }
  const over = (value: (second: (typeof seconds)[number]) => number) =>
    seconds.map((second): [number, number] => [second.at, value(second)])
  const minutes = `${MINUTES} minutes at ${rate.toFixed(0)}/s`
  note(
    `${name}: ${minutes}, answers that were none`,
    `${refused.length} of ${answers.length}`,
    '= 0',
    refused.length === 0,
  )
  figure(
    'resident memory',
    'MB',
    over(({ rssBytes }) => rssBytes / 1e6),
    MOST_GROWTH,
  )
  figure(
    'memory of JavaScript',
    'MB',
    over(({ heapBytes }) => heapBytes / 1e6),
    MOST_GROWTH,
  )
  figure(
    'handles',
    '',
    over(({ handles }) => handles),
    MOST_GROWTH,
  )
  figure(
    'the longest stretch of a second',
    'ms',
    over(({ processorMs }) => processorMs),
    MOST_P99_GROWTH,
  )
  figure('p99', 'ms', p99s, MOST_P99_GROWTH)
}

/** What each organisation may ask for; what is beyond it is refused. */
const limitAll = async (
  { server, adminKey, organisations }: Running,
  perMinute: (i: number) => number,
): Promise<void> => {
  for (const [i, { organisationId }] of organisations.entries())
    await ok(clientOf(server.url), 'PATCH', `/console/api/organisations/${organisationId}`, {
      key: adminKey,
      body: { rateLimitPerMinute: Math.ceil(perMinute(i)) },
    })
  // What servers remember of an organisation.
  await pause(1500)
}

const overload = async (name: string, running: Running, capacity: number): Promise<void> => {
  const { port, organisations } = running
  // Together they may ask for as much as the server can carry.
  await limitAll(running, () => (capacity * MINUTE_SECONDS) / ORGANISATIONS)
  const next = roundRobin(organisations)
  const load = (share: number, milliseconds: number) =>
    runOpenLoad({ port, connections: CONNECTIONS, rate: capacity * share, milliseconds, next })
  const usual = quantileMs((await load(SOAK_LOAD, SETTLE_MS)).filter(isGood), 0.99)
  const answers = await load(2, OVERLOAD_MS)
  const [good, refused] = [answers.filter(isGood), answers.filter(isRefusal)]
  const others = answers.length - good.length - refused.length
  note(
    `${name}: twice the load, refused with 429 or 503 and Retry-After`,
    percent(refused.length / answers.length),
    '',
    true,
  )
  note(
    `${name}: twice the load, answered`,
    `${((1000 * good.length) / OVERLOAD_MS).toFixed(0)}/s, p99 ${quantileMs(good, 0.99).toFixed(0)} ms`,
  )
  note(`${name}: twice the load, neither answered nor refused`, String(others), '= 0', others === 0)
  const began = performance.now()
  // Whoever has used up a limit would be refused until its window ends, however idle the server is.
  await limitAll(running, () => NO_LIMIT)
  const after = await load(SOAK_LOAD, 2 * RECOVERY_MS)
  const isSlow = (from: number): boolean => {
    const some = after.filter(
      ({ dueAt }) => dueAt - began >= from && dueAt - began < from + RECOVERY_WINDOW_MS,
    )
    return some.some((answer) => !isGood(answer)) || quantileMs(some, 0.99) > 2 * usual + 1
  }
  const windows = Array.from(
    { length: (2 * RECOVERY_MS) / RECOVERY_WINDOW_MS },
    (_, i) => i * RECOVERY_WINDOW_MS,
  )
  const lastSlow = windows.findLast(isSlow)
  const recovered = lastSlow === undefined ? 0 : lastSlow + RECOVERY_WINDOW_MS
  note(
    `${name}: after twice the load, until p99 is as before`,
    `${(recovered / 1000).toFixed(1)} s`,
    `≤ ${RECOVERY_MS / 1000} s`,
    recovered <= RECOVERY_MS,
  )
}

/**
 * The quiet ones alone, beside one that asks for what they leave, and beside one that asks for twice what the server can carry; in turns.
 * An idle server answers sooner than a busy one, whoever keeps it busy: the second comparison tells what the noise costs beyond that.
 * What they ask, and when, is drawn by chance, the same three times in a turn: were they to ask for their proofs together, one after the
 * other, times would come in steps of a whole proof, and p99 would tell which step it happened to fall on.
 */
const fairness = async (name: string, running: Running, capacity: number): Promise<void> => {
  const { port } = running
  const [other, ...quiet] = running.organisations as [Organisation, ...Organisation[]]
  // Nothing but the server's own sharing holds the noisy one back: a limit of a minute would refuse it after some seconds.
  await limitAll(running, () => NO_LIMIT)
  const ask = (load: number, connections: number, next: () => Buffer, random?: () => number) =>
    runOpenLoad({
      port,
      connections,
      opened: connections,
      rate: capacity * load,
      ...(random && { random }),
      milliseconds: FAIR_SLICE_MS,
      next,
    })
  const askQuietly = (turn: number) => {
    const random = seeded(turn)
    return ask(QUIET_LOAD, QUIET_CONNECTIONS, byChance(quiet, random), random)
  }
  const askLoudly = (load: number) => ask(load, NOISY_CONNECTIONS, mixOf(other.ofItsOwn))
  const answered: Record<'alone' | 'busy' | 'noisy', Answered[]> = { alone: [], busy: [], noisy: [] }
  const refused: number[] = []
  for (let turn = 0; turn < FAIR_TURNS; turn++) {
    answered.alone.push(...(await askQuietly(turn)))
    await pause(1000)
    const [besideBusy] = await Promise.all([askQuietly(turn), askLoudly(BUSY_LOAD)])
    answered.busy.push(...besideBusy)
    await pause(1000)
    const [besideNoisy, noise] = await Promise.all([askQuietly(turn), askLoudly(NOISY_LOAD)])
    answered.noisy.push(...besideNoisy)
    refused.push(noise.filter(isRefusal).length / noise.length)
    await pause(SETTLE_MS / 5)
  }
  const median = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  const noisyMs = quantileMs(answered.noisy, 0.99)
  for (const [peer, ms] of [
    ['on a server that is idle but for them', quantileMs(answered.alone, 0.99)],
    ['beside one that asks for what is free', quantileMs(answered.busy, 0.99)],
  ] as const) {
    const cost = noisyMs / ms
    rows.push({
      what: `${name}: p99 of quiet organisations beside a noisy one`,
      ours: `${noisyMs.toFixed(1)} ms`,
      peer: `${peer} (ratio: of times)`,
      theirs: `${ms.toFixed(1)} ms`,
      ratio: `${cost.toFixed(2)}×`,
      mustReach: `≤ ${MOST_NEIGHBOUR_COST}×`,
      ok: cost <= MOST_NEIGHBOUR_COST,
    })
  }
  note(`${name}: of what the noisy one asks, refused`, percent(median(refused)))
}

const measure = async (name: string, env: Readonly<Record<string, string>>): Promise<void> => {
  const running = await open(env)
  try {
    await pause(SETTLE_MS)
    const capacity = await capacityOf(running)
    note(`${name}: mixed traffic, as much as it can carry`, `${capacity.toFixed(0)}/s`)
    if (MINUTES > 0) await soak(name, running, capacity)
    await overload(name, running, capacity)
    await fairness(name, running, capacity)
  } finally {
    await running.server.end()
  }
}

const directory = await mkdtemp(join(tmpdir(), 'assay-soak-'))
try {
  await measure('embedded', { DATA_DIR: directory })
} finally {
  await rm(directory, { recursive: true })
}
const { DATABASE_URL, REDIS_URL } = process.env
const scratch = await createScratchDatabase(DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres')
try {
  await measure('PostgreSQL', { DATABASE_URL: scratch.url, ...(REDIS_URL && { REDIS_URL }) })
} finally {
  await scratch.drop()
}
report(rows)
