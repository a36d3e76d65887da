/** A PostgreSQL database as SQL, and back again through the driver alone. @module */
import { execFileSync } from 'node:child_process'
import pg from 'pg'

const MAX_DUMP_BYTES = 2 ** 28
const ROWS_PER_INSERT = 100

/** Lines that are for psql, or that servers of other versions don't know. */
const FOR_PSQL_ONLY = /^(\\.*|SET transaction_timeout = .*)\n/gm

/** Needs the program pg_dump. @returns SQL that makes the schema and all rows in an empty database */
export const dump = (databaseUrl: string): string => {
  const options = ['--no-owner', '--no-privileges', '--no-comments', `--rows-per-insert=${ROWS_PER_INSERT}`]
  const sql = execFileSync('pg_dump', [...options, databaseUrl], {
    encoding: 'utf8',
    maxBuffer: MAX_DUMP_BYTES,
  })
  return sql.replaceAll(FOR_PSQL_ONLY, '')
}

/** Runs a dump on an empty database. */
export const restore = async (databaseUrl: string, sql: string): Promise<void> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
