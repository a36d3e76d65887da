/** What a run takes place in: servers as `npm start` starts them, what they need, and the ways between them, which can be broken. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { clientOf, isSuccess } from '../support/client.ts'
import { freePort, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { type SlowProxy, startSlowProxy } from '../support/servers/slow-proxy.ts'
import type { Model } from './model.ts'
import type { Receiver } from './receiver.ts'

/** Debian's package libfaketime. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
export const canSkewClocks = existsSync(FAKETIME)

const PROBE_MS = 200
const PROBE_TIMEOUT_MS = 1_000
const RESTART_PAUSE_MS = 200

/** A server, under one address and with one directory whatever process serves there. */
export interface Seat {
  readonly name: string
  readonly url: string
  /** Where it reaches what it needs; absent where it needs none. */
  readonly database?: SlowProxy
  readonly redis?: SlowProxy
  readonly pid: number | undefined
  /** Starts it, and again when it ends because something that it needs is away, until it is ready. @returns ms */
  start(): Promise<number>
  /** @returns the exit code, null after a signal that it does not handle */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** How many seconds its clock is ahead. */
  setClock(seconds: number): void
}

interface SeatOptions {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
  /** File of the server. */
  readonly program: string
  readonly database?: SlowProxy
  readonly redis?: SlowProxy
}

export const createSeat = async (options: SeatOptions): Promise<Seat> => {
  const { name, directory, program, database, redis } = options
  const clock = join(directory, 'clock')
  mkdirSync(directory, { recursive: true })
  writeFileSync(clock, '+0')
  const port = await freePort()
  const env = {
    // As `npm start` has them.
    MALLOC_ARENA_MAX: '2',
    MALLOC_TRIM_THRESHOLD_: '131072',
    ...(canSkewClocks && {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_CACHE_DURATION: '1',
      DONT_FAKE_MONOTONIC: '1',
    }),
    ...options.env,
    PORT: String(port),
  }
  let server: ServerProcess | undefined
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    ...(database && { database }),
    ...(redis && { redis }),
    get pid() {
      return server?.process.pid
    },
    async start() {
      const begunAt = performance.now()
      for (;;) {
        try {
          server = await startServerProcess(env, directory, ['--max-semi-space-size=32', program])
          return performance.now() - begunAt
        } catch (error) {
          // Whoever runs servers starts those again that ended since their database is away, or their disk full.
          const isAway = error instanceof Error && /DATABASE_URL names|ENOSPC/.test(error.message)
          if (!isAway) throw error
          await pause(RESTART_PAUSE_MS)
        }
      }
    },
    async end(signal) {
      const code = await server?.end(signal)
      server = undefined
      return code ?? null
    },
    setClock(seconds) {
      writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}`)
    },
  }
}

export interface World {
  readonly name: string
  readonly model: Model
  readonly adminKey: string
  readonly seats: readonly Seat[]
  readonly receiver: Receiver
  /** Where clients reach the service: whichever server is ready. */
  readonly entrance: SlowProxy
  /** Ends the servers, and everything that they need. */
  close(): Promise<void>
}

type Closers = (() => Promise<void>)[]

/**
 * Makes a world of parts that must be closed, the last one first: when it is closed, or when a part can't be made.
 * @param make pushes what closes each part as soon as it is there
 */
export const closedOnFailure = async <W extends World>(
  make: (closers: Closers) => Promise<Omit<W, 'close'>>,
): Promise<W> => {
  const closers: Closers = []
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0).reverse()) await one()
  }
  try {
    return { ...(await make(closers)), close } as W
  } catch (error) {
    await close()
    throw error
  }
}

/** Settings of every server of a world. */
export const commonSettings = (receiver: Receiver, directory: string, adminKey: string) => {
  const authority = join(directory, 'ca.pem')
  writeFileSync(authority, receiver.ca)
  return {
    ADMIN_API_KEY: adminKey,
    MASTER_KEY: randomBytes(32).toString('hex'),
    RATE_LIMIT_PER_MINUTE: '1000000',
    // Each request comes from an address of its own, so that limits of one don't add up.
    TRUST_PROXY: '127.0.0.1/32',
    CHAT_LIMITS: JSON.stringify({
      postsPerMinute: 100_000,
      postsPerHour: 1_000_000,
      readsPerMinute: 1_000_000,
    }),
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    EGRESS_OPEN_PROXY: 'on',
    EGRESS_CA_FILE: authority,
    WEBHOOK_PAUSES_MS: '200,1000',
    PROVER_THREADS: '1',
  }
}

export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'assay-chaos-'))
export const removeDirectory = (directory: string): void =>
  rmSync(directory, { recursive: true, force: true })

const isReady = async (url: string): Promise<boolean> =>
  clientOf(url, () => ({ connection: 'close' }))
    .request('GET', '/health/ready')
    .then(isSuccess, () => false)

const within = (ms: number, work: Promise<boolean>): Promise<boolean> =>
  Promise.race([work, pause(ms, false, { ref: false })])

/** A balancer that asks each server whether it is ready, and gives connections to those in turn. */
export const startBalancer = async (
  seats: readonly Pick<Seat, 'url'>[],
): Promise<SlowProxy & { stop(): Promise<void> }> => {
  const ready = new Set(seats)
  let turn = 0
  let isStopped = false
  const probe = async (seat: Pick<Seat, 'url'>): Promise<void> => {
    while (!isStopped) {
      if (await within(PROBE_TIMEOUT_MS, isReady(seat.url))) ready.add(seat)
      else ready.delete(seat)
      await pause(PROBE_MS)
    }
  }
  const probing = Promise.all(seats.map(probe))
  const proxy = await startSlowProxy(() => {
    const open = [...ready]
    return open[turn++ % open.length]?.url
  }, 0)
  return Object.assign(proxy, {
    async stop() {
      isStopped = true
      await probing
      await proxy.close()
    },
  })
}
