/**
 * PostgreSQL with a streaming standby. A commit is acknowledged once both have it on disk, so that a fail-over loses nothing that was
 * acknowledged.
 */
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import { type PostgresCluster, startPostgres } from '../support/servers/postgres.ts'

/** A standby looks again for its primary every 5 s unless told otherwise, and until it has found it no commit is acknowledged. */
const SETTINGS = ['wal_retrieve_retry_interval=100ms', 'max_connections=200']
const PATIENCE = { patienceMs: 60_000, pauseMs: 50 }

export interface DatabasePair {
  /** URL of the one that takes writes. */
  readonly url: string
  /** The one that takes writes, to be killed, restarted or stopped for a while. */
  readonly primary: PostgresCluster
  readonly standby: PostgresCluster
  /** Kills the primary and promotes the standby. Until `rejoin` there is one server. */
  failOver(): Promise<void>
  /** Makes a standby anew from the present primary, and has commits wait for it again. */
  rejoin(): Promise<void>
  /** Resolves once the standby has everything and commits wait for it. */
  inStep(): Promise<void>
  stop(): Promise<void>
}

const ask = async <R extends object>(url: string, ...texts: readonly string[]): Promise<R[]> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: R[] = []
    for (const text of texts) rows = (await client.query<R>(text)).rows
    return rows
  } finally {
    await client.end()
  }
}

export const startDatabasePair = async (): Promise<DatabasePair> => {
  let primary = await startPostgres(SETTINGS)
  let standby: PostgresCluster | undefined

  const isInStep = async (): Promise<boolean> => {
    const waits = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`
    return (await ask(primary.url, waits).catch(() => [])).length > 0
  }
  const rejoin = async (): Promise<void> => {
    standby = await startPostgres(SETTINGS, primary.url)
    // Only now: what was copied to the standby must not have it wait for one of its own when it is promoted.
    await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()')
    await eventually('a standby in step', isInStep, PATIENCE)
  }
  await rejoin()
  return {
    get url() {
      return primary.url
    },
    get primary() {
      return primary
    },
    get standby() {
      if (standby === undefined) throw new Error('There is no standby at the moment.')
      return standby
    },
    async failOver() {
      const [former, next] = [primary, standby]
      if (next === undefined) throw new Error('There is no standby to fail over to.')
      await former.kill()
      await ask(next.url, 'SELECT pg_promote(true, 30)')
      primary = next
      standby = undefined
      await former.stop()
    },
    rejoin,
    inStep: () => eventually('a standby in step', isInStep, PATIENCE),
    async stop() {
      await Promise.all([primary.stop(), standby?.stop()])
    },
  }
}
