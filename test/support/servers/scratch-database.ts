/**
 * Databases of their own on a PostgreSQL server: empty, or with the present schema, which is a copy of one that was
 * brought to it once in a run.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { openDatabase } from '../../../src/store/database.ts'
import { SCRATCH_DATABASES } from '../run.ts'

const CHECKPOINT_TRIES = 60
const CHECKPOINT_PAUSE_MS = 1000

export interface ScratchDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A connection for as long as the work takes. */
const administer = async <T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A test fills a disk of this PostgreSQL for some seconds, in which nobody gets the checkpoint that these statements may need. */
const persist = async (client: pg.Client, sql: string): Promise<void> => {
  for (let tries = 1; ; tries++) {
    try {
      return void (await client.query(sql))
    } catch (error) {
      const isNotYet = error instanceof Error && error.message === 'checkpoint request failed'
      if (!isNotYet || tries === CHECKPOINT_TRIES) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, CHECKPOINT_PAUSE_MS))
  }
}

/** An empty one on the server of `databaseUrl`, or a copy of one to which nobody is connected. */
export const createScratchDatabase = async (
  databaseUrl: string,
  template = 'template0',
): Promise<ScratchDatabase> => {
  const name = `${SCRATCH_DATABASES}${randomBytes(6).toString('hex')}`
  await administer(databaseUrl, (client) =>
    persist(client, `CREATE DATABASE ${name} TEMPLATE ${template} ENCODING 'UTF8'`),
  )
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () =>
      administer(databaseUrl, (client) => persist(client, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  }
}

const makeTemplate = (databaseUrl: string): Promise<string> =>
  administer(databaseUrl, async (client) => {
    const name = `${SCRATCH_DATABASES}template`
    // Another process of this run may be making it. The lock ends with the connection.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 0) {
      const { url } = await createScratchDatabase(databaseUrl)
      await (await openDatabase({ databaseUrl: url, dataDir: 'memory' })).close()
      await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} RENAME TO ${name}`)
    }
    return name
  })

let template: Promise<string> | undefined

/** One with the present schema on the server of DATABASE_URL, which is `databaseUrl`. */
export const createMigratedDatabase = async (databaseUrl: string): Promise<ScratchDatabase> => {
  template ??= makeTemplate(databaseUrl)
  return createScratchDatabase(databaseUrl, await template)
}
