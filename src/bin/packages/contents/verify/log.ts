/** The log from outside: entries are in it (RFC 9162 §2.1.3), and it only grew (§2.1.4). @module */
import { createCore } from '../../../../core/index.ts'
import { concat, fromHex, hexOf } from '../../../../protocol/checkpoint/note.ts'
import {
  verifyConsistency as isConsistent,
  verifyInclusion as isIncluded,
  isOfOnlyLog,
  type TreeHead,
} from '../../../../protocol/merkle-proofs.ts'

const HASH = /^[0-9a-f]{64}$/

const core = createCore()
const encoder = new TextEncoder()

const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  core.sha256(concat(Uint8Array.of(1), left, right))

const EMPTY_ROOT = core.sha256(new Uint8Array())

/** SHA-256(0x00 ‖ entry), lower-case hex. @param entry canonical JSON, as `GET /api/audit` answers it */
export const leafHash = (entry: string): string =>
  hexOf(core.sha256(concat(Uint8Array.of(0), encoder.encode(entry))))

/** Size and root of the log, as a checkpoint has them. */
export interface Tree {
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
  /** Reserved for services with several logs: absent, it is 0. Anything else is refused. */
  readonly log?: number
}

const headOf = ({ size, root }: Tree): TreeHead => ({ size, root: fromHex(root) })

const areHashes = (...texts: readonly string[]): boolean => texts.every((text) => HASH.test(text))

/** Whether an entry stands in the log at this place. */
export const verifyInclusion = (
  { leafHash: leaf, index, hashes, log }: Inclusion,
  { size, root }: Tree,
): boolean => {
  if (!isOfOnlyLog(log)) return false
  if (!areHashes(leaf, root, ...hashes) || !Number.isSafeInteger(index) || !Number.isSafeInteger(size))
    return false
  return isIncluded(fromHex(leaf), index, headOf({ size, root }), hashes.map(fromHex), nodeHash)
}

/**
 * Whether a log only grew from one checkpoint to another.
 * @param hashes as `GET /api/audit/consistency?from&to` answers them for the two sizes
 */
export const verifyConsistency = (earlier: Tree, later: Tree, hashes: readonly string[]): boolean => {
  if (!areHashes(earlier.root, later.root, ...hashes)) return false
  if (![earlier.size, later.size].every((size) => Number.isSafeInteger(size) && size >= 0)) return false
  return isConsistent(headOf(earlier), headOf(later), hashes.map(fromHex), nodeHash, EMPTY_ROOT)
}
