/**
 * The event log of this server: committed entries of the ledger, read by index from a place that the log itself
 * remembers, and beside them webhook deliveries and requests. Every server keeps one of its own.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { readEntries } from '../../ledger/entries.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import { readLines } from './lines.ts'
import { type EventRow, ledgerLine, parseLine, type RecordedRow, readStamp, recordedLine } from './rows.ts'
import { type Line, type Opened, openSegments, type Segments } from './segments.ts'

/** How soon entries of other servers are seen. */
const POLL_MS = 1_000
/** Commits of so long are read together: the embedded database has better things to do. */
const GATHER_MS = 200
/** How long a recorded row may wait for others. */
const FLUSH_MS = 250
/** What may wait to be written; more is lost, and counted. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024
const BACK_OFF_MS = 2_000
/** How long an export waits for the log to have caught up with the ledger. */
const SETTLE_TIMEOUT_MS = 10_000
/** How soon such a reader sees that its entries are there while others still come. */
const LOOK_PAUSE_MS = 20
/** Entries that are taken up at once: few, since all of them are written as lines in one turn of the event loop. */
const READ_ENTRIES = 200
/** What an entry takes at most in nearly all cases: a new log takes up the last ones that fit. */
const ENTRY_TYPICAL_BYTES = 1_024

/** Why rows of a window may be missing. */
export type Gap =
  /** The oldest have rolled off, or were there before this log. */
  | 'ROLLED_OFF'
  /** The log had not caught up with the ledger. */
  | 'BEHIND'
  /** Deliveries or requests came faster than they could be written. */
  | 'ROWS_LOST'

/** Unix ms: `since` inclusive, `until` exclusive. */
export interface Window {
  readonly since: number
  readonly until: number
}

/** What the log holds of a window at one moment; it does not grow. */
export interface Reading {
  /** Time of the newest row that has rolled off, Unix ms; null while none has. */
  readonly watermark: number | null
  readonly gaps: readonly Gap[]
  /** Rows in the order of the log, in handy numbers; entries in the order of the ledger. To be asked once. */
  rows(): AsyncGenerator<readonly EventRow[]>
  /** Lets go of the files. */
  close(): Promise<void>
}

export interface EventLog {
  /**
   * Keeps a row that is no entry of the ledger. It is buffered and written soon; never throws, never delays the
   * caller. A crash may lose the last ones.
   */
  record(row: RecordedRow): void
  /** Opens what the log holds of an organisation, after it has taken up everything that is committed by now. */
  read(organisation: string, window: Window): Promise<Reading>
  /** Writes what waits. */
  close(): Promise<void>
}

export interface EventLogDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'head' | 'onCommit'>
  readonly logs: Pick<Logs, 'of' | 'count'>
  /** Of this server alone. */
  readonly directory: string
  readonly maxBytes: number
  readonly logger: { warn(details: object, message: string): void }
  readonly onLost: (rows: number) => void
}

/** Entries of the log about itself belong to no organisation. */
const isOwned = (organisation: string): boolean => organisation.startsWith('org_')

const numbersOf = ({ count }: Pick<Logs, 'count'>): number[] =>
  Array.from({ length: count() }, (_, log) => log)

/** Where a new event log begins: of each log with the oldest entry that surely has room. */
const beginAt = async ({ database, ledger, logs, maxBytes }: EventLogDeps) => {
  const room = Math.floor(maxBytes / ENTRY_TYPICAL_BYTES / logs.count())
  const begin = async (log: number) => {
    const { size } = await ledger.head(log)
    const next = Math.max(0, size - room)
    const [before] = next === 0 ? [] : await readEntries(database, log, next - 1, 1)
    return { next, watermark: before?.at ?? null }
  }
  const [first, ...others] = await Promise.all(numbersOf(logs).map(begin))
  const passed = [first, ...others].flatMap((begun) => begun?.watermark ?? [])
  return {
    next: first?.next ?? 0,
    ...(others.length > 0 && { others: Object.fromEntries(others.map(({ next }, i) => [i + 1, next])) }),
    watermark: passed.length > 0 ? Math.max(...passed) : null,
  }
}

async function* matching(
  { files, close }: Opened,
  organisation: string,
  { since, until }: Window,
): AsyncGenerator<readonly EventRow[]> {
  try {
    for (const { handle, bytes } of files) {
      for await (const lines of readLines(handle, bytes)) {
        const rows: EventRow[] = []
        for (const line of lines) {
          const stamp = readStamp(line)
          if (stamp?.organisation !== organisation || stamp.at < since || stamp.at >= until) continue
          rows.push(...parseLine(line.toString()))
        }
        yield rows
      }
    }
  } finally {
    await close()
  }
}

/** Rows that wait to be written. */
const createWaiting = ({ logger, onLost }: EventLogDeps, write: (lines: Line[]) => Promise<void>) => {
  let lines: Line[] = []
  let chars = 0
  let lost: Window | undefined
  let timer: NodeJS.Timeout | undefined

  const lose = (some: readonly Line[]): void => {
    onLost(some.length)
    for (const { at } of some)
      lost = { since: Math.min(lost?.since ?? at, at), until: Math.max(lost?.until ?? at, at) }
  }

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length === 0) return
    const taken = lines
    lines = []
    try {
      await write(taken)
    } catch (error) {
      lose(taken)
      logger.warn({ err: error, rows: taken.length }, 'rows of the event log could not be written')
    } finally {
      // Only now: what a slow disk has not taken yet is still in memory.
      for (const { text } of taken) chars -= text.length
    }
  }

  return {
    flush,
    add(row: RecordedRow): void {
      const line = { text: recordedLine(row), at: row.at }
      if (chars + line.text.length > MAX_WAITING_CHARS) {
        if (lost === undefined) logger.warn({}, 'the event log can’t keep up and loses rows')
        lose([line])
        return
      }
      lines.push(line)
      chars += line.text.length
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref()
    },
    /** Whether rows of a window were lost. */
    hasLost: ({ since, until }: Window): boolean =>
      lost !== undefined && lost.since < until && lost.until >= since,
  }
}

/** Takes up entries whenever it is asked to, one round after the other. */
const createCatchingUp = ({ database, logs, logger }: EventLogDeps, segments: Segments) => {
  const nexts = new Map<number, number>()
  /** Past what an attempt has written that failed half-way. */
  const nextOf = (log: number): number => Math.max(nexts.get(log) ?? 0, segments.next(log))
  let asked = false
  let running: Promise<void> | undefined
  const ending = new AbortController()

  /** @returns whether the log may have more */
  const takePage = async (log: number): Promise<boolean> => {
    const entries = await readEntries(database, log, nextOf(log), READ_ENTRIES)
    const last = entries.at(-1)
    if (last === undefined) return false
    const owned = entries.filter(({ organisation }) => isOwned(organisation))
    await segments.append(
      owned.map((entry) => ({ text: ledgerLine(entry), at: entry.at, index: entry.index, log })),
    )
    nexts.set(log, last.index + 1)
    return entries.length === READ_ENTRIES
  }

  /** A page of each log in turns, so that a busy one keeps no other waiting. */
  const takeUp = async (): Promise<void> => {
    let open = numbersOf(logs)
    while (open.length > 0) {
      const more: number[] = []
      for (const log of open) if (!ending.signal.aborted && (await takePage(log))) more.push(log)
      open = more
    }
  }

  const run = async (): Promise<void> => {
    while (asked && !ending.signal.aborted) {
      asked = false
      try {
        await takeUp()
      } catch (error) {
        logger.warn(
          { err: error, nexts: Object.fromEntries(nexts) },
          'the event log could not take up entries and will try again',
        )
        asked = true
        await pause(BACK_OFF_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
      }
    }
    // In the same turn as the last look at `asked`: whoever asks from now on starts another run.
    running = undefined
  }

  const ask = (): Promise<void> => {
    asked = true
    running ??= run()
    return running
  }

  return {
    ask,
    /** @returns whether everything below `size` of a log has been taken up within the time that there is */
    async reach(log: number, size: number): Promise<boolean> {
      const giveUpAt = performance.now() + SETTLE_TIMEOUT_MS
      const isOver = (): boolean => ending.signal.aborted || performance.now() >= giveUpAt
      // A run goes on for as long as any log grows.
      while (nextOf(log) < size && !isOver())
        await Promise.race([ask(), pause(LOOK_PAUSE_MS, undefined, { ref: false })])
      return nextOf(log) >= size
    },
    async close(): Promise<void> {
      ending.abort()
      await running
    },
  }
}

/** Whether the log and the ledger are of one past; the database may have been replaced, or restored from a backup. */
const belongs = async (
  { lastEntry, next }: Segments,
  { database, ledger, logs }: EventLogDeps,
): Promise<boolean> => {
  for (const log of numbersOf(logs)) if (next(log) > (await ledger.head(log)).size) return false
  const [row] = lastEntry === undefined ? [] : parseLine(lastEntry)
  if (row === undefined || !('index' in row)) return true
  const { log = 0 } = row
  // A database of before there was that log.
  if (log >= logs.count()) return false
  const { size } = await ledger.head(log)
  if (row.index >= size) return false
  const [entry] = await readEntries(database, log, row.index, 1)
  return entry?.index !== row.index || Buffer.from(entry.leafHash).toString('hex') === row.leafHash
}

/** Opens the log of this ledger; one of another past is put aside. */
const openOwn = async (deps: EventLogDeps): Promise<Segments> => {
  const { directory, maxBytes, logger } = deps
  const openLog = () => openSegments({ directory, maxBytes, begin: () => beginAt(deps) })
  const segments = await openLog()
  if (await belongs(segments, deps)) return segments
  await segments.close()
  const aside = `${directory}.of-another-ledger-${randomUUID()}`
  await rename(directory, aside)
  logger.warn({ aside }, 'the event log is of another ledger: it was put aside, and a new one begun')
  return openLog()
}

/** @throws Error of the file system, or what the database answers */
export const createEventLog = async (deps: EventLogDeps): Promise<EventLog> => {
  const { ledger, logs } = deps
  const segments = await openOwn(deps)
  const waiting = createWaiting(deps, segments.append)
  const catchingUp = createCatchingUp(deps, segments)
  let gathering: NodeJS.Timeout | undefined
  const gather = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined
      void catchingUp.ask()
    }, GATHER_MS).unref()
  }
  const stopListening = ledger.onCommit(gather)
  const polling = setInterval(() => void catchingUp.ask(), POLL_MS).unref()
  void catchingUp.ask()

  return {
    record: waiting.add,

    async read(organisation, window) {
      const log = await logs.of(organisation)
      const { size } = await ledger.head(log)
      const [reached] = await Promise.all([catchingUp.reach(log, size), waiting.flush()])
      const opened = await segments.open(window.since, window.until)
      const { watermark } = opened
      const gaps: Gap[] = []
      if (watermark !== null && window.since <= watermark) gaps.push('ROLLED_OFF')
      if (!reached) gaps.push('BEHIND')
      if (waiting.hasLost(window)) gaps.push('ROWS_LOST')
      return { watermark, gaps, rows: () => matching(opened, organisation, window), close: opened.close }
    },

    async close() {
      stopListening()
      clearInterval(polling)
      clearTimeout(gathering)
      await catchingUp.close()
      await waiting.flush()
      await segments.close()
    },
  }
}
