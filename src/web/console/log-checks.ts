/** What the log explorer checks in the browser: checkpoints, and entries under them. @module */
import type { AuditEntry, AuditPage, ConsistencyProof } from '../../domain/audit/schemas.ts'
import { hexOf, readNote, type VerifierKey } from '../../protocol/checkpoint/note.ts'
import { firstOrigin, logOfOrigin, originOfLog } from '../../protocol/log-heads.ts'
import { openCrypto } from '../crypto/crypto.ts'
import { loadCode } from '../http.ts'
import { keysOf, nameIn, readCheckpoint, type Tree } from '../result/checkpoint.ts'
import { checkConsistency } from '../result/consistency.ts'
import { type Finding, failed, passed, skipped } from '../result/finding.ts'
import { checkInclusion, leafHashOf } from '../result/inclusion.ts'
import { pathOfLog, publishedLog } from '../result/published.ts'
import type { TitledFinding } from './parts/findings.tsx'
import { ServiceError } from './service.ts'
import { ask } from './session.ts'

/** Of what this browser has seen signed, per log. */
const SEEN = 'assay.checkpoint.'

const open = () => openCrypto(globalThis.crypto.subtle)

/** A browser may forbid a page to keep anything. */
const kept = (name: string): string | null => {
  try {
    return localStorage.getItem(SEEN + name)
  } catch {
    return null
  }
}

const keep = (name: string, note: string): boolean => {
  try {
    localStorage.setItem(SEEN + name, note)
    return true
  } catch {
    return false
  }
}

/** What the log’s own keys say of a checkpoint. */
interface Signed {
  /** Absent unless both signatures hold: then it is not to be believed. */
  readonly tree?: Tree
  readonly classical: Finding
  readonly postQuantum: Finding
}

/** @throws UnreachableError */
const cosignatureOf = async (text: string, keys: readonly VerifierKey[]): Promise<Finding> => {
  const note = readNote(text)
  if (note === undefined) return failed('The checkpoint can’t be read.')
  const { readCosignature } = await loadCode(() => import('../result/cosignature.ts'))
  const read = readCosignature(note, keys)
  return 'fault' in read
    ? failed(read.detail)
    : passed(
        `The log’s ML-DSA-44 key, as published at ${pathOfLog(logOfOrigin(note.origin))}/checkpoint/keys, cosigned the same tree at ${new Date(read.time * 1000).toUTCString()}.`,
      )
}

/** @param note a checkpoint @param name of the log @throws UnreachableError */
const readSigned = async (note: string, name: string): Promise<Signed> => {
  const crypto = await open()
  const log = logOfOrigin(name)
  const keys = await publishedLog(log).keys()
  const tree = await readCheckpoint(note, keys, name, crypto)
  const postQuantum = await cosignatureOf(note, await keysOf(name, keys, crypto))
  if (typeof tree === 'string') return { classical: failed(tree), postQuantum }
  const classical = passed(
    `The log’s Ed25519 key, as published at ${pathOfLog(log)}/checkpoint/keys, signed a tree of ${tree.size} entries.`,
  )
  return { classical, postQuantum, ...(postQuantum.outcome === 'passed' && { tree }) }
}

/** The checkpoint of now. */
interface Present extends Signed {
  readonly name: string
  readonly note: string
}

/** @param log its number @throws UnreachableError */
const readPresent = async (log: number): Promise<Present> => {
  const note = await publishedLog(log).checkpoint()
  const name = nameIn(note) ?? ''
  const signed = await readSigned(note, name)
  const { classical } = signed
  const whose =
    firstOrigin(name) === originOfLog(location.host, log) || classical.outcome !== 'passed'
      ? ''
      : ` It calls itself ${name}, and this page came from ${location.host}.`
  return { ...signed, name, note, classical: { ...classical, detail: classical.detail + whose } }
}

/** Both signatures. @param whose where several checkpoints are told apart */
const signatures = ({ classical, postQuantum }: Signed, whose = ''): readonly TitledFinding[] => [
  { title: `Signature${whose || ' of the checkpoint'}`, ...classical },
  { title: `Post-quantum signature${whose}`, ...postQuantum },
]

/** @throws ServiceError, UnreachableError */
const goesOn = async (before: Tree, tree: Tree, log: number): Promise<Finding> => {
  const { hashes } =
    before.size === 0 || before.size === tree.size
      ? { hashes: [] }
      : await ask<ConsistencyProof>(
          'GET',
          `/api/audit/consistency?log=${log}&from=${before.size}&to=${tree.size}`,
        )
  return checkConsistency(before, tree, hashes, await open())
}

const NOTHING_TO_COMPARE = skipped('There is no checkpoint to compare it with.')

/** @param before what was signed earlier @throws ServiceError, UnreachableError */
const compare = async ({ tree, name }: Present, before: Tree): Promise<Finding> => {
  if (tree === undefined) return NOTHING_TO_COMPARE
  const log = logOfOrigin(name)
  if (before.size <= tree.size) return goesOn(before, tree, log)
  const found = await goesOn(tree, before, log).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'invalid_query') return undefined
    throw error
  })
  if (found === undefined)
    return failed(
      `It is over ${before.size} entries, and the log says that it has fewer now. Keep both checkpoints: a log never shrinks.`,
    )
  if (found.outcome === 'failed') return found
  return skipped(
    `It is over ${before.size} entries, and the log publishes ${tree.size} now: perhaps its witnesses have not seen more yet. Check it again in a few minutes. If the log still publishes less then, keep both checkpoints: a log never shrinks.`,
  )
}

/** Whether a log, as signed now, goes on from a tree that somebody was told. @param log its number @throws ServiceError, UnreachableError */
export const compareTree = async (told: Tree, log: number): Promise<Finding> => {
  const { tree, classical, postQuantum } = await readPresent(log)
  // It says nothing of what it can't be compared with.
  if (tree === undefined) return skipped((classical.outcome === 'failed' ? classical : postQuantum).detail)
  if (told.size > tree.size)
    return skipped(`The checkpoint covers ${tree.size} entries, and it is about ${told.size}.`)
  return goesOn(told, tree, log)
}

export interface LogExamination {
  readonly note: string
  readonly size: number | undefined
  readonly findings: readonly TitledFinding[]
}

/** What this browser saw last. Its signatures were checked when it was kept, by keys that may have been replaced since. */
const seenLast = (name: string): Tree | undefined => {
  const note = readNote(kept(name) ?? '')
  return note && { size: note.size, root: hexOf(note.root) }
}

/** The log of the organisation. @throws ServiceError */
const ownLog = async (): Promise<number> => (await ask<AuditPage>('GET', '/api/audit?limit=1')).log ?? 0

/** The log as a whole: its signatures, and whether it goes on from what this browser saw. @throws ServiceError, UnreachableError */
export const examineLog = async (): Promise<LogExamination> => {
  const present = await readPresent(await ownLog())
  const { name, note, tree } = present
  const before = seenLast(name)
  const growth =
    before === undefined
      ? skipped('This browser has seen no checkpoint of the log before.')
      : await compare(present, before)
  // Never a smaller one in place of what shows that the log shrank.
  const isNext = before === undefined || growth.outcome === 'passed'
  const isKept = tree !== undefined && isNext && keep(name, note)
  const detail = isKept ? `${growth.detail} It keeps this one, to compare the next with.` : growth.detail
  return {
    note,
    size: tree?.size,
    findings: [...signatures(present), { title: 'Grown from what this browser saw last', ...growth, detail }],
  }
}

/** @param earlier as somebody kept it @throws ServiceError, UnreachableError */
export const examineEarlier = async (earlier: string): Promise<readonly TitledFinding[]> => {
  const present = await readPresent(logOfOrigin(earlier.trim().split('\n', 1)[0]?.trim() ?? ''))
  // A text field ends without the line's end, which is part of what was signed.
  const before = await readSigned(`${earlier.replaceAll('\r\n', '\n').trim()}\n`, present.name)
  const growth = before.tree === undefined ? NOTHING_TO_COMPARE : await compare(present, before.tree)
  return [
    ...signatures(present, ' of the one of now'),
    ...signatures(before, ' of the one you kept'),
    { title: 'The log goes on from the one you kept', ...growth },
  ]
}

/** One entry: its text, and its place under the signed checkpoint. @throws UnreachableError */
export const examineEntry = async ({
  entry,
  leafHash,
  log: number = 0,
  index,
}: AuditEntry): Promise<readonly TitledFinding[]> => {
  const crypto = await open()
  const text =
    entry === null
      ? skipped('Entries of other organisations are shown without their text.')
      : (await leafHashOf(entry, crypto)) === leafHash
        ? passed(`Its SHA-256 is the leaf ${leafHash}.`)
        : failed('Its SHA-256 is not the leaf that the list tells.')
  const present = await readPresent(number)
  const { name, note, tree } = present
  // The same checkpoint whose signatures were checked.
  const log = { ...publishedLog(number), checkpoint: async () => note }
  const place =
    tree === undefined ? NOTHING_TO_COMPARE : await checkInclusion({ leafHash, index, name }, log, crypto)
  return [
    { title: 'Text of the entry', ...text },
    ...signatures(present),
    { title: 'Entry in the log', ...place },
    {
      title: 'What the entry says',
      ...skipped('That something was recorded, unchanged, does not make it true.'),
    },
  ]
}
