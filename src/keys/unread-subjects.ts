/**
 * Subjects of what earlier versions issued: those kept them sealed alone. They are read in the background, however many
 * there are, so that they are found like all others; a migration has no keys. Any number of servers may do so at once.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../store/database.ts'

/** Few enough to keep requests waiting for no more than a moment. */
const ROWS_PER_READ = 100
const READ_PAUSE_MS = 20
/** Servers of an earlier version, which run beside newer ones during an upgrade, go on writing rows without a subject. */
const ROUND_PAUSE_MS = 10 * 60_000

/** A row whose column `subject` is null. */
export interface UnreadRow {
  readonly organisation: string
  readonly id: string
  readonly sealed: Uint8Array
}

/** A table of such rows, with columns `organisation`, `id`, `sealed` and `subject`, and an index of those that are unread. */
export interface UnreadTable {
  readonly table: 'tokens' | 'tickets' | 'hybrid_tokens'
  /** The pseudonym; the empty text where nobody is named. @throws when it can't be opened */
  subjectOf(row: UnreadRow): Promise<string>
}

export interface SubjectReaderDeps {
  readonly database: Database
  readonly logger: { warn(details: object, message: string): void }
}

const findUnread = async (
  { knex }: Database,
  table: string,
  after: Pick<UnreadRow, 'organisation' | 'id'>,
): Promise<UnreadRow[]> =>
  knex(table)
    .select('organisation', 'id', 'sealed')
    .whereNull('subject')
    .whereRaw('(organisation, id) > (?, ?)', [after.organisation, after.id])
    .orderBy(['organisation', 'id'])
    .limit(ROWS_PER_READ)

const writeSubjects = async (
  { knex }: Database,
  table: string,
  read: readonly (UnreadRow & { readonly subject: string })[],
): Promise<void> => {
  await knex.raw(
    `UPDATE ?? AS unread SET subject = known.subject
      FROM unnest(?::text[], ?::text[], ?::text[]) AS known (organisation, id, subject)
      WHERE unread.organisation = known.organisation AND unread.id = known.id AND unread.subject IS NULL`,
    [
      table,
      read.map(({ organisation }) => organisation),
      read.map(({ id }) => id),
      read.map(({ subject }) => subject),
    ],
  )
}

/** Whether all subjects of an organisation's rows are known. */
export const knowsAllSubjects = async (
  { knex }: Database,
  table: UnreadTable['table'],
  organisation: string,
): Promise<boolean> =>
  (await knex(table).where({ organisation }).whereNull('subject').first('id')) === undefined

export const createSubjectReader = (
  { database, logger }: SubjectReaderDeps,
  tables: readonly UnreadTable[],
) => {
  const ending = new AbortController()
  const { signal } = ending

  const readOne = async ({ table, subjectOf }: UnreadTable, row: UnreadRow) => {
    try {
      return [{ ...row, subject: await subjectOf(row) }]
    } catch (error) {
      logger.warn({ err: error, table, id: row.id }, 'the subject of a row could not be read')
      return []
    }
  }

  const readTable = async (unread: UnreadTable): Promise<void> => {
    for (let after = { organisation: '', id: '' }; !signal.aborted; ) {
      const rows = await findUnread(database, unread.table, after)
      const last = rows.at(-1)
      if (last === undefined) return
      const read = (await Promise.all(rows.map((row) => readOne(unread, row)))).flat()
      if (read.length > 0) await writeSubjects(database, unread.table, read)
      after = last
      await pause(READ_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  const round = async (): Promise<void> => {
    for (const unread of tables) await readTable(unread)
  }

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await round().catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'subjects of earlier versions were not read')
      })
      await pause(ROUND_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()

  return {
    /** Ends what is being read; another start goes on from there. */
    async close(): Promise<void> {
      ending.abort()
      await running
    },
  }
}
