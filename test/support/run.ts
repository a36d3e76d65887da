/** One run of the tests, which may be several processes: what its files share, and what is tidied up behind them. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

const { MOCHA_WORKER_ID, DATABASE_URL, NODE_V8_COVERAGE } = process.env
const isWorker = MOCHA_WORKER_ID !== undefined

/** How the names of this run's scratch databases begin, in all of its processes. */
export const SCRATCH_DATABASES = `assay_test_${isWorker ? process.ppid : process.pid}_`

// Mocha asks its workers to end and sends SIGTERM a second later. Writing down what was covered may take longer, and
// what a signal cut off would count as not covered. A worker whose parent is gone ends by itself.
if (isWorker) process.on('SIGTERM', () => undefined)

/**
 * Closes what the files of a process share. A worker of a parallel run is never told that no file follows: its end
 * closes everything, and {@link mochaGlobalTeardown} drops its databases.
 */
export const atEndOfRun = (close: () => Promise<void>): void => {
  // Not every program that uses the support runs under mocha; then nobody shares anything either.
  if (typeof after === 'function' && !isWorker) after(close)
}

/** What a process that was killed while it wrote its coverage has left is no JSON, and would spoil the report. */
const removeTornCoverage = (directory: string): void => {
  for (const name of readdirSync(directory)) {
    const file = join(directory, name)
    try {
      JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      rmSync(file)
    }
  }
}

const dropScratchDatabases = async (): Promise<void> => {
  if (!DATABASE_URL) return
  const client = new pg.Client({ connectionString: DATABASE_URL })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [SCRATCH_DATABASES],
    )
    for (const { datname } of rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`)
  } finally {
    await client.end()
  }
}

/** Called by mocha before any test. Of a run that was killed, databases may be left under the process id that is this run's now. */
export const mochaGlobalSetup = dropScratchDatabases

/** Called by mocha when every process of the run has ended. */
export const mochaGlobalTeardown = async (): Promise<void> => {
  if (NODE_V8_COVERAGE) removeTornCoverage(NODE_V8_COVERAGE)
  await dropScratchDatabases()
}
