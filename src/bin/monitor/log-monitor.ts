/**
 * Follows one log from outside: whoever signs it can't show it one tree today and another one tomorrow. Each checkpoint must carry the log's
 * signatures, and go on from the newest that was accepted, which hashes from the log's tiles prove.
 * @module
 */
import { hash } from 'node:crypto'
import type { AuditEntry, AuditPage } from '../../domain/audit/schemas.ts'
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { hexOf, NOTE_ED25519, type ReadNote, readNote, signaturesBy } from '../../protocol/checkpoint/note.ts'
import { checkedVerifierKey } from '../../protocol/checkpoint/signed-note.ts'
import { judgeCheckpoint, type WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import type { Tree } from '../../web/result/checkpoint.ts'
import { checkConsistency } from '../../web/result/consistency.ts'
import { readCosignature } from '../../web/result/cosignature.ts'
import type { Finding } from '../../web/result/finding.ts'
import { leafHashOf, openTree, type PublishedTree } from '../../web/result/inclusion.ts'
import { type LogClient, NOT_FOUND, UnreachableLog } from './log-client.ts'
import type { LogState } from './monitor-state.ts'

/** Node's, in the form that the checks of pages take. */
const HASHING = { sha256: async (data: Uint8Array) => new Uint8Array(hash('sha256', data, 'buffer')) }

export const FINDING_CODES = [
  'UNREACHABLE',
  'CHECKPOINT_MALFORMED',
  'ORIGIN_MISMATCH',
  'CHECKPOINT_UNSIGNED',
  'COSIGNATURE_MISSING',
  'COSIGNATURE_INVALID',
  'WITNESSES_MISSING',
  'LOG_SHRANK',
  'LOG_FORKED',
  'LOG_INCONSISTENT',
  'ENTRY_CHANGED',
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
  readonly detail: string
  /** The checkpoints that show it: keep them. */
  readonly checkpoints: readonly string[]
}

interface Options {
  readonly log: LogClient
  readonly state: LogState
  /** Called before a checkpoint counts as accepted. */
  readonly remember: (state: LogState) => Promise<void>
}

export interface CheckedEntries {
  readonly findings: readonly MonitorFinding[]
  /** Entries that were found in the log. */
  readonly count: number
}

/** What looks at one log. Its functions throw UnreachableLog. */
export interface LogMonitor {
  /** What is remembered of the log. */
  state(): LogState
  /** Remembers that its head in log 0 must reach this size. */
  awaitHead(size: number): Promise<void>
  /** Accepts a checkpoint, or says why not. @param demanded what it must have been cosigned by */
  observe(text: string, demanded: WitnessPolicy | undefined): Promise<MonitorFinding | undefined>
  /** Whether the log has both a tree and the newest that was accepted, one of which begins the other. */
  goesWith(tree: Tree): Promise<boolean>
  /** Looks for the entries of an organisation. @param first the newest page of them @returns also how many were found in the log */
  checkEntries(apiKey: string, first: AuditPage): Promise<CheckedEntries>
}

const signatureFault = (
  note: ReadNote,
  keys: string,
): Pick<MonitorFinding, 'code' | 'detail'> | undefined => {
  const own = keys.split('\n').flatMap((line) => checkedVerifierKey(line) ?? [])
  const [classical, others] = [
    own.filter(({ type }) => type === NOTE_ED25519),
    own.filter(({ type }) => type !== NOTE_ED25519),
  ]
  if (classical.length > 0 && !classical.some((key) => signaturesBy(note, key).some(isNoteSigned)))
    return { code: 'CHECKPOINT_UNSIGNED', detail: 'No Ed25519 key that is known of the log signed it.' }
  if (others.length === 0) return undefined
  const read = readCosignature(note, others)
  return 'fault' in read ? { code: read.fault, detail: read.detail } : undefined
}

/** The finding that a log does not answer: nothing else is said of it. @throws error if it is another one */
export const unreachable = (error: unknown, log: number): MonitorFinding => {
  if (!(error instanceof UnreachableLog)) throw error
  return { code: 'UNREACHABLE', log, detail: error.message, checkpoints: [] }
}

export const createLogMonitor = ({ log, remember, ...options }: Options): LogMonitor => {
  let { state } = options
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

  /** Whether a tree goes on from a smaller one, by the tiles that are published now. @throws UnreachableLog */
  const continues = async (earlier: Tree, later: Tree): Promise<Finding> => {
    const hashes = await openTree(later.size, log, HASHING).consistency(earlier.size)
    return checkConsistency(earlier, later, hashes, HASHING)
  }

  /**
   * Whether the log still has all of the newest checkpoint, and that goes on from an older one. Who signs the older one now, and has no tiles
   * beyond it, has lost entries: here a tile that is not found says so.
   * @throws UnreachableLog
   */
  const isBehind = async (older: Tree, newest: Tree): Promise<boolean> => {
    try {
      return (await continues(older, newest)).outcome === 'passed'
    } catch (error) {
      if (error instanceof UnreachableLog && error.status === NOT_FOUND) return false
      throw error
    }
  }

  /** Holds a checkpoint, whose signatures were checked, against the newest one. @throws UnreachableLog */
  const continuationFault = async (note: ReadNote, text: string): Promise<MonitorFinding | undefined> => {
    const { newest } = state
    if (newest === null) return undefined
    const tree = { size: note.size, root: hexOf(note.root) }
    const checkpoints = [newest.note, text]
    if (tree.size < newest.size) {
      if (await isBehind(tree, newest)) return undefined
      const detail = `The log had ${newest.size} entries, now signs a checkpoint of ${tree.size}, and has lost what was between them.`
      return finding('LOG_SHRANK', detail, checkpoints)
    }
    if (tree.size === newest.size)
      return tree.root === newest.root
        ? undefined
        : finding('LOG_FORKED', `The log signed two trees of ${tree.size} entries.`, checkpoints)
    const { outcome, detail } = await continues(newest, tree)
    return outcome === 'passed' ? undefined : finding('LOG_INCONSISTENT', detail, checkpoints)
  }

  /**
   * Accepts a checkpoint, or says why not. @param demanded what it must have been cosigned by
   * @throws UnreachableLog
   */
  const observe = async (
    text: string,
    demanded: WitnessPolicy | undefined,
  ): Promise<MonitorFinding | undefined> => {
    const found = (code: MonitorFinding['code'], detail: string) => finding(code, detail, [text])
    const note = readNote(text)
    if (note === undefined) return found('CHECKPOINT_MALFORMED', 'What the log publishes is no checkpoint.')
    if (note.origin !== state.origin)
      return found('ORIGIN_MISMATCH', `It is of the log ${note.origin}, not of ${state.origin}.`)
    const fault = signatureFault(note, state.keys)
    if (fault !== undefined) return found(fault.code, fault.detail)
    const broken = await continuationFault(note, text)
    if (broken !== undefined) return broken
    const root = hexOf(note.root)
    if (note.size > (state.newest?.size ?? -1))
      await change({ newest: { size: note.size, root, note: text } })
    const { isMet, cosigned } = demanded
      ? judgeCheckpoint(note, demanded, isNoteSigned)
      : { isMet: true, cosigned: [] }
    const names = cosigned.map(({ name }) => name).join(', ') || 'none'
    return isMet
      ? undefined
      : found('WITNESSES_MISSING', `The policy is not met; of its witnesses cosigned: ${names}.`)
  }

  /** Holds an entry of the organisation against the tree. @throws UnreachableLog */
  const entryFault = async (
    { index, entry, leafHash }: AuditEntry,
    { root, note }: { readonly root: string; readonly note: string },
    tree: Pick<PublishedTree, 'rootWith'>,
  ): Promise<MonitorFinding | undefined> => {
    const checkpoints = [note]
    if (entry !== null && (await leafHashOf(entry, HASHING)) !== leafHash)
      return finding('ENTRY_CHANGED', `Entry ${index} is not what was hashed.`, checkpoints)
    if ((await tree.rootWith(leafHash, index)) === root) return undefined
    return finding('ENTRY_NOT_IN_LOG', `Entry ${index} is not in the log at its place.`, checkpoints)
  }

  /**
   * The organisation's entries that are newer than those known, the newest first, and the known one again.
   * @throws UnreachableLog, also for pages that do not go back, of which a log could answer any number
   */
  const readEntries = async (key: string, first: AuditPage): Promise<AuditEntry[]> => {
    const known = state.newestEntry?.index ?? -1
    const entries: AuditEntry[] = []
    let before = Number.POSITIVE_INFINITY
    for (let page = first; ; page = await log.entries(key, page.nextCursor)) {
      for (const { index } of page.entries) {
        if (index < 0 || index >= before)
          throw new UnreachableLog('The audit log answered entries in no order.')
        before = index
      }
      entries.push(...page.entries.filter(({ index }) => index >= known))
      const last = page.entries.at(-1)
      if (page.nextCursor === null || last === undefined || last.index <= known) return entries
    }
  }

  const checkEntries = async (key: string, first: AuditPage): Promise<CheckedEntries> => {
    const fault = await observe(first.checkpoint, undefined)
    if (fault !== undefined) return { findings: [fault], count: 0 }
    const entries = await readEntries(key, first)
    const { newest, newestEntry } = state
    if (newest === null) return { findings: [], count: 0 }
    const findings: MonitorFinding[] = []
    const isKnown = ({ index, leafHash }: AuditEntry) =>
      index === newestEntry?.index && leafHash === newestEntry.leafHash
    if (newestEntry !== null && !entries.some(isKnown)) {
      const detail = `Entry ${newestEntry.index}, which was seen before, is not listed any more.`
      findings.push(finding('ENTRY_MISSING', detail, [newest.note]))
    }
    const tree = openTree(newest.size, log, HASHING)
    // What was appended after the checkpoint is for the next round.
    const covered = entries.filter((entry) => entry.index < newest.size && !isKnown(entry))
    for (const entry of covered) {
      const fault = await entryFault(entry, newest, tree)
      if (fault !== undefined) findings.push(fault)
    }
    const [top] = covered
    if (findings.length === 0 && top !== undefined)
      await change({ newestEntry: { index: top.index, leafHash: top.leafHash } })
    return { findings, count: findings.length === 0 ? covered.length : 0 }
  }

  const goesWith = async (tree: Tree): Promise<boolean> => {
    const { newest } = state
    if (newest === null) return true
    if (tree.size === newest.size) return tree.root === newest.root
    const [earlier, later] = tree.size < newest.size ? [tree, newest] : [newest, tree]
    return (await continues(earlier, later)).outcome === 'passed'
  }

  return {
    state: () => state,
    awaitHead: (size) => change({ awaited: { size, since: Date.now() } }),
    observe,
    goesWith,
    checkEntries,
  }
}
