/**
 * The log as its owners and auditors see it: entries, proofs that they stand in the signed tree, and counts that
 * point at nobody.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Pseudonyms } from '../../keys/pseudonyms.ts'
import type { WitnessedCheckpoint } from '../../ledger/checkpoints/cosignatures.ts'
import type { SignedLog, SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { EntryRow } from '../../ledger/tables.ts'
import type { Database } from '../../store/database.ts'
import { createOneAtATime } from '../../store/limits.ts'
import { type Division, type Group, release } from './anonymity.ts'
import {
  AS_LISTED,
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  type ConsistencyProof,
  type ConsistencyQuery,
  type InclusionProof,
  type InclusionQuery,
  type Pseudonymised,
  type PseudonymisedQuery,
} from './schemas.ts'
import { type CellRow, type CountQuestion, countBySubject, findEntries, findEntry } from './store.ts'

const DEFAULT_PAGE_ENTRIES = 50
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DEFAULT_WINDOW_DAYS = 30
const MAX_WINDOW_DAYS = 90
const DEFAULT_K = 5
const MIN_K = 5
const MAX_K = 1_000
/** Entries that one question may count. */
const MAX_COUNTED_ENTRIES = 200_000
/** What every database and ISO 8601 can say, with room for the days around a window. */
const EARLIEST = Date.UTC(1970, 0, 1)
const LATEST = Date.UTC(9999, 0, 1)
const RETRY_AFTER_SECONDS = 1
/** Servers whose clocks are slow may take so much longer to reach midnight. */
const SETTLING_MS = 10 * 60_000

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of' | 'count'>
  readonly signedLogs: Pick<SignedLogs, 'at'>
  readonly pseudonyms: Pick<Pseudonyms, 'epoch'>
  readonly clock: Clock
}

export type AuditService = ReturnType<typeof createAudit>

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** An operator sees all organisations. */
const scopeOf = ({ organisation, scopes }: Caller): string | undefined =>
  scopes.has('admin') ? undefined : organisation

const toEntry = (row: EntryRow, { organisation }: Caller): AuditEntry => ({
  ...named(row.log),
  index: row.idx,
  leafHash: hex(row.leaf_hash),
  id: row.id,
  organisationId: row.organisation,
  type: row.type as AuditEntry['type'],
  at: iso(row.at),
  digest: row.digest,
  keyId: row.key_id,
  circuitId: row.circuit_id,
  proofId: row.proof_id,
  entry: row.organisation === organisation ? row.entry : null,
})

const refuseQuery = (name: string, message: string): never =>
  fail('invalid_query', { details: [{ path: `query/${name}`, code: 'out_of_range', message }] })

const refuseValue = (name: string, message: string): never =>
  fail('validation_failed', { details: [{ path: `query/${name}`, code: 'out_of_range', message }] })

const divisionOf = (fields: string | undefined): Division => {
  if (fields === undefined) return 'type'
  if (fields === '') return 'day'
  return fields.includes('hour') ? 'hour' : 'type'
}

/** @returns Unix ms */
const momentOf = (name: string, text: string): number => {
  const at = Date.parse(text)
  // A leap second has no number either.
  if (!(at >= EARLIEST && at < LATEST)) refuseValue(name, 'Years 1970 to 9998.')
  return at
}

/** Whole UTC days around what was asked. @returns Unix ms */
const windowOf = ({ since, until }: PseudonymisedQuery, now: number): { since: number; until: number } => {
  const end = until === undefined ? now : momentOf('until', until)
  const start = since === undefined ? end - DEFAULT_WINDOW_DAYS * DAY_MS : momentOf('since', since)
  if (start > end) refuseValue('since', 'The window ends before it begins.')
  const window = { since: Math.floor(start / DAY_MS) * DAY_MS, until: Math.ceil(end / DAY_MS) * DAY_MS }
  if (window.until - window.since > (MAX_WINDOW_DAYS + 1) * DAY_MS)
    refuseValue('since', `The window is longer than ${MAX_WINDOW_DAYS} days.`)
  return window
}

const toRow = (group: Group, k: number, now: number): Pseudonymised['rows'][number] => {
  const isOver = (group.day + 1) * DAY_MS + SETTLING_MS <= now
  return {
    bucket: iso(group.hour === undefined ? group.day * DAY_MS : group.hour * HOUR_MS),
    span: group.hour === undefined ? 'day' : 'hour',
    type: (group.type ?? null) as Pseudonymised['rows'][number]['type'],
    merged: group.merged,
    entries: isOver ? group.entries : null,
    subjects: group.subjects - (group.subjects % k),
  }
}

const witnessedTree = (
  newest: WitnessedCheckpoint | undefined,
  index: number,
): NonNullable<InclusionProof['witnessed']> =>
  newest !== undefined && newest.size > index
    ? { treeSize: newest.size, root: hex(newest.root), checkpoint: newest.note }
    : 'pending'

export const createAudit = ({ database, logs, signedLogs, pseudonyms, clock }: Deps) => {
  const begin = createOneAtATime()

  /** A log whose hashes somebody asks about: everybody may. @throws AppError invalid_query for one that there is not */
  const askedTree = async (caller: Caller, asked: number | undefined): Promise<SignedLog> => {
    if (asked !== undefined && asked >= logs.count()) refuseQuery('log', `log must be below ${logs.count()}.`)
    return signedLogs.at(asked ?? (await logs.of(caller.organisation)))
  }

  /** The log whose entries somebody asks about. @throws AppError invalid_query for one that is not the caller's, or that there is not */
  const askedLog = async (caller: Caller, asked: number | undefined): Promise<SignedLog> => {
    const own = await logs.of(caller.organisation)
    if (asked !== undefined && asked !== own && scopeOf(caller) !== undefined)
      refuseQuery('log', `The entries of your organisation are in log ${own}.`)
    return askedTree(caller, asked)
  }

  /** Cells of a window: of an organisation's log, or of all logs. @returns undefined for more entries than may be counted */
  const countCells = async (
    { organisation, ...window }: Omit<CountQuestion['window'], 'log'>,
    byHour: boolean,
  ): Promise<CellRow[] | undefined> => {
    const numbers =
      organisation === undefined
        ? Array.from({ length: logs.count() }, (_, log) => log)
        : [await logs.of(organisation)]
    const cells: CellRow[] = []
    for (const log of numbers) {
      const counted = cells.reduce((sum, { entries }) => sum + entries, 0)
      const maxEntries = MAX_COUNTED_ENTRIES - counted
      const found = await countBySubject(database, {
        window: { log, organisation, ...window },
        byHour,
        maxEntries,
      })
      if (found === undefined) return undefined
      for (const cell of found) cells.push(cell)
    }
    return cells
  }

  return {
    /** A page of the caller's entries, the newest first, with a checkpoint that covers them. @throws AppError log_inconsistent, validation_failed */
    async list(caller: Caller, query: AuditQuery): Promise<AuditPage> {
      const limit = query.limit ?? DEFAULT_PAGE_ENTRIES
      const { number, checkpoints } = await askedLog(caller, query.log)
      const { rows, next } = await findEntries(database, {
        log: number,
        organisation: scopeOf(caller),
        type: query.type,
        since: query.since === undefined ? undefined : momentOf('since', query.since),
        until: query.until === undefined ? undefined : momentOf('until', query.until),
        before: query.cursor === undefined ? undefined : Number(query.cursor),
        limit,
      })
      // Afterwards, so that it covers every entry of the page.
      const checkpoint = await checkpoints.latest()
      return {
        ...named(number),
        entries: rows.map((row) => toEntry(row, caller)),
        treeSize: checkpoint.size,
        root: hex(checkpoint.root),
        checkpoint: checkpoint.note,
        nextCursor: next === undefined ? null : String(next),
      }
    },

    /**
     * Holds what is said of one of the caller's own entries against what the log has.
     * @throws AppError not_found, read_only
     */
    async requireListed(caller: Caller, sent: Partial<AuditEntry> & { index: number }): Promise<void> {
      if (!AS_LISTED.some((name) => sent[name] !== undefined)) return
      const log = await logs.of(caller.organisation)
      const row =
        (await findEntry(database, { log, index: sent.index }, caller.organisation)) ?? fail('not_found')
      requireUnchanged(sent, toEntry(row, caller), AS_LISTED)
    },

    /** @throws AppError not_found, invalid_query for a tree that does not hold the entry, or that is not there yet */
    async inclusion(
      caller: Caller,
      { log: asked, index, treeSize }: InclusionQuery,
    ): Promise<InclusionProof> {
      const { number, tree, checkpoints } = await askedLog(caller, asked)
      const entry = (await findEntry(database, { log: number, index }, scopeOf(caller))) ?? fail('not_found')
      const { size: present } = await tree.head()
      const size = treeSize ?? present
      if (size > present) refuseQuery('treeSize', `The log has ${present} entries.`)
      if (size <= index) refuseQuery('treeSize', 'A tree of that size does not contain the entry.')
      const [hashes, root, newest] = await Promise.all([
        tree.inclusion(index, size),
        tree.root(size),
        checkpoints.newestWitnessed(),
      ])
      return {
        ...named(number),
        index,
        treeSize: size,
        leafHash: hex(entry.leaf_hash),
        hashes: hashes.map(hex),
        root: hex(root),
        ...(newest !== null && { witnessed: witnessedTree(newest, index) }),
      }
    },

    /** @throws AppError invalid_query for sizes that the log never had */
    async consistency(caller: Caller, { log: asked, from, to }: ConsistencyQuery): Promise<ConsistencyProof> {
      const { number, tree } = await askedTree(caller, asked)
      const { size: present } = await tree.head()
      const end = to ?? present
      if (end > present) refuseQuery('to', `The log has ${present} entries.`)
      if (from > end) refuseQuery('from', 'from must not be greater than to.')
      const hashes = await tree.consistency(from, end)
      return { ...named(number), from, to: end, hashes: hashes.map(hex) }
    },

    /**
     * Counts over groups of at least k distinct subjects.
     * @throws AppError validation_failed; rate_limited while the organisation is asking already; unavailable when
     *   counting takes too long
     */
    async pseudonymised(caller: Caller, query: PseudonymisedQuery): Promise<Pseudonymised> {
      const { k = DEFAULT_K } = query
      if (k < MIN_K || k > MAX_K) refuseValue('k', `k must be ${MIN_K} to ${MAX_K}.`)
      const now = clock.now()
      const window = windowOf(query, now)
      const division = divisionOf(query.fields)
      const end = begin(caller.organisation) ?? fail('rate_limited', { retryAfter: RETRY_AFTER_SECONDS })
      try {
        const [cells, epoch] = await Promise.all([
          countCells({ organisation: scopeOf(caller), ...window }, division === 'hour'),
          pseudonyms.epoch(now),
        ])
        if (cells === undefined) {
          const asked = `${iso(window.since)} to ${iso(window.until)}`
          return refuseValue(
            'since',
            `${asked} has more than ${MAX_COUNTED_ENTRIES} entries; choose a smaller window.`,
          )
        }
        const { groups, suppressed } = release(cells, k, division)
        return {
          k,
          window: { since: iso(window.since), until: iso(window.until) },
          pseudonymEpoch: epoch.number,
          rows: groups.map((group) => toRow(group, k, now)),
          suppressed,
        }
      } finally {
        end()
      }
    },
  }
}
