/**
 * The lists that are screened against. What counts is in the database, a version for each change; every server keeps the newest
 * version that it could read in memory and looks each second whether there is a newer one. A list that can't be read stays as it
 * was last, and is told; the others change without it.
 * @module
 */
import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import { type Caller, systemCaller } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import type { Change, Ledger } from '../../../ledger/ledger.ts'
import type { Bus } from '../../../store/bus.ts'
import type { Database, StoreLogger } from '../../../store/database.ts'
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import * as store from '../store.ts'
import { ListFileError } from './files/list-file.ts'
import { type EntryChange, readChanges } from './list-changes.ts'
import { stageList } from './list-content.ts'
import { type ConfiguredList, findLists, fingerprint, hashFiles, MAX_LISTS, WHOLE } from './list-directory.ts'
import type { ListSource } from './list-source.ts'
import { SAMPLE_LIST_ID } from './sample.ts'
import { readSnapshot, type Snapshot, snapshotHash } from './snapshots.ts'

/** How soon a change is noticed that the bus did not tell. */
const POLL_MS = 1000
const CHANNEL = 'aml.lists'
/** Entries that were kept longer ago than this and are named by no recent version are forgotten. */
const FORGET_AFTER_MS = 3_600_000
/** What is said of a list that was loaded from the directory before. */
const GONE = 'is not in the directory any more. If it shall go, send acceptLoss'
/** A list that lost more than this share of its entries, or all of them, was probably cut off or forgotten. */
const MAX_LOST_SHARE = 0.5

/** Why it could not be told which lists a directory holds. */
export interface DirectoryProblem {
  /** `AML_LISTS`, or the file that should say so. */
  readonly name: string
  readonly message: string
  readonly since: number
}

export interface ListsService {
  /** What this server screens against. */
  current(): Snapshot
  /**
   * Calls back on this server whenever it answers by newer lists, whichever server changed them. Nothing is kept for who is not
   * there: what has changed since a version that the caller remembers is told by {@link ListsService.changes}.
   * @returns ends it
   */
  onChange(listener: (now: Snapshot) => void | Promise<void>): () => void
  /**
   * What differs between two versions ({@link Snapshot.number}), entry by entry.
   * @param to by default the version that is answered by
   */
  changes(from: number, to?: number): AsyncIterable<EntryChange>
  /** Why this server could not tell what its directory holds when it last looked. Problems of lists are in {@link Snapshot}. */
  problem(): DirectoryProblem | undefined
  /**
   * Reads AML_LISTS again. A list that is broken, or lost most of its entries, stays as it was and is one of the problems.
   * @throws AppError list_invalid where it cannot be told which lists there are, conflict without AML_LISTS
   */
  reload(caller: Caller, acceptLoss: boolean): Promise<Snapshot>
  /** Adds a list or replaces the one of its id. @throws AppError list_invalid */
  upload(caller: Caller, source: ListSource, acceptLoss: boolean): Promise<Snapshot>
  /** @throws AppError not_found */
  remove(caller: Caller, listId: string): Promise<Snapshot>
  close(): Promise<void>
}

/** AML_LISTS: a directory, the list that ships, or nothing but what the console uploads. */
export type AmlLists = { readonly directory: string } | 'sample' | 'none'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  readonly clock: Clock
  readonly logger: StoreLogger
  readonly source: AmlLists
  /** Who acts when a server starts. */
  readonly organisation: string
}

type State = Pick<store.SnapshotRow, 'lists' | 'problems'>

const EMPTY: State = { lists: [], problems: [] }

/** @throws AppError list_invalid in the file's own words */
const refuseFile = (error: unknown): never => {
  if (!(error instanceof ListFileError)) throw error
  const path = error.line === undefined ? error.file : `${error.file}:${error.line}`
  const details = [{ path, code: 'list_invalid', message: error.message }]
  throw new AppError('list_invalid', { message: error.message, details, cause: error })
}

/** @returns why a list was probably cut off or forgotten: it lost most of its entries */
const lossOf = (before: store.StoredList, entries: number): ListFileError | undefined => {
  if (entries >= before.entries * (1 - MAX_LOST_SHARE)) return undefined
  const what = `has ${entries} entries, previously ${before.entries}. If it is complete, send acceptLoss`
  return new ListFileError(before.listId, undefined, what)
}

/** The list with the entries that were just read: kept from before where they are the same, with their age. */
const replaced = (before: store.StoredList | undefined, now: store.StoredList): store.StoredList => {
  if (before?.sha256 !== now.sha256) return now
  const { content, parts, loadedAt } = before
  return { ...now, content, parts, loadedAt }
}

const asJson = ({ listId, checkTypes, entries, sha256 }: store.StoredList) => ({
  list_id: listId,
  check_types: [...checkTypes],
  entries,
  sha256,
})

/** Serves the newest version that could be read, and looks for newer ones. */
const createCurrent = ({ database, bus, logger, source }: Deps, initial: Snapshot) => {
  const withSample = source === 'sample'
  let known = initial
  let closed = false
  let running: Promise<void> | undefined
  let isAsked = false
  const listeners = new Set<(now: Snapshot) => void | Promise<void>>()

  /** Nobody who listens delays the next look, or can end it. */
  const tell = (now: Snapshot): void => {
    for (const listener of listeners)
      void Promise.resolve(now)
        .then(listener)
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'a change of the watch lists was not followed'),
        )
  }
  const look = async (): Promise<void> => {
    if ((await store.findVersion(database)) <= known.number) return
    const row = await store.findSnapshot(database.knex)
    if (row === undefined) return
    known = await readSnapshot(database, row, { withSample, known })
    tell(known)
  }
  const run = async (): Promise<void> => {
    while (isAsked && !closed) {
      isAsked = false
      try {
        await look()
      } catch (error) {
        if (!closed)
          logger.warn({ err: error }, 'newer watch lists cannot be read; the last ones stay in use')
      }
    }
    running = undefined
  }
  /** Whoever asks while it looks may know of something newer: then it looks once more. */
  const refresh = (): Promise<void> => {
    isAsked = true
    running ??= run()
    return running
  }
  const unsubscribe = bus.subscribe(CHANNEL, refresh, refresh)
  const timer = setInterval(refresh, POLL_MS)
  timer.unref()
  return {
    get: () => known,
    refresh,
    onChange(listener: (now: Snapshot) => void | Promise<void>) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      closed = true
      clearInterval(timer)
      unsubscribe()
      await running
    },
  }
}

interface Wanted {
  /** What shall be, of what is. May throw. */
  readonly change: (before: State) => State
  readonly directory?: string
  readonly action: string
}

/** Makes a new version, unless it would be the old one. @returns its number */
const commit = async ({ ledger, clock }: Deps, caller: Caller, wanted: Wanted): Promise<number> =>
  ledger.transact(caller, async (trx): Promise<Change<number>> => {
    const last = await store.findSnapshot(trx)
    const { lists, problems } = wanted.change(last ?? EMPTY)
    if (lists.length > MAX_LISTS) fail('list_invalid', { message: `There can be ${MAX_LISTS} lists.` })
    const parts = await store.countParts(
      trx,
      lists.map(({ content }) => content),
    )
    const gone = lists.find((list) => parts.get(list.content) !== list.parts)
    if (gone !== undefined) throw new Error(`the entries of ${gone.listId} are gone`)
    const sha256 = snapshotHash(lists)
    const directory = wanted.directory ?? last?.directory ?? null
    const isSame = last?.sha256 === sha256 && last.directory === directory
    if (isSame && isDeepStrictEqual(last.problems, problems)) return { result: last.version }
    const version = (last?.version ?? 0) + 1
    await store.insertSnapshot(trx, { version, sha256, directory, lists, problems, loaded_at: clock.now() })
    const failed = problems.map(({ listId }) => listId)
    const data = { event: 'aml.lists', action: wanted.action, version, lists: lists.map(asJson), failed }
    return { result: version, entry: { type: 'attest', digest: sha256, data } }
  })

const forgetOld = ({ database, clock }: Deps): Promise<void> =>
  store.forgetContents(database, clock.now() - FORGET_AFTER_MS)

/** A list of the directory, as it was read just now. */
interface Loaded {
  readonly list: ConfiguredList
  readonly outcome: store.StoredList | ListFileError
}

const loadList = async ({ database, clock }: Deps, list: ConfiguredList): Promise<Loaded> => {
  const { source } = list
  if (source instanceof ListFileError) return { list, outcome: source }
  try {
    const outcome = await stageList(database, { source, from: 'directory', now: clock.now() })
    return { list, outcome }
  } catch (error) {
    if (error instanceof ListFileError) return { list, outcome: error }
    throw error
  }
}

/** The lists after those of the directory were read: each is as it was read, or where that failed as it was before. */
const takeOver = (
  { lists, problems }: State,
  loaded: readonly Loaded[],
  { acceptLoss, now }: { readonly acceptLoss: boolean; readonly now: number },
): State => {
  const failed: store.ListProblem[] = []
  const fault = (listId: string, checkTypes: readonly CheckType[], error: ListFileError): void => {
    const { file, line = null, message } = error
    const earlier = problems.find((one) => one.listId === listId && one.message === message)
    failed.push({ listId, checkTypes, file, line, message, since: earlier?.since ?? now })
  }
  const kept = lists.filter(
    ({ listId, source }) =>
      !loaded.some(({ list }) => list.listId === listId) && !(source === 'directory' && acceptLoss),
  )
  for (const { listId, source, checkTypes } of kept)
    if (source === 'directory') fault(listId, checkTypes, new ListFileError(listId, undefined, GONE))
  const read = loaded.flatMap(({ list: { listId, checkTypes }, outcome }) => {
    const before = lists.find((list) => list.listId === listId)
    const loss =
      outcome instanceof ListFileError || acceptLoss || before === undefined
        ? undefined
        : lossOf(before, outcome.entries)
    const error = outcome instanceof ListFileError ? outcome : loss
    if (error === undefined) return [replaced(before, outcome as store.StoredList)]
    fault(listId, checkTypes, error)
    return before ?? []
  })
  return { lists: [...kept, ...read], problems: failed }
}

/** @param directory AML_LISTS @returns what to change so that its lists are those that can be read now */
const loadDirectory = async (
  deps: Deps,
  configured: readonly ConfiguredList[],
  acceptLoss: boolean,
): Promise<Wanted> => {
  const loaded: Loaded[] = []
  for (const list of configured) loaded.push(await loadList(deps, list))
  const hashed: { readonly name: string; readonly sha256: string }[][] = []
  // Of the very bytes that were kept, also where files change while they are read.
  for (const { list, outcome } of loaded)
    hashed.push(outcome instanceof ListFileError ? await hashFiles(list) : [...outcome.files])
  const now = deps.clock.now()
  return {
    directory: fingerprint(configured, hashed),
    action: 'reload',
    change: (before) => takeOver(before, loaded, { acceptLoss, now }),
  }
}

/**
 * Loads the directory when it holds what was never loaded, so that a server with older files does not bring them back. What
 * could not be loaded is tried again.
 */
const loadAtStart = async (deps: Deps, directory: string): Promise<void> => {
  const last = await store.findSnapshot(deps.database.knex)
  const configured = await findLists(directory, last?.lists ?? [])
  const hashed: { readonly name: string; readonly sha256: string }[][] = []
  for (const list of configured) hashed.push(await hashFiles(list))
  const held = fingerprint(configured, hashed)
  const isTriedAgain = last?.directory === held && last.problems.length > 0
  if (!isTriedAgain && (await store.wasLoaded(deps.database, held))) return
  const wanted = await loadDirectory(deps, configured, false)
  await commit(deps, systemCaller(deps.organisation, 'aml.lists'), wanted)
  await forgetOld(deps).catch((error: unknown) =>
    deps.logger.warn({ err: error }, 'entries of earlier watch lists were not forgotten'),
  )
}

/** Builds the index of what is known; where AML_LISTS holds something new, that. A broken directory is told, not thrown. */
export const createLists = async (deps: Deps): Promise<ListsService> => {
  const { database, bus, clock, logger, source: configured } = deps
  const directory = typeof configured === 'string' ? undefined : configured.directory
  const withSample = configured === 'sample'
  let problem: DirectoryProblem | undefined
  /** @returns what can be told to whoever provides the lists */
  const noteProblem = (error: unknown): void => {
    const isTold = error instanceof ListFileError || error instanceof AppError
    const message = isTold ? error.message : `${WHOLE}: could not be stored; see the log`
    const name = error instanceof ListFileError ? error.file : WHOLE
    if (problem?.message !== message) problem = { name, message, since: clock.now() }
    logger.warn({ err: error }, `${WHOLE} was not loaded: ${message}`)
  }
  if (directory !== undefined) {
    await loadAtStart(deps, directory).catch(noteProblem)
  }
  const first = await store
    .findSnapshot(database.knex)
    .then((row) => readSnapshot(database, row, { withSample }))
    .catch((error: unknown) => {
      logger.warn({ err: error }, 'the watch lists cannot be read; nothing is screened until they can')
      return readSnapshot(database, undefined, { withSample: false })
    })
  for (const { message } of first.problems) logger.warn({}, `a watch list was not loaded: ${message}`)
  if (first.isSample) logger.info({}, 'AML screens against fictional people: set AML_LISTS')
  const newest = createCurrent(deps, first)
  /** Where nobody knows which lists there should be, and none of them was ever loaded, nobody is cleared of anything. */
  const current = (): Snapshot => {
    const known = newest.get()
    if (problem === undefined || known.lists.some((list) => list.source === 'directory')) return known
    const { name, message, since } = problem
    const missing = { listId: name, checkTypes: CHECK_TYPES, file: name, line: null, message, since }
    return { ...known, problems: [...known.problems, missing] }
  }

  const apply = async (caller: Caller, wanted: Wanted): Promise<Snapshot> => {
    const version = await commit(deps, caller, wanted)
    await newest.refresh()
    await bus.publish(CHANNEL, String(version))
    await forgetOld(deps)
    return current()
  }

  /** One after another, so that several large lists are not read at once. */
  const oneAtATime = pLimit(1)
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => oneAtATime(work).catch(refuseFile)

  return {
    current,
    onChange: newest.onChange,
    changes: (from, to = newest.get().number) => readChanges(database, from, to),
    problem: () => problem,
    reload: (caller, acceptLoss) =>
      inTurn(async () => {
        if (directory === undefined)
          return fail('conflict', { message: 'AML_LISTS is not set, so there is no directory to load.' })
        const last = await store.findSnapshot(database.knex)
        const configured = await findLists(directory, last?.lists ?? []).catch((error: unknown) => {
          noteProblem(error)
          throw error
        })
        await apply(caller, await loadDirectory(deps, configured, acceptLoss))
        problem = undefined
        const snapshot = current()
        for (const { message } of snapshot.problems)
          logger.warn({}, `a watch list was not loaded: ${message}`)
        return snapshot
      }),
    upload: (caller, source, acceptLoss) =>
      inTurn(async () => {
        const { listId } = source
        if (listId === SAMPLE_LIST_ID)
          throw new ListFileError(listId, undefined, 'is the shipped sample list')
        const staged = await stageList(database, { source, from: 'console', now: clock.now() })
        const change = ({ lists, problems }: State): State => {
          const before = lists.find((list) => list.listId === listId)
          const loss = before && !acceptLoss ? lossOf(before, staged.entries) : undefined
          if (loss !== undefined) throw loss
          return {
            lists: [...lists.filter((list) => list !== before), replaced(before, staged)],
            problems: problems.filter((one) => one.listId !== listId),
          }
        }
        return apply(caller, { action: 'upload', change })
      }),
    remove: (caller, listId) =>
      inTurn(() => {
        const isOther = (one: { readonly listId: string }): boolean => one.listId !== listId
        const change = ({ lists, problems }: State): State =>
          [...lists, ...problems].every(isOther)
            ? fail('not_found')
            : { lists: lists.filter(isOther), problems: problems.filter(isOther) }
        return apply(caller, { action: 'remove', change })
      }),
    close: newest.close,
  }
}
