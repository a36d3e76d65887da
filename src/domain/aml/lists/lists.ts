/**
 * The lists that are screened against. What counts is in the database, a version for each change; every server keeps the newest
 * version that it could read in memory and looks each second whether there is a newer one. A list that can't be read changes
 * nothing.
 * @module
 */
import pLimit from 'p-limit'
import { type Caller, systemCaller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import type { Change, Ledger } from '../../../ledger/ledger.ts'
import type { Bus } from '../../../store/bus.ts'
import type { Database, StoreLogger } from '../../../store/database.ts'
import * as store from '../store.ts'
import { stageList } from './list-content.ts'
import { findSources, fingerprint, hashFiles, MAX_LISTS } from './list-directory.ts'
import type { ListSource } from './list-source.ts'
import { ListFileError } from './loaders/list-file.ts'
import { SAMPLE_LIST_ID } from './sample.ts'
import { readSnapshot, type Snapshot, snapshotHash } from './snapshots.ts'

/** How soon a change is noticed that the bus did not tell. */
const POLL_MS = 1000
const CHANNEL = 'aml.lists'
/** Entries that were kept longer ago than this and are named by no recent version are forgotten. */
const FORGET_AFTER_MS = 3_600_000
/** A list that lost more than this share of its entries, or all of them, was probably cut off or forgotten. */
const MAX_LOST_SHARE = 0.5

export interface Problem {
  readonly message: string
  readonly at: number
}

export interface ListsService {
  /** What this server screens against. */
  current(): Snapshot
  /** Why the directory could not be loaded when this server started. */
  problem(): Problem | undefined
  /**
   * Reads AML_LISTS again. All of its lists change together, or none.
   * @throws AppError list_invalid, conflict without AML_LISTS
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

type Lists = readonly store.StoredList[]

/** @throws AppError list_invalid in the file's own words */
const refuseFile = (error: unknown): never => {
  if (!(error instanceof ListFileError)) throw error
  const path = error.line === undefined ? error.file : `${error.file}:${error.line}`
  const details = [{ path, code: 'list_invalid', message: error.message }]
  throw new AppError('list_invalid', { message: error.message, details, cause: error })
}

/** @param replaced by those after @throws ListFileError for a list that has lost most of its entries, or is not there any more */
const checkLoss = (replaced: Lists, after: Lists): void => {
  for (const { listId, entries: had } of replaced) {
    const entries = after.find((list) => list.listId === listId)?.entries ?? 0
    if (entries >= had * (1 - MAX_LOST_SHARE)) continue
    const what = `has ${entries} entries, previously ${had}. If it is complete, send acceptLoss`
    throw new ListFileError(listId, undefined, what)
  }
}

/** @returns the lists after some were replaced. @throws ListFileError where too much would be lost */
const replace = (
  before: Lists,
  staged: Lists,
  isReplaced: (list: store.StoredList) => boolean,
  acceptLoss: boolean,
): Lists => {
  if (!acceptLoss) checkLoss(before.filter(isReplaced), staged)
  return [...before.filter((list) => !isReplaced(list)), ...staged]
}

const asJson = ({ listId, checkTypes, entries, sha256 }: store.StoredList) => ({
  list_id: listId,
  check_types: [...checkTypes],
  entries,
  sha256,
})

/** Serves the newest version that could be read, and looks for newer ones. */
const createCurrent = ({ database, bus, logger, source }: Deps, initial: Snapshot) => {
  let known = initial
  let closed = false
  let running: Promise<void> | undefined
  let isAsked = false

  const look = async (): Promise<void> => {
    if ((await store.findVersion(database)) <= known.number) return
    const row = await store.findSnapshot(database.knex)
    if (row !== undefined) known = await readSnapshot(database, row, source === 'sample')
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
    async close() {
      closed = true
      clearInterval(timer)
      unsubscribe()
      await running
    },
  }
}

interface Wanted {
  /** The lists as they shall be, of those that are. May throw. */
  readonly change: (before: Lists) => Lists
  readonly directory?: string
  readonly action: string
}

/** Makes a new version, unless it would be the old one. @returns its number */
const commit = async ({ ledger, clock }: Deps, caller: Caller, wanted: Wanted): Promise<number> =>
  ledger.transact(caller, async (trx): Promise<Change<number>> => {
    const last = await store.findSnapshot(trx)
    const lists = wanted.change(last?.lists ?? [])
    if (lists.length > MAX_LISTS) fail('list_invalid', { message: `There can be ${MAX_LISTS} lists.` })
    const parts = await store.countParts(
      trx,
      lists.map(({ content }) => content),
    )
    const gone = lists.find((list) => parts.get(list.content) !== list.parts)
    if (gone !== undefined) throw new Error(`the entries of ${gone.listId} are gone`)
    const sha256 = snapshotHash(lists)
    const directory = wanted.directory ?? last?.directory ?? null
    if (last?.sha256 === sha256 && last.directory === directory) return { result: last.version }
    const version = (last?.version ?? 0) + 1
    await store.insertSnapshot(trx, { version, sha256, directory, lists, loaded_at: clock.now() })
    const data = { event: 'aml.lists', action: wanted.action, version, lists: lists.map(asJson) }
    return { result: version, entry: { type: 'attest', digest: sha256, data } }
  })

/** @param directory AML_LISTS @returns what to change so that its lists are those that were just kept */
const loadDirectory = async (
  { database, clock }: Deps,
  sources: readonly ListSource[],
  acceptLoss: boolean,
): Promise<Wanted> => {
  const staged: store.StoredList[] = []
  for (const source of sources)
    staged.push(await stageList(database, { source, from: 'directory', now: clock.now() }))
  const ids = new Set(staged.map(({ listId }) => listId))
  const isReplaced = ({ listId, source }: store.StoredList) => source === 'directory' || ids.has(listId)
  return {
    // Of the very bytes that were kept, also where files change while they are read.
    directory: fingerprint(
      sources,
      staged.map(({ files }) => files),
    ),
    action: 'reload',
    change: (before) => replace(before, staged, isReplaced, acceptLoss),
  }
}

/** Loads the directory when it holds what was never loaded, so that a server with older files does not bring them back. */
const loadAtStart = async (deps: Deps, directory: string): Promise<void> => {
  const sources = await findSources(directory)
  if (await store.wasLoaded(deps.database, fingerprint(sources, await hashFiles(sources)))) return
  await commit(deps, systemCaller(deps.organisation, 'aml.lists'), await loadDirectory(deps, sources, false))
}

/** Builds the index of what is known; where AML_LISTS holds something new, that. A broken directory is told, not thrown. */
export const createLists = async (deps: Deps): Promise<ListsService> => {
  const { database, bus, clock, logger, source: configured } = deps
  const directory = typeof configured === 'string' ? undefined : configured.directory
  const withSample = configured === 'sample'
  let problem: Problem | undefined
  if (directory !== undefined) {
    await loadAtStart(deps, directory).catch((error: unknown) => {
      const isTold = error instanceof ListFileError || error instanceof AppError
      const message = isTold ? error.message : 'AML_LISTS: could not be stored; see the log'
      problem = { message, at: clock.now() }
      logger.warn({ err: error }, `AML_LISTS was not loaded: ${message}`)
    })
  }
  const first = await store
    .findSnapshot(database.knex)
    .then((row) => readSnapshot(database, row, withSample))
    .catch((error: unknown) => {
      logger.warn({ err: error }, 'the watch lists cannot be read; nothing is screened until they can')
      return readSnapshot(database, undefined, false)
    })
  if (first.isSample) logger.info({}, 'AML screens against fictional people: set AML_LISTS')
  const current = createCurrent(deps, first)

  const apply = async (caller: Caller, wanted: Wanted): Promise<Snapshot> => {
    const version = await commit(deps, caller, wanted)
    await current.refresh()
    await bus.publish(CHANNEL, String(version))
    await store.forgetContents(database, clock.now() - FORGET_AFTER_MS)
    return current.get()
  }

  /** One after another, so that several large lists are not read at once. */
  const oneAtATime = pLimit(1)
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => oneAtATime(work).catch(refuseFile)

  return {
    current: current.get,
    problem: () => problem,
    reload: (caller, acceptLoss) =>
      inTurn(async () => {
        if (directory === undefined)
          return fail('conflict', { message: 'AML_LISTS is not set, so there is no directory to load.' })
        const wanted = await loadDirectory(deps, await findSources(directory), acceptLoss)
        const snapshot = await apply(caller, wanted)
        problem = undefined
        return snapshot
      }),
    upload: (caller, source, acceptLoss) =>
      inTurn(async () => {
        if (source.listId === SAMPLE_LIST_ID)
          throw new ListFileError(source.listId, undefined, 'is the shipped sample list')
        const staged = await stageList(database, { source, from: 'console', now: clock.now() })
        return apply(caller, {
          action: 'upload',
          change: (before) => replace(before, [staged], ({ listId }) => listId === staged.listId, acceptLoss),
        })
      }),
    remove: (caller, listId) =>
      inTurn(() =>
        apply(caller, {
          action: 'remove',
          change: (before) =>
            before.some((list) => list.listId === listId)
              ? before.filter((list) => list.listId !== listId)
              : fail('not_found'),
        }),
      ),
    close: current.close,
  }
}

/** For the answer of the console. */
export const problemOf = ({ message, at }: Problem): { message: string; at: string } => ({
  message,
  at: iso(at),
})
