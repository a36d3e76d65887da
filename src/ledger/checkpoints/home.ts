/**
 * Where the log is at home. A copy of its database knows what was signed before the copy was made, but not what was signed
 * since: going on from it would fork the log. So a database remembers the place where it lives, and one that finds itself at
 * another place was restored or moved: no server starts on it until an operator has said what was signed last.
 * @module
 */
import type { Database } from '../../store/database.ts'
import { integer, type RowOf, table, text } from '../../store/table.ts'
import { HEAD_NAME } from '../tables.ts'

export const homes = table('ledger_home', {
  name: text().key(),
  /** As {@link Database.place} tells it. */
  place: text(),
  /** Counts the origins under which the log was signed, from 1. */
  generation: integer(),
})

type HomeRow = RowOf<typeof homes>

/** The database was restored from a copy, or moved. */
export class RestoredDatabase extends Error {
  override readonly name = 'RestoredDatabase'
  constructor() {
    super(
      'This database was restored from a copy, or moved: the log may have gone on since the copy was made, and going on from here would fork it. ' +
        'Show the newest checkpoint that anybody has of it, or begin a new log: `npx assay restore --checkpoint FILE`, or `npx assay restore --new-log`. docs/operations.md says where checkpoints are found.',
    )
  }
}

/** @returns undefined for a database that no server has started on */
export const readHome = ({ knex }: Pick<Database, 'knex'>): Promise<HomeRow | undefined> =>
  knex<HomeRow>('ledger_home').where({ name: HEAD_NAME }).first()

/** Of a database that no server remembers a place for. */
const NOWHERE = 'nowhere'

/** Takes a database that has no home, as one of before there were homes has none, for one that was restored: whoever calls says so. */
export const leaveHome = async ({ knex }: Pick<Database, 'knex'>): Promise<void> => {
  await knex<HomeRow>('ledger_home')
    .insert({ name: HEAD_NAME, place: NOWHERE, generation: 1 })
    .onConflict('name')
    .ignore()
}

/**
 * Whether the database is where it was when a server first started on it, and its log still the one of this generation: a new one may
 * have begun while a server ran.
 */
export const isAtHome = async (
  database: Pick<Database, 'knex' | 'place'>,
  generation: number,
): Promise<boolean> => {
  const home = await readHome(database)
  return home?.generation === generation && home.place === (await database.place())
}

/**
 * Makes a database remember where it lives. @returns the generation of its log
 * @throws RestoredDatabase when it lives elsewhere by now
 */
export const settleHome = async (
  database: Pick<Database, 'knex' | 'place' | 'makePlace'>,
): Promise<number> => {
  if ((await readHome(database)) === undefined) {
    const place = (await database.place()) ?? (await database.makePlace())
    await database
      .knex<HomeRow>('ledger_home')
      .insert({ name: HEAD_NAME, place, generation: 1 })
      .onConflict('name')
      .ignore()
  }
  const home = await readHome(database)
  if (home === undefined || home.place !== (await database.place())) throw new RestoredDatabase()
  await database.makePlace()
  return home.generation
}

/** The name of the log: a host, and from the second generation on its number. */
export const originOf = (host: string, generation: number): string =>
  generation === 1 ? host : `${host}/${generation}`
