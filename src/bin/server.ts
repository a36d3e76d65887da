/** `npm start`: runs the server until it is told to stop. Exit codes: 0 stopped in order, 1 could not start or stop. @module */
import { Session } from 'node:inspector/promises'
import { resolve } from 'node:path'
import { type Config, loadConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { MEMORY_DATA_DIR } from '../config/secrets.ts'
import { type RunningServer, startServer } from '../server/server.ts'
import { ADMIN_KEY_FILE } from '../services/foundations.ts'
import { isUnavailable, sqlState } from '../store/session.ts'

/** Longer than the server itself takes at most; beyond it the process ends by force. */
const STOP_TIMEOUT_MS = 10_000
/** Clients that keep connections may ask again at any moment; after this time without a question one is ended. */
const STOP_QUIET_MS = 1000

/** SQLSTATE of a database that does not exist, and class 28: wrong role or password. */
const UNKNOWN_DATABASE = '3D000'
const AUTHENTICATION_STATES = /^28/

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const whereDataLives = ({ databaseUrl, dataDir }: Config): string => {
  if (databaseUrl !== undefined) {
    const { host, pathname } = new URL(databaseUrl)
    return `PostgreSQL at ${host}${pathname}`
  }
  return dataDir === MEMORY_DATA_DIR ? 'in memory, gone when the server stops' : resolve(dataDir)
}

/** The lines about an admin key that was made: shown to somebody who sits there, since logs keep what they get. */
const adminKeyLines = ({ dataDir }: Config, baseUrl: string, key: string): readonly string[] => {
  const file = dataDir === MEMORY_DATA_DIR ? undefined : resolve(dataDir, ADMIN_KEY_FILE)
  const tryWith = (text: string): string =>
    `Try it: curl -H "Authorization: Bearer ${text}" ${baseUrl}/console/api/me`
  if (process.stdout.isTTY) {
    const kept = file === undefined ? 'nowhere else' : `in ${file}`
    return [`Admin key (shown this once, kept ${kept}): ${key}`, tryWith(key)]
  }
  if (file !== undefined) return [`Admin key: kept in ${file}`, tryWith(`$(cat '${file}')`)]
  return [
    'Admin key: not shown, since this is no terminal, and kept nowhere; set ADMIN_API_KEY to have one',
    `Try it: curl ${baseUrl}/health`,
  ]
}

const greet = (config: Config, { baseUrl, services: { generatedAdminKey } }: RunningServer): void => {
  say(`Assay is listening on ${baseUrl}`)
  say(`Data: ${whereDataLives(config)}`)
  if (generatedAdminKey === undefined) say(`Try it: curl ${baseUrl}/health`)
  else for (const line of adminKeyLines(config, baseUrl, generatedAdminKey)) say(line)
}

/** Why it could not listen; undefined when it is something else. */
const explainAddress = (error: NodeJS.ErrnoException, { host, port }: Config): string | undefined => {
  const { code, syscall } = error
  const unknownHost = code === 'ENOTFOUND' && 'hostname' in error && error.hostname === host
  if (syscall !== 'listen' && !unknownHost) return undefined
  if (code === 'EADDRINUSE')
    return `PORT ${port} on ${host} is in use by another program; choose another PORT.`
  if (code === 'EACCES') return `PORT ${port} may not be used by this user; choose one above 1023.`
  return unknownHost || code === 'EADDRNOTAVAIL' ? `HOST ${host} is no address of this machine.` : undefined
}

/** What PostgreSQL or the way to it refused; undefined when it is something else. */
const explainDatabase = (error: Error, { databaseUrl }: Config): string | undefined => {
  if (databaseUrl === undefined) return undefined
  const state = sqlState(error) ?? ''
  const refused = state === UNKNOWN_DATABASE || AUTHENTICATION_STATES.test(state)
  if (!refused && !isUnavailable(error)) return undefined
  return `DATABASE_URL names ${new URL(databaseUrl).host}, which can't be used: ${error.message}`
}

/** What went wrong, in one line where we know what it means. */
const explain = (error: unknown, config: Config | undefined): string => {
  if (error instanceof ConfigError) return error.message
  if (!(error instanceof Error)) return String(error)
  const known = [
    'SealingError',
    'DirectoryLocked',
    'ArtifactError',
    'SchemaMismatch',
    'RestoredDatabase',
    'TooFewLogs',
    'LogsMissing',
  ].includes(error.name)
  if (known) return error.message
  if (config === undefined) return error.stack ?? error.message
  return explainAddress(error, config) ?? explainDatabase(error, config) ?? error.stack ?? error.message
}

/** Stops in order at the first signal; one that comes while the server starts takes effect once it has started. */
const stopOnSignal = (starting: Promise<RunningServer>): void => {
  let stopping = false
  const stop = (signal: NodeJS.Signals): void => {
    // npm forwards what a terminal or a supervisor sends to the whole group, so a second signal is nobody's hurry.
    if (stopping) return
    stopping = true
    say(`${signal}: finishing open requests`)
    starting
      .then((server) => {
        setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
        return server.close(STOP_QUIET_MS)
      })
      .then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`${explain(error, undefined)}\n`)
          process.exit(1)
        },
      )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

/** In the background, so that the first proofs needn't wait for their threads. */
const warmThreads = async ({ services: { workerPool } }: RunningServer): Promise<void> => {
  try {
    await workerPool.warm()
  } catch (error) {
    process.stderr.write(`The threads for proofs could not start: ${explain(error, undefined)}\n`)
  }
}

/** Gives back what starting used, a fifth of what is resident, which an idle engine would keep. Takes 0.2 s, in which nobody is answered: it is done before anybody is. */
const collectGarbage = async (): Promise<void> => {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
}

const main = async (): Promise<void> => {
  let config: Config | undefined
  try {
    config = loadConfig()
    const starting = startServer(config, { beforeReady: collectGarbage })
    // Before it listens, since whoever gets an answer may send a signal.
    stopOnSignal(starting)
    const server = await starting
    greet(config, server)
    await warmThreads(server)
  } catch (error) {
    process.stderr.write(`Assay could not start. ${explain(error, config)}\n`)
    process.exit(1)
  }
}

await main()
