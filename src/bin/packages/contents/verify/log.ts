/** The log from outside: entries are in it (RFC 9162 §2.1.3), and it only grew (§2.1.4). @module */
import { createCore } from '../../../../core/index.ts'
import { fromHex, hexOf } from '../../../../protocol/checkpoint/note.ts'
import { holdsTree, logOf, logOfOrigin, originOfLog } from '../../../../protocol/log-heads.ts'
import {
  verifyConsistency as isConsistent,
  verifyInclusion as isIncluded,
  type TreeHead,
  treeHashing,
} from '../../../../protocol/merkle-proofs.ts'

const HASH = /^[0-9a-f]{64}$/

const core = createCore()
const hashing = treeHashing(core.sha256)

const EMPTY_ROOT = core.sha256(new Uint8Array())

/** SHA-256(0x00 ‖ entry), lower-case hex. @param entry canonical JSON, as `GET /api/audit` answers it */
export const leafHash = (entry: string): string => hexOf(hashing.leafHash(entry))

/** Size and root of the log, as a checkpoint has them. */
export interface Tree {
  /** First line of its checkpoint, as `readCheckpoint` says it; absent: it is of log 0. */
  readonly origin?: string
  readonly size: number
  /** Lower-case hex. */
  readonly root: string
}

export interface Inclusion {
  /** Lower-case hex, as all hashes. */
  readonly leafHash: string
  readonly index: number
  /** The audit path for a tree of this size, as `GET /api/audit/inclusion?index&treeSize` answers it. */
  readonly hashes: readonly string[]
  /** Which log of the service: absent, it is 0. A tree of another log is refused. */
  readonly log?: number
}

const headOf = ({ size, root }: Tree): TreeHead => ({ size, root: fromHex(root) })

/** What services answer may be any JSON. */
const areHashes = (texts: readonly string[]): boolean =>
  Array.isArray(texts) && texts.every((text) => typeof text === 'string' && HASH.test(text))

/** Whether an entry stands in the log at this place. */
export const verifyInclusion = (
  { leafHash: leaf, index, hashes, log }: Inclusion,
  { origin = '', size, root }: Tree,
): boolean => {
  if (logOf(log) !== logOfOrigin(origin)) return false
  if (
    !areHashes([leaf, root]) ||
    !areHashes(hashes) ||
    !Number.isSafeInteger(index) ||
    !Number.isSafeInteger(size)
  )
    return false
  return isIncluded(fromHex(leaf), index, headOf({ size, root }), hashes.map(fromHex), hashing.nodeHash)
}

/**
 * Whether a log only grew from one checkpoint to another.
 * @param hashes as `GET /api/audit/consistency?from&to` answers them for the two sizes
 */
export const verifyConsistency = (earlier: Tree, later: Tree, hashes: readonly string[]): boolean => {
  if (logOfOrigin(earlier.origin ?? '') !== logOfOrigin(later.origin ?? '')) return false
  if (!areHashes([earlier.root, later.root]) || !areHashes(hashes)) return false
  if (![earlier.size, later.size].every((size) => Number.isSafeInteger(size) && size >= 0)) return false
  return isConsistent(headOf(earlier), headOf(later), hashes.map(fromHex), hashing.nodeHash, EMPTY_ROOT)
}

/** The head of another log, as `GET /log/{log}/head` and evidence have it. */
export interface Head {
  /** The entry of log 0 that says it: canonical JSON. */
  readonly entry: string
  readonly index: number
  /** The audit path for the tree of log 0. */
  readonly hashes: readonly string[]
}

/**
 * Whether log 0 holds a tree of another log, so that whoever cosigned log 0 saw it.
 * @param tree of that log, with its origin @param log0 of log 0, with its own
 */
export const verifyHead = ({ entry, index, hashes }: Head, tree: Tree, log0: Tree): boolean => {
  const origin = log0.origin ?? ''
  const log = logOfOrigin(tree.origin ?? '')
  const isNamed = log > 0 && logOfOrigin(origin) === 0 && tree.origin === originOfLog(origin, log)
  if (!isNamed || !areHashes([tree.root, log0.root]) || !areHashes(hashes)) return false
  if (typeof entry !== 'string' || !Number.isSafeInteger(log0.size)) return false
  const place = { entry, index, hashes: hashes.map(fromHex) }
  return holdsTree(place, headOf(log0), { ...headOf(tree), log }, hashing)
}
