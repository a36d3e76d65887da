/** A kept fixture: where its files are, what it says of itself, and how it is opened. @module */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../src/clock.ts'
import { startTestApp, type TestApp } from '../app.ts'
import { createScratchDatabase } from '../servers/scratch-database.ts'
import { decompress, unpack } from './archive.ts'
import type { Check, Credentials } from './checks.ts'
import { restore } from './dump.ts'

export const FIXTURES = join(import.meta.dirname, '../../fixtures/upgrade')

/** The database that a fixture was made on. */
export type Kind = 'embedded' | 'postgres'

export interface Head {
  readonly size: number
  /** Lower-case hex. */
  readonly root: string
}

/** What was recorded of a fixture. */
export interface Expectations {
  /** Variables that belong to it, secrets among them. */
  readonly env: Readonly<Record<string, string>>
  readonly head: Head
  readonly credentials: Credentials
  /** Whatever the service signed under keys that it publishes, by what it is. */
  readonly signed: Readonly<Record<string, string>>
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>
  /** In the order of their times. */
  readonly checks: readonly Check[]
}

/** Time as the test sets it. */
export interface SetClock extends Clock {
  ms: number
}

export const filesOf = (name: string, kind: Kind) => {
  const file = (path: string): string => join(FIXTURES, name, kind, path)
  return {
    dataDir: file('data-dir.br'),
    dump: file('dump.sql.br'),
    expectations: file('expectations.json'),
  }
}

/** Both databases have the same schema. */
export const schemaFileOf = (name: string): string => join(FIXTURES, name, 'schema.json')

/** Names of the fixtures that were made on such a database. */
export const fixturesOf = (kind: Kind): string[] =>
  existsSync(FIXTURES)
    ? readdirSync(FIXTURES).filter((name) => existsSync(filesOf(name, kind).expectations))
    : []

export const readExpectations = (name: string, kind: Kind): Expectations =>
  JSON.parse(readFileSync(filesOf(name, kind).expectations, 'utf8'))

export const readKeptSchema = (name: string): string[] => JSON.parse(readFileSync(schemaFileOf(name), 'utf8'))

interface Opening {
  /** An empty directory. */
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly clock: Clock
}

/** Opens a copy of a fixture with the code of today. */
export const openFixture = async (
  name: string,
  { env }: Pick<Expectations, 'env'>,
  { dataDir, databaseUrl, clock }: Opening,
): Promise<TestApp> => {
  const files = filesOf(name, databaseUrl === undefined ? 'embedded' : 'postgres')
  unpack(readFileSync(files.dataDir), dataDir)
  const database = databaseUrl === undefined ? undefined : await createScratchDatabase(databaseUrl)
  if (database) await restore(database.url, decompress(readFileSync(files.dump)).toString())
  return startTestApp({ env: { ...env, DATA_DIR: dataDir }, clock, database })
}
