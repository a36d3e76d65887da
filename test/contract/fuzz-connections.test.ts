/**
 * Connections under fuzzing: whatever bytes come, the built server answers what its errors say, or ends the connection; it never hangs, never
 * fails, never gives others no turn for long, and holds on to nothing. The suite sends a few hundred; FUZZ_REQUESTS says how many,
 * FUZZ_SEED repeats a run.
 */
import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import { ERRORS } from '../../src/errors.ts'
import type { Route } from '../../src/http/route.ts'
import { routes } from '../../src/server/routes.ts'
import { clientOf } from '../support/client.ts'
import { fill } from '../support/fixtures.ts'
import { createRandom, type Random } from '../support/fuzz/random.ts'
import { type Exchanged, exchange, type RawAnswer } from '../support/fuzz/raw-connection.ts'
import { type Aim, type Exchange, exchangeOf } from '../support/fuzz/raw-requests.ts'
import type { WatchedSecond } from '../support/programs/watch-process.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { startWatchedServer, type WatchedServer } from '../support/servers/watched-process.ts'

const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 300)
const CONNECTIONS = 8
/** For which nothing comes back, on a busy machine too. */
const DEADLINE_MS = 15_000
const MAX_STALL_MS = 100
const MAX_GROWTH_MB = 32
/** Of so many requests memory is measured. */
const MIN_MEASURED = 20_000
const TOLD_FAILURES = 10
const SHOWN_CHARACTERS = 400
const ADMIN_KEY = 'admin-key-of-the-connections-0123456789'
/** Passes and providers, which say nothing against who asked. */
const NOT_CONFIGURED = 501
const UNKNOWN_ID = 'xyz_00000000000000000000000000'

const streams = ({ produces = '' }: Route): boolean => String(produces).includes('event-stream')
const ASKED = routes.filter((route) => !streams(route))

/** What a request is for: a route's example, mostly about things that there are none of. */
const aimAt = (random: Random): Aim => {
  const route = random.pick(ASKED)
  const { url, body } = fill(route, {})
  return {
    method: route.method,
    target: url.replaceAll(/\{\w+\}|%7B\w+%7D/g, UNKNOWN_ID),
    headers: random.oneIn(3) ? {} : { 'X-API-Key': ADMIN_KEY },
    body: body === undefined ? undefined : JSON.stringify(body),
  }
}

const CODES: ReadonlyMap<string, number> = new Map(
  Object.entries(ERRORS).map(([code, [status]]) => [code, status]),
)
/** Said below the application, which has one code for them. */
const BELOW: readonly number[] = [408, 431]
/** Overload is an answer that says when to come back; a fault of the service is none. */
const isFault = ({ status, headers }: RawAnswer): boolean =>
  status >= 500 && status !== NOT_CONFIGURED && !(status === 503 && headers['retry-after'] !== undefined)

/** @returns what no answer may be */
const faultOf = (answer: RawAnswer): string | undefined => {
  const { status, headers, body } = answer
  if (isFault(answer)) return `${status} ${body.toString('utf8', 0, 100)}`
  if (status < 400 || body.length === 0) return undefined
  if (!headers['content-type']?.startsWith('application/json')) return undefined
  const { error } = JSON.parse(body.toString()) as { error?: unknown }
  // Of JSON-RPC, which has codes of its own.
  if (typeof error === 'object') return undefined
  const isKnown =
    CODES.get(String(error)) === status || (error === 'invalid_request' && BELOW.includes(status))
  return isKnown ? undefined : `${status} with the code ${error}`
}

const faultsOf = ({ isWhole, methods }: Exchange, { answers, rest, isLate }: Exchanged): string[] => {
  const final = answers.filter(({ status }) => status >= 200)
  const isEnded = final.at(-1)?.headers.connection === 'close'
  return [
    ...answers.flatMap((answer) => faultOf(answer) ?? []),
    ...(isLate ? ['neither answered nor ended'] : []),
    ...(rest.length > 0 && isWhole && !isLate
      ? [`an answer that is cut off: ${rest.toString('latin1', 0, 60)}`]
      : []),
    ...(isWhole && final.length < methods.length && !isEnded
      ? [`${final.length} answers to ${methods.length} requests`]
      : []),
  ]
}

onEmbedded.describe('connections under fuzzing', function () {
  this.timeout(0)
  let server: WatchedServer
  let dns: DnsServer
  before(async () => {
    // It knows no name, so no host but this machine is ever called.
    dns = await startDnsServer()
    server = await startWatchedServer({
      DATA_DIR: 'memory',
      RATE_LIMITS: 'off',
      ADMIN_API_KEY: ADMIN_KEY,
      DNS_SERVERS: dns.address,
    })
  })
  after(async () => {
    await server?.end()
    await dns.close()
  })

  it(`is answered or ended, whatever it sends: ${REQUESTS} exchanges, FUZZ_SEED=${SEED}`, async () => {
    const failures = new Map<string, string>()
    const statuses = new Map<number, number>()
    let next = 0
    const work = async (until: number): Promise<void> => {
      while (next < until) {
        const random = createRandom(SEED + next++)
        const aim = aimAt(random)
        const asked = exchangeOf(aim, random)
        const found = await exchange(server.url, asked, DEADLINE_MS).then(
          (exchanged) => {
            for (const { status } of exchanged.answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
            return faultsOf(asked, exchanged)
          },
          (error: Error) => [error.message],
        )
        for (const fault of found) {
          const title = `${aim.method} ${aim.target.split('?')[0]}, ${asked.what}: ${fault}`
          if (!failures.has(title))
            failures.set(
              title,
              asked.writes
                .map((write) => write.toString('latin1'))
                .join('')
                .slice(0, SHOWN_CHARACTERS),
            )
        }
      }
    }
    const send = (until: number) => Promise.all(Array.from({ length: CONNECTIONS }, () => work(until)))
    const isMeasured = REQUESTS >= MIN_MEASURED
    await send(isMeasured ? Math.floor(REQUESTS / 10) : REQUESTS)
    const before = isMeasured ? await server.heldBytes() : 0
    // What is compiled and filled once is not what a request does.
    const warm = Date.now()
    await send(REQUESTS)
    const seconds: readonly WatchedSecond[] = server.seconds(isMeasured ? warm : 0)
    const stall = Math.max(0, ...seconds.map(({ processorMs }) => processorMs))
    const pause = Math.max(0, ...seconds.map(({ clockMs }) => clockMs))
    const growth = (isMeasured ? await server.heldBytes() : 0) - before

    const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
    console.log(
      `    ${REQUESTS} exchanges: ${counted.join(', ')}; longest stretch ${stall.toFixed(1)} ms (${pause.toFixed(0)} ms by the clock), ${(growth / 1e6).toFixed(1)} MB stayed`,
    )
    const told = [...failures]
      .slice(0, TOLD_FAILURES)
      .map(([title, text]) => `${title}\n    ${JSON.stringify(text)}`)
    expect(failures.size, `${failures.size} with FUZZ_SEED=${SEED}\n${told.join('\n')}`).to.equal(0)
    if (isMeasured) expect(stall).to.be.below(MAX_STALL_MS)
    expect(growth / 1e6).to.be.below(MAX_GROWTH_MB)
    const alive = await clientOf(server.url).request('GET', '/health/ready')
    expect(alive.status).to.equal(200)
  })
})
