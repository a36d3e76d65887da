/**
 * Which of several logs something is of, and the heads of the others as entries of log 0 say them. A member `log` beside places and roots
 * names a log by its number; absent it means log 0. Runs in browsers too.
 * @module
 */
import { canonicalJson, hasCanonicalJson } from './canonical-json.ts'
import { fromHex, hexOf } from './checkpoint/note.ts'
import { isObject } from './json-object.ts'
import { type TreeHashing, type TreeHead, verifyInclusion } from './merkle-proofs.ts'

/** Numbers of logs are smaller. */
export const MAX_LOGS = 64

const ORIGIN_OF_LOG = /\/log\/([1-9]\d?)$/

/** The log that a member `log` names; undefined where it names none. */
export const logOf = (log: unknown): number | undefined => {
  if (log === undefined) return 0
  const isOne = typeof log === 'number' && Number.isSafeInteger(log) && log >= 0 && log < MAX_LOGS
  return isOne ? log : undefined
}

/** The name of a log, by that of log 0: first line of its checkpoints. */
export const originOfLog = (origin: string, log: number): string =>
  log === 0 ? origin : `${origin}/log/${log}`

/** A log that was begun anew, since entries of it were lost, has the number of its beginning behind the host: `assay.example/2`. */
const BEGUN_ANEW = /^([^/]+)\/(?:[2-9]|[1-9]\d{1,3})(\/log\/[1-9]\d?)?$/

/** The name that a log had from its first beginning, which follows from the address of its service. @param origin as it is called now */
export const firstOrigin = (origin: string): string => {
  const [, host, log = ''] = BEGUN_ANEW.exec(origin) ?? []
  return host === undefined ? origin : host + log
}

/** Which log of its service a checkpoint is of, by its first line. */
export const logOfOrigin = (origin: string): number => Number(ORIGIN_OF_LOG.exec(origin)?.[1] ?? 0)

/** The tree of another log, as an entry of type `ledger.head` says it. */
export interface SaidHead extends TreeHead {
  readonly log: number
}

/** An entry of log 0, with its place there. */
export interface LoggedEntry {
  /** Canonical JSON, byte for byte what was hashed. */
  readonly entry: string
  readonly index: number
  /** Audit path. */
  readonly hashes: readonly Uint8Array[]
}

/** The same with the checkpoint of log 0 that holds it, nothing of which was looked at but its form. */
export interface LoggedHead extends LoggedEntry {
  readonly checkpoint: string
}

const HASH = /^[0-9a-f]{64}$/
const isHash = (value: unknown): value is string => typeof value === 'string' && HASH.test(value)

/** A head as `GET /log/{log}/head` and manifests of evidence have it. @returns undefined for what has not that form */
export const readLoggedHead = (value: unknown): LoggedHead | undefined => {
  if (!isObject(value)) return undefined
  const { entry, index, hashes, checkpoint } = value
  const isHead = typeof entry === 'string' && typeof index === 'number' && typeof checkpoint === 'string'
  return isHead && Array.isArray(hashes) && hashes.every(isHash)
    ? { entry, index, hashes: hashes.map(fromHex), checkpoint }
    : undefined
}

/** Whose entries about the logs are: they belong to no organisation. */
export const LOG_ORGANISATION = 'log'

/** What canonical JSON says, which names no member twice. @returns undefined for any other text */
const readCanonical = (entry: string): unknown => {
  let value: unknown
  try {
    value = JSON.parse(entry)
  } catch {
    return undefined
  }
  return hasCanonicalJson(value) && canonicalJson(value) === entry ? value : undefined
}

/** @returns undefined for an entry that says no head */
const readHead = (entry: string): SaidHead | undefined => {
  const value = readCanonical(entry)
  if (!isObject(value) || value.type !== 'ledger.head' || value.org !== LOG_ORGANISATION) return undefined
  const { data } = value
  if (!isObject(data) || Object.keys(data).join() !== 'log,root,size') return undefined
  const { log: named, size, root } = data
  const log = logOf(named)
  const isHead = log !== undefined && log > 0 && Number.isSafeInteger(size) && Number(size) > 0
  return isHead && isHash(root) ? { log, size: size as number, root: fromHex(root) } : undefined
}

/**
 * The head of another log that an entry of log 0 says.
 * @param log0 a tree of log 0, whose checkpoint was checked
 * @returns undefined where it does not stand there, or says none
 */
export const headIn = (
  { entry, index, hashes }: LoggedEntry,
  log0: TreeHead,
  { leafHash, nodeHash }: TreeHashing,
): SaidHead | undefined => {
  const isThere =
    Number.isSafeInteger(index) && verifyInclusion(leafHash(entry), index, log0, hashes, nodeHash)
  return isThere ? readHead(entry) : undefined
}

/** Whether an entry of log 0 says that another log has this tree. @param log0 a tree of log 0, whose checkpoint was checked */
export const holdsTree = (
  place: LoggedEntry,
  log0: TreeHead,
  { log, size, root }: SaidHead,
  hashing: TreeHashing,
): boolean => {
  const said = headIn(place, log0, hashing)
  return said?.log === log && said.size === size && hexOf(said.root) === hexOf(root)
}
