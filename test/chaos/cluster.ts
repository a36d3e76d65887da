/** Three servers on one PostgreSQL with a standby, and one Redis, behind a balancer; and what can happen to them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '../support/servers/server-process.ts'
import { startSlowProxy } from '../support/servers/slow-proxy.ts'
import { type DatabasePair, startDatabasePair } from './database-pair.ts'
import type { Model } from './model.ts'
import { startReceiver } from './receiver.ts'
import {
  closedOnFailure,
  commonSettings,
  createSeat,
  newDirectory,
  removeDirectory,
  type Seat,
  startBalancer,
  type World,
} from './world.ts'

const SERVERS = 3

export interface OwnRedis {
  readonly url: string
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** SIGKILL: everything that it held is gone. */
  kill(): Promise<void>
}

export interface Cluster extends World {
  readonly databases: DatabasePair
  readonly redis: OwnRedis
}

const createRedis = async (directory: string): Promise<OwnRedis> => {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory]
  let child: ChildProcess | undefined
  return {
    url: `redis://127.0.0.1:${port}`,
    async start() {
      child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
      for await (const chunk of child.stdout ?? []) if (String(chunk).includes('Ready to accept')) break
      child.stdout?.resume()
    },
    signal: (signal) => void child?.kill(signal),
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** The three servers, each with ways of its own to what they share. */
const createSeats = async (
  settings: Readonly<Record<string, string>>,
  directory: string,
  program: string,
  { databases, redis }: Pick<Cluster, 'databases' | 'redis'>,
): Promise<Seat[]> =>
  Promise.all(
    Array.from({ length: SERVERS }, async (_, index) => {
      const own = join(directory, `server-${index + 1}`)
      const database = await startSlowProxy(() => databases.url, 0)
      const link = await startSlowProxy(redis.url, 0)
      return createSeat({
        name: `server ${index + 1}`,
        program,
        directory: own,
        env: {
          ...settings,
          DATA_DIR: join(own, 'data'),
          DATABASE_URL: `postgres://postgres@127.0.0.1:${database.port}/postgres`,
          REDIS_URL: `redis://127.0.0.1:${link.port}`,
          BASE_URL: 'http://assay.example',
        },
        database,
        redis: link,
      })
    }),
  )

/** @param program file of the server */
export const startCluster = (model: Model, program: string): Promise<Cluster> =>
  closedOnFailure(async (closers) => {
    const directory = newDirectory()
    closers.push(async () => removeDirectory(directory))
    const adminKey = `admin-${randomBytes(16).toString('hex')}`
    const receiver = await startReceiver(model)
    closers.push(() => receiver.close())
    const databases = await startDatabasePair()
    closers.push(() => databases.stop())
    const redis = await createRedis(directory)
    await redis.start()
    closers.push(() => redis.kill())
    const settings = commonSettings(receiver, directory, adminKey)
    const seats = await createSeats(settings, directory, program, { databases, redis })
    closers.push(async () => {
      for (const { database, redis: link } of seats) await Promise.all([database?.close(), link?.close()])
    })
    for (const seat of seats) {
      await seat.start()
      closers.push(async () => void (await seat.end('SIGKILL')))
    }
    const entrance = await startBalancer(seats)
    closers.push(() => entrance.stop())
    const name = 'three servers on PostgreSQL and Redis'
    return { name, model, adminKey, seats, receiver, entrance, databases, redis }
  })
