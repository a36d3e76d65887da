/** A database of its own for a measurement that needs PostgreSQL. @module */
import pg from 'pg'

/** Uses a new, empty database at `DATABASE_URL` (the local server without it), which is dropped afterwards. @param use gets its URL */
export const withScratchDatabase = async <R>(
  bench: string,
  use: (databaseUrl: string) => Promise<R>,
): Promise<R> => {
  const base = new URL(process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres')
  const name = `bench_${bench}_${process.pid}`
  const admin = new pg.Client({ connectionString: base.href })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  try {
    const own = new URL(base)
    own.pathname = `/${name}`
    return await use(own.href)
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.end()
  }
}

/**
 * Measures in a database of its own. The exit code is 1 when a goal was missed.
 * @param measure gets the URL of the database, and says whether all goals were met
 */
export const measureInScratchDatabase = async (
  bench: string,
  measure: (databaseUrl: string) => Promise<boolean>,
): Promise<void> => {
  process.exitCode = (await withScratchDatabase(bench, measure)) ? 0 : 1
}
