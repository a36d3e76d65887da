/** `assay doctor`: looks at everything that a server needs, changes nothing, and says of what is wrong what to do. @module */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, loadConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { MEMORY_DATA_DIR } from '../../config/secrets.ts'
import { opensKeys } from '../../keys/data-keys.ts'
import { createSealing } from '../../keys/sealing.ts'
import { expectOpens, type signingKeys } from '../../keys/signers.ts'
import { isAtHome, readHome } from '../../ledger/checkpoints/home.ts'
import { type Database, openDatabase } from '../../store/database.ts'
import { DirectoryLocked } from '../../store/directory-lock.ts'
import { isComplete } from '../../store/embedded/pglite.ts'
import { missingMigrations, SCHEMA_VERSION } from '../../store/migrate.ts'
import { openRedis } from '../../store/redis.ts'
import type { RowOf } from '../../store/table.ts'
import { DISK_RESERVE_BYTES } from '../../store/watch/disk.ts'
import { type Examined, error, ok, type Run, type State, warning } from './examination.ts'
import { examineLogs } from './logs.ts'
import { examineSessions } from './sessions.ts'

interface Finding {
  readonly what: string
  readonly state: State
  readonly text: string
}

interface Flags {
  readonly full?: true
  readonly json?: true
}

const LOW_DISK_BYTES = 2 ** 30
const MAX_SKEW_MS = 2000
const SLOW_MS = 250
const WAIT_MS = 3000
const MIB = 2 ** 20

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

const examineDisk = async ({ dataDir }: Config) => {
  if (dataDir === MEMORY_DATA_DIR) return ok('DATA_DIR is memory: nothing is kept on disk')
  const found = await statfs(dataDir).catch(() => undefined)
  if (found === undefined) return warning(`${dataDir} does not exist yet; a first start makes it`)
  const free = found.bavail * found.bsize
  const text = `${Math.floor(free / MIB)} MiB are free for ${dataDir}`
  if (free < DISK_RESERVE_BYTES)
    return error(`${text}: nothing is written below ${DISK_RESERVE_BYTES / MIB} MiB; make room`)
  return free < LOW_DISK_BYTES ? warning(`${text}: make room before it is full`) : ok(text)
}

const examineSchema = async (database: Database) => {
  const missing = await missingMigrations(database)
  if (missing.length === 0) return ok(`up to date (${SCHEMA_VERSION})`)
  return warning(
    `lacks ${missing.join(', ')}: \`npx assay migrate\`, or a start without MIGRATE=off, brings it up to date`,
  )
}

const examineKey = async (database: Database, { masterKey }: Config) => {
  if (await opensKeys(database, masterKey)) return ok('MASTER_KEY opens the keys of the database')
  const [{ count = 0 } = {}] = (
    await database.query<{ count: number }>('SELECT count(*) AS count FROM data_keys', [])
  ).rows
  if (count > 0)
    return error(
      'MASTER_KEY does not open the keys of the database: set the right one; a rotation that was cut short is finished by running it again',
    )
  const sealed = await database.knex<RowOf<typeof signingKeys>>('signing_keys').first('kid', 'sealed_private')
  if (sealed === undefined) return ok('nothing is sealed yet')
  try {
    expectOpens(createSealing(masterKey), sealed)
    return ok('MASTER_KEY opens what is sealed')
  } catch {
    return error('MASTER_KEY does not open what is sealed: set the key of this database')
  }
}

const examineHome = async (database: Database) => {
  const home = await readHome(database)
  if (home === undefined) return ok('no server has started on this database yet')
  if (await isAtHome(database, home.generation)) return ok('the database is where it was first started')
  return error(
    'the database was restored from a copy, or moved: no server starts until `npx assay restore --checkpoint FILE` or `--new-log`',
  )
}

const examineClock = async (database: Database) => {
  const asked = Date.now()
  const { rows } = await database.query<{ now: number; last: number | null }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, (SELECT max(at) FROM
       (SELECT newest.at FROM ledger_head AS h CROSS JOIN LATERAL (SELECT at FROM ledger_entries AS e WHERE e.log = h.log
         ORDER BY idx DESC LIMIT 1) AS newest) AS each) AS last`,
    [],
  )
  const middle = (asked + Date.now()) / 2
  const { now = middle, last = null } = rows[0] ?? {}
  const [behind, ahead] = [Math.round(now - middle), Math.round((last ?? 0) - middle)]
  if (Math.abs(behind) > MAX_SKEW_MS)
    return warning(
      `this machine's clock and the database's are ${Math.abs(behind)} ms apart: synchronise them`,
    )
  if (ahead > MAX_SKEW_MS)
    return warning(
      `the newest entry of the log is ${ahead} ms in the future: synchronise the clocks of all servers`,
    )
  return ok(`within ${Math.max(1, Math.abs(behind))} ms of the database`)
}

const examineRedis = async (redisUrl: string) => {
  const complaints: string[] = []
  const logger = {
    info: () => undefined,
    warn: (_: object, message: string) => void complaints.push(message),
  }
  const redis = await openRedis(redisUrl, logger)
  try {
    const startedAt = performance.now()
    for (;;) {
      const asked = performance.now()
      const answered = await redis.ping().then(
        () => true,
        () => false,
      )
      const ms = Math.round(performance.now() - asked)
      if (answered && redis.client.status === 'ready')
        return ms > SLOW_MS
          ? warning(`answers in ${ms} ms, which is too slow to be used`)
          : ok(`answers in ${ms} ms`)
      if (performance.now() - startedAt > WAIT_MS)
        return warning(
          'does not answer: servers work without it, slower, and limits are counted by each of them',
        )
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
    }
  } finally {
    await redis.close()
  }
}

/** What can be said of a database that its server holds. */
const examineHeld = async ({ baseUrl }: Config, locked: DirectoryLocked) => {
  const answer = await fetch(new URL('/health/ready', baseUrl), {
    signal: AbortSignal.timeout(WAIT_MS),
  }).catch(() => undefined)
  const said = answer && `; ${baseUrl}/health/ready answers ${answer.status} ${await answer.text()}`
  return warning(
    `process ${locked.pid} uses it, and it can't be read beside that${said ?? ''}. Stop the server to examine schema, key and log`,
  )
}

const hasTables = async ({ knex }: Database, ...tables: string[]): Promise<boolean> => {
  const { rows } = await knex.raw<{ rows: { has: boolean }[] }>(
    'SELECT bool_and(to_regclass(name) IS NOT NULL) AS has FROM unnest(?::text[]) AS names (name)',
    [tables],
  )
  return rows[0]?.has === true
}

/** What is only looked at under the schema of this program. */
const UNDER_THIS_SCHEMA = ['logs', 'tree', 'entries', 'checkpoint', 'heads', 'clock']

const examineDatabase = async (
  database: Database,
  config: Config,
  isFull: boolean,
  run: Run,
): Promise<void> => {
  if (database.kind === 'postgres') await run('sessions', () => examineSessions(database))
  await run('schema', () => examineSchema(database))
  /** Undefined for a schema that this program can't bring up to date. */
  const missing = await missingMigrations(database).catch(() => undefined)
  const unexamined =
    missing === undefined
      ? warning('not examined: the schema is of another version')
      : warning('not examined before `npx assay migrate`')
  const runWith = (tables: readonly string[], what: string, examine: () => Promise<Examined>) =>
    run(what, async () => ((await hasTables(database, ...tables)) ? examine() : unexamined))
  // A key or a home that is wrong is wrong before the schema is brought up to date as well.
  await runWith(['data_keys', 'signing_keys'], 'key', () => examineKey(database, config))
  await runWith(['ledger_home'], 'home', () => examineHome(database))
  if (missing?.length !== 0) {
    for (const what of UNDER_THIS_SCHEMA) await run(what, async () => unexamined)
    return
  }
  await examineLogs(database, config, isFull, run)
  await run('clock', () => examineClock(database))
}

const examineAll = async (isFull: boolean, run: Run): Promise<void> => {
  let config: Config | undefined
  await run('settings', async () => {
    try {
      config = loadConfig(process.env, { makesKey: false })
      return ok('all variables keep their rules')
    } catch (thrown) {
      if (thrown instanceof ConfigError) return error(thrown.message)
      throw thrown
    }
  })
  if (config === undefined) return
  const { databaseUrl, dataDir, redisUrl } = config
  const settings = config
  await run('disk', () => examineDisk(settings))
  let database: Database | undefined
  await run('database', async () => {
    if (databaseUrl === undefined && dataDir !== MEMORY_DATA_DIR && !existsSync(join(dataDir, 'database')))
      return warning(`${dataDir} holds none yet; a first start makes it`)
    if (databaseUrl === undefined && dataDir !== MEMORY_DATA_DIR && !isComplete(join(dataDir, 'database')))
      return error(
        `${dataDir}/database is incomplete: of a first start that was cut short, or a copy that lacks files. A start would set it aside and begin with an empty one`,
      )
    const startedAt = performance.now()
    try {
      database = await openDatabase({ databaseUrl, dataDir, migrate: 'any' })
    } catch (thrown) {
      if (thrown instanceof DirectoryLocked) return examineHeld(settings, thrown)
      // Among them: too old, another encoding, a pooler without time-outs.
      return error(messageOf(thrown))
    }
    const ms = Math.round(performance.now() - startedAt)
    return ok(
      `${database.kind === 'postgres' ? 'PostgreSQL, with the time-outs that servers need' : 'embedded'}; opened in ${ms} ms`,
    )
  })
  try {
    if (database !== undefined) await examineDatabase(database, settings, isFull, run)
  } finally {
    await (database as Database | undefined)?.close()
  }
  if (redisUrl !== undefined) await run('redis', () => examineRedis(redisUrl))
}

/** Exit status 1 where there is an error. */
export const examineService = async ({ full, json }: Flags): Promise<void> => {
  const findings: Finding[] = []
  const run: Run = async (what, examine) => {
    const [state, text] = await examine().catch((thrown: unknown) => error(messageOf(thrown)))
    findings.push({ what, state, text })
    if (!json) console.log(`${state.padEnd(7)}  ${what}: ${text}`)
  }
  await examineAll(full === true, run)
  if (json) console.log(JSON.stringify(findings, null, 2))
  if (findings.some(({ state }) => state === 'error')) process.exitCode = 1
}
