/** On what, and of which state of the code, something was measured. @module */
import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem, type } from 'node:os'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Machine } from './results.ts'

const CONNECT_TIMEOUT_MS = 2000

const postgresVersion = async (): Promise<string | null> => {
  const client = new pg.Client({
    connectionString: process.env.DATABASE_URL || 'postgres://postgres@127.0.0.1:5432/postgres',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  try {
    await client.connect()
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return rows[0]?.server_version ?? null
  } catch {
    return null
  } finally {
    await client.end().catch(() => undefined)
  }
}

const redisVersion = async (): Promise<string | null> => {
  const redis = new Redis(process.env.REDIS_URL || 'redis://127.0.0.1:6379', {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: CONNECT_TIMEOUT_MS,
  })
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    return /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? null
  } catch {
    return null
  } finally {
    redis.disconnect()
  }
}

export const describeMachine = async (): Promise<Machine> => {
  const [postgres, redis] = await Promise.all([postgresVersion(), redisVersion()])
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    postgres,
    redis,
  }
}

/** The commit that is checked out in a folder, with `+` behind it where files differ from it. */
export const currentCommit = (folder = process.cwd()): string => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  return `${git('rev-parse', '--short=12', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`
}
