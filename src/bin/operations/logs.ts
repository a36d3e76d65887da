/** What `assay doctor` says of the logs: whether all are there, their trees, entries and checkpoints, and their heads in log 0. @module */
import type { Config } from '../../config/config.ts'
import { MEMORY_DATA_DIR } from '../../config/secrets.ts'
import { createHighWater, markedLogs } from '../../ledger/checkpoints/high-water.ts'
import { readHome } from '../../ledger/checkpoints/home.ts'
import { TooFewLogs } from '../../ledger/logs.ts'
import { createLog, type Head } from '../../ledger/tree/log.ts'
import { grow, leafHash, rootOf } from '../../ledger/tree/merkle.ts'
import type { Database } from '../../store/database.ts'
import { type Examined, error, ok, type Run, warning } from './examination.ts'
import { startProgress } from './progress.ts'

/** Newest entries whose hashes are recomputed; all of them with --full. */
const RECENT_ENTRIES = 2000
const PAGE_ENTRIES = 1000
/** Newest heads in log 0 of each other log, from which its tree must go on. */
const RECENT_HEADS = 100

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const equal = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

/** Numbers of logs, from 0. */
export interface Logs {
  /** Those that have a row of `ledger_head`. */
  readonly there: readonly number[]
  /** Those that have none, and that something else knows, or one of a greater number. */
  readonly missing: readonly number[]
}

/** There once there is a second log; before that all entries are of log 0. src/ledger/growth.ts */
const HAS_ENTRIES_BY_LOG = "SELECT to_regclass('ledger_entries_by_time') IS NOT NULL AS has"
const LAST_OF_ENTRIES = 'SELECT max(log) FROM ledger_entries'
const LOG_OF_ENTRIES = 'SELECT 0 FROM ledger_entries LIMIT 1'

/** One statement, as a server may begin a log meanwhile. */
const findLogs = (lastOfEntries: string): string => `SELECT log, true AS "isThere" FROM ledger_head
  UNION ALL SELECT known.log, false FROM (
    (SELECT max(log) AS log FROM organisations) UNION ALL (SELECT max(log) FROM ledger_checkpoint)
    UNION ALL (SELECT max(log) FROM ledger_heads) UNION ALL (${lastOfEntries})
    UNION ALL (SELECT max(substr(counter, 6)::int) FROM ledger_counters WHERE organisation = 'log' AND counter ~ '^head/[0-9]{1,4}$')
  ) AS known WHERE known.log IS NOT NULL`

/** A log whose row is gone is still known to what was written with it, and to the high-water marks of DATA_DIR. */
export const readLogs = async (
  database: Pick<Database, 'knex' | 'query'>,
  { dataDir }: Pick<Config, 'dataDir'>,
): Promise<Logs> => {
  const generation = (await readHome(database))?.generation ?? 1
  const marked = dataDir === MEMORY_DATA_DIR ? [] : await markedLogs(dataDir, generation)
  const [{ has = false } = {}] = (await database.query<{ has: boolean }>(HAS_ENTRIES_BY_LOG, [])).rows
  const statement = findLogs(has ? LAST_OF_ENTRIES : LOG_OF_ENTRIES)
  const { rows } = await database.query<{ log: number; isThere: boolean }>(statement, [])
  const there = rows.filter(({ isThere }) => isThere).map(({ log }) => log)
  // Every database has had log 0 from its first schema on.
  const count = Math.max(0, ...rows.map(({ log }) => log), ...marked) + 1
  const numbers = Array.from({ length: count }, (_, log) => log)
  return { there: there.sort((a, b) => a - b), missing: numbers.filter((log) => !there.includes(log)) }
}

/** @param wanted LOG_SHARDS: with fewer than there are no server starts */
const examineNumbers = ({ there: { length }, missing }: Logs, wanted: number): Examined => {
  const [first] = missing
  if (first === undefined && length > wanted) return error(new TooFewLogs(wanted, length).message)
  if (first === undefined) {
    const text = length === 1 ? 'there is one' : `there are ${length}`
    return length === wanted
      ? ok(text)
      : warning(
          `${text}, of ${wanted}: \`npx assay migrate\`, or a start without MIGRATE=off, begins the others`,
        )
  }
  const others = missing.length === 1 ? '' : `, and so are ${missing.length - 1} others`
  return error(
    `log ${first} is missing${others}, though it is known elsewhere: the database was altered, or is an older copy; keep it as it is and restore a backup`,
  )
}

/** The first that is wrong of several logs, else what is said of each. */
const examineEach = async (
  { there }: Logs,
  examine: (log: number) => Promise<Examined>,
): Promise<Examined> => {
  const texts: string[] = []
  for (const log of there) {
    const [state, said] = await examine(log)
    const text = there.length === 1 ? said : `log ${log}: ${said}`
    if (state !== 'ok') return [state, text]
    texts.push(text)
  }
  return texts.length === 0 ? warning('there is no log to examine') : ok(texts.join('; '))
}

const examineTree = async (database: Database, number: number) => {
  const log = createLog(database, number)
  const head = await log.head()
  if (equal(await log.root(head.size), head.root))
    return ok(`the root over ${head.size} entries recomputes from the hashes`)
  return error(
    `the hashes do not give the root over ${head.size} entries: the database was altered; keep it as it is and restore a backup`,
  )
}

interface StoredEntry {
  readonly idx: number
  readonly entry: string
  readonly leaf_hash: Uint8Array
  readonly organisation: string
  /** The log that the organisation has; null of what belongs to none. */
  readonly belongs: number | null
}

/** @param isFull whether all are looked at, and make the tree anew: the stored hashes of full tiles could go with altered entries */
const examineEntries = async (database: Database, number: number, isFull: boolean) => {
  const log = createLog(database, number)
  const { size, root } = await log.head()
  const progress = isFull ? startProgress() : undefined
  let checked = 0
  let edge: readonly Uint8Array[] = []
  try {
    for (let from = isFull ? 0 : Math.max(0, size - RECENT_ENTRIES); from < size; from += PAGE_ENTRIES) {
      const to = Math.min(from + PAGE_ENTRIES, size)
      const { rows } = await database.query<StoredEntry>(
        `SELECT e.idx, e.entry, e.leaf_hash, e.organisation, o.log AS belongs FROM ledger_entries AS e
           LEFT JOIN organisations AS o ON o.id = e.organisation
           WHERE e.log = $3 AND e.idx >= $1 AND e.idx < $2 ORDER BY e.idx`,
        [from, to, number],
      )
      if (rows.length !== to - from)
        return error(
          `${to - from - rows.length} of the entries ${from} to ${to - 1} are missing: the database was altered; keep it as it is and restore a backup`,
        )
      const hashes = await log.hashes(rows.map(({ idx }) => ({ from: idx, to: idx + 1 })))
      const leaves = rows.map(({ entry }) => leafHash(entry))
      const wrong = rows.find(({ leaf_hash }, i) => {
        const [leaf, hash] = [leaves[i] ?? new Uint8Array(), hashes[i] ?? new Uint8Array()]
        return !equal(leaf, leaf_hash) || !equal(leaf, hash)
      })
      if (wrong)
        return error(`entry ${wrong.idx} does not have the hash that the log says: the database was altered`)
      const astray = rows.find(({ belongs }) => belongs !== null && belongs !== number)
      if (astray)
        return error(
          `entry ${astray.idx} is of ${astray.organisation}, which has log ${astray.belongs}: the database was altered`,
        )
      if (isFull) ({ edge } = grow(from, edge, leaves))
      checked += rows.length
      progress?.step(`entries checked: ${to} of ${size}`)
    }
  } finally {
    progress?.end()
  }
  if (isFull && !equal(rootOf(edge), root))
    return error(
      `the ${size} entries do not give the root of the log: the database was altered; keep it as it is and restore a backup`,
    )
  return ok(`${checked} of ${size} entries have the hashes of the log${isFull ? '' : '; --full checks all'}`)
}

/** How far the heads of a log went, as log 0 counted them, and the newest that is kept. */
const UNCOUNTED_HEADS = `SELECT logs.log, coalesce(c.value, 0) AS counted, coalesce(newest.size, 0) AS size FROM unnest($1::int[]) AS logs (log)
  LEFT JOIN ledger_counters AS c ON c.organisation = 'log' AND c.counter = 'head/' || logs.log
  LEFT JOIN LATERAL (SELECT max(size) AS size FROM ledger_heads AS h WHERE h.log = logs.log) AS newest ON true
  WHERE coalesce(c.value, 0) <> coalesce(newest.size, 0) ORDER BY logs.log`

const RECENT_HEADS_OF = `SELECT h.log, h.size, h.root, e.entry FROM unnest($1::int[]) AS logs (log) CROSS JOIN LATERAL
    (SELECT * FROM ledger_heads AS said WHERE said.log = logs.log ORDER BY size DESC LIMIT $2) AS h
  LEFT JOIN ledger_entries AS e ON e.log = 0 AND e.idx = h.entry_index ORDER BY h.log, h.size`

interface StoredHead {
  readonly log: number
  readonly size: number
  readonly root: Uint8Array
  /** What stands in log 0 at its place. */
  readonly entry: string | null
}

const headFault = async (
  database: Database,
  { log, size, root, entry }: StoredHead,
): Promise<Examined | undefined> => {
  const said: { type?: unknown; data?: Record<string, unknown> } = entry === null ? {} : JSON.parse(entry)
  const isSaid =
    said.type === 'ledger.head' &&
    said.data?.log === log &&
    said.data.size === size &&
    said.data.root === hex(root)
  if (!isSaid)
    return error(`log 0 does not say the head of log ${log} at ${size} entries: the database was altered`)
  const tree = createLog(database, log)
  if ((await tree.head()).size < size || !equal(await tree.root(size), root))
    return error(
      `log ${log} does not go on from its head in log 0 at ${size} entries: the database was altered; keep it as it is and restore a backup`,
    )
  return undefined
}

const examineHeads = async (database: Database, { there }: Logs): Promise<Examined> => {
  const others = there.filter((log) => log !== 0)
  const uncounted = await database.query<{ log: number; counted: number; size: number }>(UNCOUNTED_HEADS, [
    others,
  ])
  const [wrong] = uncounted.rows
  if (wrong !== undefined)
    return error(
      `log 0 counted the heads of log ${wrong.log} up to ${wrong.counted} entries, and the newest that is kept is of ${wrong.size}: the database was altered; keep it as it is and restore a backup`,
    )
  const { rows } = await database.query<StoredHead>(RECENT_HEADS_OF, [others, RECENT_HEADS])
  for (const row of rows) {
    const fault = await headFault(database, row)
    if (fault !== undefined) return fault
  }
  if (others.length === 0) return ok('there is no other log than log 0')
  return ok(
    rows.length === 0
      ? 'nothing is in the other logs yet'
      : `the other logs go on from the newest ${rows.length} heads in log 0`,
  )
}

const examineCheckpoint = async (
  database: Database,
  number: number,
  { dataDir }: Pick<Config, 'dataDir'>,
) => {
  const log = createLog(database, number)
  const generation = (await readHome(database))?.generation ?? 1
  const signed = await database
    .knex<Head & { log: number }>('ledger_checkpoint')
    .where({ log: number })
    .first('size', 'root')
  const mark = await createHighWater(
    dataDir === MEMORY_DATA_DIR ? undefined : dataDir,
    generation,
    number,
  ).read()
  // Last: a server that appends and signs meanwhile is not ahead of its own log.
  const { size } = await log.head()
  for (const [whose, known] of [
    ['the last checkpoint', signed],
    ['the high-water mark of DATA_DIR', mark],
  ] as const) {
    if (known === undefined) continue
    if (known.size > size)
      return error(
        `${whose} was signed over ${known.size} entries, the log has ${size}: it is an older copy, and nothing will be signed`,
      )
    if (!equal(await log.root(known.size), known.root))
      return error(`${whose} has another root at ${known.size} entries than the log: nothing will be signed`)
  }
  return ok(
    signed
      ? `the log of ${size} entries goes on from what was signed over ${signed.size}`
      : 'nothing was signed yet',
  )
}

/** @param isFull whether the hashes of all entries are recomputed */
export const examineLogs = async (
  database: Database,
  config: Pick<Config, 'dataDir' | 'logShards'>,
  isFull: boolean,
  run: Run,
): Promise<void> => {
  let logs: Logs | undefined
  await run('logs', async () => {
    logs = await readLogs(database, config)
    return examineNumbers(logs, config.logShards)
  })
  const runKnown = (what: string, examine: (known: Logs) => Promise<Examined>) =>
    run(what, async () =>
      logs === undefined ? warning('not examined: which logs there are could not be read') : examine(logs),
    )
  const runEach = (what: string, examine: (log: number) => Promise<Examined>) =>
    runKnown(what, (known) => examineEach(known, examine))
  await runEach('tree', (log) => examineTree(database, log))
  await runEach('entries', (log) => examineEntries(database, log, isFull))
  await runEach('checkpoint', (log) => examineCheckpoint(database, log, config))
  await runKnown('heads', (known) => examineHeads(database, known))
}
