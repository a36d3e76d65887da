/**
 * Follows a log from outside: whoever signs it can't show it one tree today and another one tomorrow. Each checkpoint must carry the log's
 * signatures, and go on from the newest that was accepted, which hashes from the log's tiles prove.
 * @module
 */
import { hash } from 'node:crypto'
import type { AuditEntry } from '../../domain/audit/schemas.ts'
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
import type { MonitorState } from './monitor-state.ts'

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
] as const

export interface MonitorFinding {
  readonly code: (typeof FINDING_CODES)[number]
  readonly detail: string
  /** The checkpoints that show it: keep them. */
  readonly checkpoints: readonly string[]
}

export interface Round {
  readonly findings: readonly MonitorFinding[]
  /** Of the newest checkpoint that was accepted. */
  readonly size: number | undefined
  /** Of the organisation's entries that were found in the log by this round. */
  readonly entries: number
}

interface Options {
  readonly log: LogClient
  readonly policy: WitnessPolicy | undefined
  /** Of an organisation, whose entries are looked for as well. */
  readonly apiKey: string | undefined
  readonly state: MonitorState
  /** Called before a checkpoint counts as accepted. */
  readonly remember: (state: MonitorState) => Promise<void>
}

const signatureFault = (note: ReadNote, keys: string): Omit<MonitorFinding, 'checkpoints'> | undefined => {
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

/** Whether something can be read at all. Nothing is said of the log while it does not answer. */
const unreachable = (error: unknown): MonitorFinding => {
  if (error instanceof UnreachableLog) return { code: 'UNREACHABLE', detail: error.message, checkpoints: [] }
  throw error
}

/** @returns what looks at the log once, each time it is called */
export const createMonitor = ({ log, policy, apiKey, remember, ...options }: Options) => {
  let { state } = options

  const change = async (changes: Partial<MonitorState>): Promise<void> => {
    const next = { ...state, ...changes }
    await remember(next)
    state = next
  }

  /** Whether a tree goes on from a smaller one, by the tiles that are published now. @throws UnreachableLog */
  const continues = async (earlier: Tree, later: Tree): Promise<Finding> => {
    const hashes = await openTree(later.size, log, HASHING).consistency(earlier.size)
    return checkConsistency(earlier, later, hashes, HASHING)
  }

  /** Whether a checkpoint that is older than the newest one is of the same log, which still has all of it. @throws UnreachableLog */
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
      return { code: 'LOG_SHRANK', detail, checkpoints }
    }
    if (tree.size === newest.size)
      return tree.root === newest.root
        ? undefined
        : { code: 'LOG_FORKED', detail: `The log signed two trees of ${tree.size} entries.`, checkpoints }
    const { outcome, detail } = await continues(newest, tree)
    return outcome === 'passed' ? undefined : { code: 'LOG_INCONSISTENT', detail, checkpoints }
  }

  /**
   * Accepts a checkpoint, or says why not. @param demanded what it must have been cosigned by
   * @throws UnreachableLog
   */
  const observe = async (
    text: string,
    demanded: WitnessPolicy | undefined,
  ): Promise<MonitorFinding | undefined> => {
    const found = (code: MonitorFinding['code'], detail: string): MonitorFinding => ({
      code,
      detail,
      checkpoints: [text],
    })
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
      return { code: 'ENTRY_CHANGED', detail: `Entry ${index} is not what was hashed.`, checkpoints }
    if ((await tree.rootWith(leafHash, index)) === root) return undefined
    return { code: 'ENTRY_NOT_IN_LOG', detail: `Entry ${index} is not in the log at its place.`, checkpoints }
  }

  /** The organisation's entries that are newer than those known, the newest first, and the known one again. @throws UnreachableLog */
  const readEntries = async (
    key: string,
  ): Promise<{ entries: AuditEntry[]; fault: MonitorFinding | undefined }> => {
    const known = state.newestEntry?.index ?? -1
    const entries: AuditEntry[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await log.entries(key, cursor)
      const fault = cursor === undefined ? await observe(page.checkpoint, undefined) : undefined
      if (fault !== undefined) return { entries: [], fault }
      entries.push(...page.entries.filter(({ index }) => index >= known))
      const last = page.entries.at(-1)
      if (page.nextCursor === null || last === undefined || last.index <= known)
        return { entries, fault: undefined }
      cursor = page.nextCursor
    }
  }

  const checkEntries = async (key: string): Promise<{ findings: MonitorFinding[]; count: number }> => {
    const read = await readEntries(key)
    const { newest, newestEntry } = state
    if (read.fault !== undefined) return { findings: [read.fault], count: 0 }
    if (newest === null) return { findings: [], count: 0 }
    const findings: MonitorFinding[] = []
    const isKnown = ({ index, leafHash }: AuditEntry) =>
      index === newestEntry?.index && leafHash === newestEntry.leafHash
    if (newestEntry !== null && !read.entries.some(isKnown)) {
      const detail = `Entry ${newestEntry.index}, which was seen before, is not listed any more.`
      findings.push({ code: 'ENTRY_MISSING', detail, checkpoints: [newest.note] })
    }
    const tree = openTree(newest.size, log, HASHING)
    // What was appended after the checkpoint is for the next round.
    const covered = read.entries.filter((entry) => entry.index < newest.size && !isKnown(entry))
    for (const entry of covered) {
      const fault = await entryFault(entry, newest, tree)
      if (fault !== undefined) findings.push(fault)
    }
    const [top] = covered
    if (findings.length === 0 && top !== undefined)
      await change({ newestEntry: { index: top.index, leafHash: top.leafHash } })
    return { findings, count: findings.length === 0 ? covered.length : 0 }
  }

  return async (): Promise<Round> => {
    const findings: MonitorFinding[] = []
    let entries = 0
    try {
      const fault = await observe(await log.checkpoint(), policy)
      if (fault !== undefined) findings.push(fault)
      if (apiKey !== undefined) {
        const checked = await checkEntries(apiKey)
        findings.push(...checked.findings)
        entries = checked.count
      }
    } catch (error) {
      findings.push(unreachable(error))
    }
    return { findings, size: state.newest?.size, entries }
  }
}
