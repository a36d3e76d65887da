/**
 * Follows one log from outside: whoever signs it can't show it one tree today and another one tomorrow. Each checkpoint must carry the log's
 * signatures, and go on from the newest that was accepted, which hashes from the log's tiles prove.
 * @module
 */
import { hash } from 'node:crypto'
import pLimit from 'p-limit'
import type { Clock } from '../../clock.ts'
import type { AuditEntry, AuditPage } from '../../domain/audit/schemas.ts'
import { isNoteSigned } from '../../keys/note-signatures.ts'
import {
  hexOf,
  NOTE_ED25519,
  type NoteSignature,
  type ReadNote,
  readNote,
  signaturesBy,
  type VerifierKey,
} from '../../protocol/checkpoint/note.ts'
import { judgeCheckpoint, type WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import type { Tree } from '../../web/result/checkpoint.ts'
import { checkConsistency } from '../../web/result/consistency.ts'
import { readCosignature } from '../../web/result/cosignature.ts'
import { leafHashOf, openTree, type PublishedTree } from '../../web/result/inclusion.ts'
import { type LogClient, NOT_FOUND, UnreachableLog } from './log-client.ts'
import { readLogKeys } from './log-keys.ts'
import type { LogState } from './monitor-state.ts'

/** Node's, in the form that the checks of pages take. */
const HASHING = { sha256: async (data: Uint8Array) => new Uint8Array(hash('sha256', data, 'buffer')) }

/** Wrong entries that are told of at one look: whoever has so many needs no more to know. */
const MAX_ENTRY_FINDINGS = 100

export const FINDING_CODES = [
  'UNREACHABLE',
  'CHECKPOINT_MALFORMED',
  'ORIGIN_MISMATCH',
  'CHECKPOINT_UNSIGNED',
  'COSIGNATURE_MISSING',
  'COSIGNATURE_INVALID',
  'WITNESSES_MISSING',
  'WITNESSES_LATE',
  'LOG_SHRANK',
  'LOG_FORKED',
  'LOG_INCONSISTENT',
  'TILES_INVALID',
  'ENTRY_CHANGED',
  'ENTRY_HIDDEN',
  'ENTRY_NOT_IN_LOG',
  'ENTRY_MISSING',
  'HEAD_INVALID',
  'HEAD_MISSING',
  'LOG_MISSING',
] as const

export interface MonitorFinding {
  readonly code: (typeof FINDING_CODES)[number]
  /** Number of the log that it is about. */
  readonly log: number
  /** Place in the log of the entry that it is about; absent where it is about none. */
  readonly index?: number
  readonly detail: string
  /** The checkpoints that show it: keep them. */
  readonly checkpoints: readonly string[]
}

/** Called with a finding as soon as there is one. */
export type Tell = (finding: MonitorFinding) => void

interface Options {
  readonly log: LogClient
  readonly state: LogState
  /** Called before a checkpoint counts as accepted. */
  readonly remember: (state: LogState) => Promise<void>
}

/** What the checkpoints of a log must have been cosigned by, and how long ago at most: a copy that stands still shows nothing of the log. */
export interface Demand {
  readonly policy: WitnessPolicy
  readonly maxAgeMs: number
  readonly clock: Clock
}

/** What looks at one log. Its functions throw UnreachableLog. */
export interface LogMonitor {
  /** What is remembered of the log. */
  state(): LogState
  /** Remembers that its head in log 0 must reach this size. */
  awaitHead(size: number): Promise<void>
  /** Accepts a checkpoint, or says why not; one after the other. @param demanded by whom it must have been cosigned */
  observe(text: string, demanded: Demand | undefined): Promise<MonitorFinding | undefined>
  /**
   * Whether the log has both a tree and the newest that was accepted, one of which begins the other; undefined where the published tiles are
   * not those of the larger one, and so say nothing of it.
   */
  goesWith(tree: Tree): Promise<boolean | undefined>
  /** Looks for the entries of an organisation. @param first the newest page of them @returns how many were found in the log */
  checkEntries(apiKey: string, first: AuditPage, tell: Tell): Promise<number>
}

/** Of an entry of the organisation. */
type EntryFault = readonly [code: MonitorFinding['code'], detail: string]

const signatureFault = (
  note: ReadNote,
  keys: readonly VerifierKey[],
): Pick<MonitorFinding, 'code' | 'detail'> | undefined => {
  const classical = keys.filter(({ type }) => type === NOTE_ED25519)
  if (!classical.some((key) => signaturesBy(note, key).some(isNoteSigned)))
    return { code: 'CHECKPOINT_UNSIGNED', detail: 'No Ed25519 key that is known of the log signed it.' }
  const read = readCosignature(note, keys)
  return 'fault' in read ? { code: read.fault, detail: read.detail } : undefined
}

/** What the witnesses of a policy lack: those that cosigned, or their doing so lately. */
const witnessFault = (
  note: ReadNote,
  { policy, maxAgeMs, clock }: Demand,
): Pick<MonitorFinding, 'code' | 'detail'> | undefined => {
  const since = (clock.now() - maxAgeMs) / 1000
  const isLately = ({ time = 0 }: NoteSignature): boolean => time >= since
  const namesOf = ({ cosigned }: ReturnType<typeof judgeCheckpoint>): string =>
    cosigned.map(({ name }) => name).join(', ') || 'none'
  const ever = judgeCheckpoint(note, policy, isNoteSigned)
  if (!ever.isMet)
    return {
      code: 'WITNESSES_MISSING',
      detail: `The policy is not met; of its witnesses cosigned: ${namesOf(ever)}.`,
    }
  // The log itself signs once, however often it is shown.
  const ofWitnesses = { ...policy, logs: [] }
  const lately = judgeCheckpoint(note, ofWitnesses, (one) => isLately(one) && isNoteSigned(one))
  if (lately.isMet) return undefined
  return {
    code: 'WITNESSES_LATE',
    detail: `The policy is not met by what was cosigned in the last ${maxAgeMs / 1000} s; within them cosigned: ${namesOf(lately)}. What is shown may be a copy that stands still.`,
  }
}

/** The finding that a log does not answer: nothing else is said of it. @throws error if it is another one */
export const unreachable = (error: unknown, log: number): MonitorFinding => {
  if (!(error instanceof UnreachableLog)) throw error
  return { code: 'UNREACHABLE', log, detail: error.message, checkpoints: error.checkpoints }
}

/** What a finding says of published tiles that are not those of a signed tree. */
export const wrongTiles = (size: number): string =>
  `The published tiles do not make the root that was signed over ${size} entries: they can't show whether the log was changed.`

/** @throws Error where the keys of the state are not such that both signatures can be checked */
export const createLogMonitor = ({ log, remember, ...options }: Options): LogMonitor => {
  let { state } = options
  const keys = readLogKeys(state.keys, `the state of ${state.origin}`)
  // Two that were held against the same newest checkpoint at once would not be held against each other.
  const inTurn = pLimit(1)
  const finding = (
    code: MonitorFinding['code'],
    detail: string,
    checkpoints: readonly string[],
  ): MonitorFinding => ({ code, log: log.number, detail, checkpoints })

  const change = async (changes: Partial<LogState>): Promise<void> => {
    const next = { ...state, ...changes }
    await remember(next)
    state = next
  }

  /**
   * Whether a tree goes on from a smaller one. The tiles that are published now must prove it: they prove that it does not, if they show that
   * the larger tree begins with another one. @returns undefined where they are not those of the larger tree
   * @throws UnreachableLog
   */
  const continues = async (earlier: Tree, later: Tree): Promise<boolean | undefined> => {
    const tree = openTree(later.size, log, HASHING)
    const hashes = await tree.consistency(earlier.size)
    const leads = async (from: Tree): Promise<boolean> =>
      (await checkConsistency(from, later, hashes, HASHING)).outcome === 'passed'
    if (await leads(earlier)) return true
    return (await leads({ ...earlier, root: await tree.root(earlier.size) })) ? false : undefined
  }

  /**
   * What is wrong with two checkpoints, one of which must go on from the other.
   * @throws UnreachableLog
   */
  const contradiction = async (
    earlier: Tree,
    later: Tree,
    checkpoints: readonly string[],
  ): Promise<MonitorFinding | undefined> => {
    const isContinued = await continues(earlier, later)
    if (isContinued === undefined) return finding('TILES_INVALID', wrongTiles(later.size), checkpoints)
    const detail = `The log of ${later.size} entries does not go on from the ${earlier.size} that were signed as well: together both checkpoints show that the log was changed.`
    return isContinued ? undefined : finding('LOG_INCONSISTENT', detail, checkpoints)
  }

  /** Holds a checkpoint, whose signatures were checked, against the newest one. @throws UnreachableLog */
  const continuationFault = async (note: ReadNote, text: string): Promise<MonitorFinding | undefined> => {
    const { newest } = state
    if (newest === null) return undefined
    const tree = { size: note.size, root: hexOf(note.root) }
    const checkpoints = [newest.note, text]
    if (tree.size === newest.size)
      return tree.root === newest.root
        ? undefined
        : finding('LOG_FORKED', `The log signed two trees of ${tree.size} entries.`, checkpoints)
    const isOlder = tree.size < newest.size
    try {
      return await (isOlder
        ? contradiction(tree, newest, checkpoints)
        : contradiction(newest, tree, checkpoints))
    } catch (error) {
      if (!(error instanceof UnreachableLog)) throw error
      const { message, status } = error
      if (!isOlder || status !== NOT_FOUND)
        throw new UnreachableLog(message, { status, checkpoints, cause: error })
      // Who signs the older one now, and has no tiles beyond it, has lost entries: a tile that is not found says so.
      const detail = `The log had ${newest.size} entries, now signs a checkpoint of ${tree.size}, and has lost what was between them.`
      return finding('LOG_SHRANK', detail, checkpoints)
    }
  }

  /**
   * Accepts a checkpoint, or says why not. @param demanded by whom it must have been cosigned
   * @throws UnreachableLog
   */
  const accept = async (text: string, demanded: Demand | undefined): Promise<MonitorFinding | undefined> => {
    const found = (code: MonitorFinding['code'], detail: string) => finding(code, detail, [text])
    const note = readNote(text)
    if (note === undefined) return found('CHECKPOINT_MALFORMED', 'What the log publishes is no checkpoint.')
    if (note.origin !== state.origin)
      return found('ORIGIN_MISMATCH', `It is of the log ${note.origin}, not of ${state.origin}.`)
    const fault = signatureFault(note, keys)
    if (fault !== undefined) return found(fault.code, fault.detail)
    const broken = await continuationFault(note, text)
    if (broken !== undefined) return broken
    const root = hexOf(note.root)
    if (note.size > (state.newest?.size ?? -1))
      await change({ newest: { size: note.size, root, note: text } })
    const missing = demanded && witnessFault(note, demanded)
    return missing && found(missing.code, missing.detail)
  }

  const observe: LogMonitor['observe'] = (text, demanded) => inTurn(accept, text, demanded)

  /** What is wrong with an entry of the organisation, of which its text must be there as it was hashed. */
  const textFault = async ({ index, entry, leafHash }: AuditEntry): Promise<EntryFault | undefined> => {
    if (entry === null) return ['ENTRY_HIDDEN', `Entry ${index} is listed without what it says.`]
    if ((await leafHashOf(entry, HASHING)) !== leafHash)
      return ['ENTRY_CHANGED', `Entry ${index} is not what was hashed.`]
    return undefined
  }

  /** What is wrong with its place. @throws UnreachableLog */
  const placeFault = async (
    { index, leafHash }: AuditEntry,
    root: string,
    tree: Pick<PublishedTree, 'rootWith'>,
  ): Promise<EntryFault | undefined> =>
    (await tree.rootWith(leafHash, index)) === root
      ? undefined
      : ['ENTRY_NOT_IN_LOG', `Entry ${index} is not in the log at its place.`]

  /**
   * The organisation's entries that are newer than a known one, and that one, page by page, the newest first.
   * @throws UnreachableLog, also for pages that do not go back, of which a log could answer any number
   */
  async function* readEntries(key: string, first: AuditPage, known: number): AsyncGenerator<AuditEntry[]> {
    let before = Number.POSITIVE_INFINITY
    for (let page = first; ; page = await log.entries(key, page.nextCursor)) {
      for (const { index } of page.entries) {
        if (index < 0 || index >= before)
          throw new UnreachableLog('The audit log answered entries in no order.')
        before = index
      }
      yield page.entries.filter(({ index }) => index >= known)
      const last = page.entries.at(-1)
      if (page.nextCursor === null || last === undefined || last.index <= known) return
    }
  }

  const checkEntries = async (key: string, first: AuditPage, tell: Tell): Promise<number> => {
    const fault = await observe(first.checkpoint, undefined)
    const { newest, newestEntry } = state
    if (fault !== undefined) tell(fault)
    if (fault !== undefined || newest === null) return 0
    let [found, count] = [0, 0]
    let top: AuditEntry | undefined
    let isListed = newestEntry === null
    const tellOf = (index: number, [code, detail]: EntryFault): void => {
      found++
      tell({ ...finding(code, detail, [newest.note]), index })
    }
    for await (const entries of readEntries(key, first, newestEntry?.index ?? -1)) {
      // Its tiles are forgotten with the page.
      const tree = openTree(newest.size, log, HASHING)
      // What was appended after the checkpoint is for the next round.
      for (const entry of entries.filter(({ index }) => index < newest.size)) {
        const { index, leafHash } = entry
        const isKnown = index === newestEntry?.index && leafHash === newestEntry.leafHash
        isListed ||= isKnown
        const wrong =
          (await textFault(entry)) ?? (isKnown ? undefined : await placeFault(entry, newest.root, tree))
        if (wrong !== undefined) tellOf(index, wrong)
        if (found === MAX_ENTRY_FINDINGS) return 0
        top ??= entry
        if (!isKnown) count++
      }
    }
    if (newestEntry !== null && !isListed) {
      const detail = `Entry ${newestEntry.index}, which was seen before, is not listed any more.`
      tellOf(newestEntry.index, ['ENTRY_MISSING', detail])
    }
    if (found > 0) return 0
    if (top !== undefined && count > 0)
      await change({ newestEntry: { index: top.index, leafHash: top.leafHash } })
    return count
  }

  const goesWith = async (tree: Tree): Promise<boolean | undefined> => {
    const { newest } = state
    if (newest === null) return true
    if (tree.size === newest.size) return tree.root === newest.root
    const [earlier, later] = tree.size < newest.size ? [tree, newest] : [newest, tree]
    return continues(earlier, later)
  }

  return {
    state: () => state,
    awaitHead: (size) => change({ awaited: { size, since: Date.now() } }),
    observe,
    goesWith,
    checkEntries,
  }
}
