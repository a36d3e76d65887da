/**
 * Which logs there are, and which of them an organisation has: the rows of `ledger_head` say the one, `organisations.log` the other, which
 * never changes. Logs only become more, by whichever server first starts with a greater number; the others find them within a second.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import { LOG_ORGANISATION } from '../protocol/log-heads.ts'
import type { Database } from '../store/database.ts'
import { countLogs, growLogs } from './growth.ts'

/** What is asked of the database again, and how soon a log that another server began is found. */
const LOOK_MS = 1_000
/** How old the count of organisations may be that a new one's log is chosen by. */
const COUNT_MS = 60_000
/** Organisations whose log is remembered: some ten megabytes. */
const MAX_REMEMBERED = 100_000

const OF_LOG = /^log\/([1-9]\d?)$/

/** Whose the entries of a log about itself are. No `org_…` id: they belong to no organisation. */
export const logOrganisation = (log: number): string =>
  log === 0 ? LOG_ORGANISATION : `${LOG_ORGANISATION}/${log}`

/** As answers and entries of evidence say which log they are of: log 0 is not named. */
export const named = (log: number): { readonly log?: number } => (log === 0 ? {} : { log })

/** The database has more logs than the server is to have. */
export class TooFewLogs extends Error {
  override readonly name = 'TooFewLogs'
  constructor(asked: number, there: number) {
    super(
      `LOG_SHARDS is ${asked}, and this database has ${there} logs: they may become more, never fewer, since what stands in a log stays there. Set LOG_SHARDS=${there}, or more.`,
    )
  }
}

/** The database has fewer logs than the server is to have, and the server may not begin any. */
export class LogsMissing extends Error {
  override readonly name = 'LogsMissing'
  constructor(asked: number, there: number) {
    super(
      `LOG_SHARDS is ${asked}, and this database has ${there} ${there === 1 ? 'log' : 'logs'}. Run \`npx assay migrate\` once with the settings of the server, then start again.`,
    )
  }
}

export interface Logs {
  /** How many there are, as far as is known here: numbers from 0 up to, but not including, this one. */
  count(): number
  /** The log of an organisation; of what is none, and of the service itself, log 0. At once where it is remembered. */
  of(organisation: string): number | Promise<number>
  /** The log for an organisation that is about to be made: the one that has the fewest. */
  forNew(): Promise<number>
  /** Calls `listener` for each log that there is, and each one that is found later. @returns a function that ends it */
  each(listener: (log: number) => void): () => void
  close(): Promise<void>
}

/** Where there is log 0 alone. */
export const ONE_LOG: Logs = {
  count: () => 1,
  of: () => 0,
  forNew: async () => 0,
  each(listener) {
    listener(0)
    return () => undefined
  },
  close: async () => undefined,
}

interface Deps {
  readonly database: Pick<Database, 'knex' | 'query' | 'kind'>
  readonly logger: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** LOG_SHARDS: how many there are to be, at least. */
  readonly wanted: number
  /** Whether logs that are missing are begun; default true. */
  readonly mayGrow?: boolean
}

const expectCount = async ({ database, wanted, mayGrow = true }: Deps): Promise<void> => {
  const there = await countLogs(database.knex)
  if (there > wanted) throw new TooFewLogs(wanted, there)
  if (there === wanted) return
  if (!mayGrow) throw new LogsMissing(wanted, there)
  // Whoever else starts now may be faster, and have more.
  await growLogs(database, wanted)
}

const FIND_LOG = 'SELECT log FROM organisations WHERE id = $1'

/** Entries of all logs. */
export const countEntries = async ({ knex }: Pick<Database, 'knex'>): Promise<number> => {
  const { rows } = await knex.raw<{ rows: { size: number | string }[] }>(
    'SELECT sum(size)::bigint AS size FROM ledger_head',
  )
  return Number(rows[0]?.size)
}

/** What is remembered of organisations; what was not asked for longest goes first. */
const createMemory = () => {
  const known = new Map<string, number>()
  return {
    get(organisation: string): number | undefined {
      const log = known.get(organisation)
      if (log !== undefined && known.delete(organisation)) known.set(organisation, log)
      return log
    },
    keep(organisation: string, log: number): void {
      if (known.size >= MAX_REMEMBERED) known.delete(known.keys().next().value ?? '')
      known.set(organisation, log)
    },
  }
}

/** Chooses logs for new organisations, by a count that is kept up with what this server makes. */
const createChoice = ({ knex }: Pick<Database, 'knex'>, count: () => number) => {
  let counted = { at: Number.NEGATIVE_INFINITY, organisations: new Map<number, number>() }
  const read = async () => {
    const rows = await knex<{ log: number }>('organisations')
      .select('log')
      .count<{ log: number; organisations: number | string }[]>('* as organisations')
      .groupBy('log')
    return new Map(rows.map(({ log, organisations }) => [log, Number(organisations)]))
  }
  return async (): Promise<number> => {
    if (count() === 1) return 0
    if (performance.now() - counted.at > COUNT_MS)
      counted = { at: performance.now(), organisations: await read() }
    const { organisations } = counted
    const of = (log: number): number => organisations.get(log) ?? 0
    let fewest = 0
    for (let log = 1; log < count(); log++) if (of(log) < of(fewest)) fewest = log
    organisations.set(fewest, of(fewest) + 1)
    return fewest
  }
}

/**
 * Begins the logs that are missing, and finds those that other servers begin.
 * @throws TooFewLogs where there are more than are wanted, LogsMissing where there are fewer and none may be begun
 */
export const openLogs = async (deps: Deps): Promise<Logs> => {
  await expectCount(deps)
  const { database, logger } = deps
  // Nobody else begins any there, and whoever is alone with one log has no need to ask.
  const isAlone = database.kind !== 'postgres'
  let count = await countLogs(database.knex)
  const listeners = new Set<(log: number) => void>()
  const memory = createMemory()
  const asking = new Map<string, Promise<number>>()
  const ending = new AbortController()

  const found = (there: number): void => {
    while (count < there) {
      // Counted first: whoever listens asks for it.
      const log = count++
      logger.info({ log }, 'a log was begun')
      for (const listener of listeners) listener(log)
    }
  }

  const look = async (): Promise<void> => {
    if (isAlone) return
    let isKnown = true
    while (!ending.signal.aborted) {
      await pause(LOOK_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
      if (ending.signal.aborted) return
      try {
        found(await countLogs(database.knex))
        isKnown = true
      } catch (error) {
        if (isKnown) logger.warn({ err: error }, 'it is not known whether there are more logs')
        isKnown = false
      }
    }
  }
  const ended = look()

  const ask = async (organisation: string): Promise<number> => {
    const { rows } = await database.query<{ log: number }>(FIND_LOG, [organisation], 'log-of-organisation')
    const log = rows[0]?.log
    // One that is not there may be made yet.
    if (log === undefined) return 0
    if (log >= count) found(await countLogs(database.knex))
    memory.keep(organisation, log)
    return log
  }

  /** Units of one organisation that come together wait for one answer, and keep their order. */
  const find = (organisation: string): Promise<number> => {
    const asked = asking.get(organisation)
    if (asked !== undefined) return asked
    const answer = ask(organisation).finally(() => asking.delete(organisation))
    asking.set(organisation, answer)
    return answer
  }

  return {
    count: () => count,
    of(organisation) {
      if (isAlone && count === 1) return 0
      const known = memory.get(organisation)
      if (known !== undefined) return known
      if (organisation.startsWith('org_')) return find(organisation)
      return Number(OF_LOG.exec(organisation)?.[1] ?? 0)
    },
    forNew: createChoice(database, () => count),
    each(listener) {
      for (let log = 0; log < count; log++) listener(log)
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      ending.abort()
      await ended
    },
  }
}
