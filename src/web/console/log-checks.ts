/** What the log explorer checks in the browser: checkpoints, and entries under them. @module */
import type { AuditEntry, ConsistencyProof } from '../../domain/audit/schemas.ts'
import { openCrypto } from '../crypto/crypto.ts'
import { nameIn, readCheckpoint, type Tree } from '../result/checkpoint.ts'
import { checkConsistency } from '../result/consistency.ts'
import { type Finding, failed, passed, skipped } from '../result/finding.ts'
import { checkInclusion, leafHashOf } from '../result/inclusion.ts'
import { publishedLog } from '../result/published.ts'
import type { TitledFinding } from './parts/findings.tsx'
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

/** The checkpoint of now, once its signature was checked. */
interface Present {
  readonly name: string
  readonly note: string
  /** Absent when it is not to be believed. */
  readonly tree?: Tree
  readonly signature: Finding
}

/** @throws UnreachableError */
const readPresent = async (): Promise<Present> => {
  const note = await publishedLog.checkpoint()
  const name = nameIn(note) ?? ''
  const tree = await readCheckpoint(note, await publishedLog.keys(), name, await open())
  if (typeof tree === 'string') return { name, note, signature: failed(tree) }
  const whose =
    name === location.host ? '' : ` It calls itself ${name}, and this page came from ${location.host}.`
  return {
    name,
    note,
    tree,
    signature: passed(
      `The log’s Ed25519 key, as published at /checkpoint/keys, signed a tree of ${tree.size} entries.${whose}`,
    ),
  }
}

/** @throws ServiceError, UnreachableError */
const goesOn = async (before: Tree, tree: Tree): Promise<Finding> => {
  const { hashes } =
    before.size === 0 || before.size === tree.size
      ? { hashes: [] }
      : await ask<ConsistencyProof>('GET', `/api/audit/consistency?from=${before.size}&to=${tree.size}`)
  return checkConsistency(before, tree, hashes, await open())
}

/** @param earlier a signed note @throws ServiceError, UnreachableError */
const compare = async ({ name, tree }: Present, earlier: string): Promise<Finding> => {
  if (tree === undefined) return skipped('There is no checkpoint to compare it with.')
  const before = await readCheckpoint(earlier, await publishedLog.keys(), name, await open())
  if (typeof before === 'string') return failed(before)
  if (before.size > tree.size)
    return failed(
      `It is over ${before.size} entries, and the log says that it has ${tree.size} now. Keep both checkpoints: a log never shrinks.`,
    )
  return goesOn(before, tree)
}

/** Whether the log, as signed now, goes on from a tree that somebody was told. @throws ServiceError, UnreachableError */
export const compareTree = async (told: Tree): Promise<Finding> => {
  const { tree, signature } = await readPresent()
  if (tree === undefined) return signature
  if (told.size > tree.size)
    return skipped(`The checkpoint covers ${tree.size} entries, and it is about ${told.size}.`)
  return goesOn(told, tree)
}

const NOT_CHECKED: TitledFinding = {
  title: 'Post-quantum signature',
  ...skipped('The checkpoint has an ML-DSA-44 cosignature as well, which the page Verify (/verify) checks.'),
}

export interface LogExamination {
  readonly note: string
  readonly size: number | undefined
  readonly findings: readonly TitledFinding[]
}

/** The log as a whole: its signature, and whether it goes on from what this browser saw. @throws ServiceError, UnreachableError */
export const examineLog = async (): Promise<LogExamination> => {
  const present = await readPresent()
  const { name, note, tree, signature } = present
  const earlier = kept(name)
  const growth =
    earlier === null
      ? skipped('This browser has seen no checkpoint of the log before.')
      : await compare(present, earlier)
  const isKept = tree !== undefined && growth.outcome !== 'failed' && keep(name, note)
  const detail = isKept ? `${growth.detail} It keeps this one, to compare the next with.` : growth.detail
  return {
    note,
    size: tree?.size,
    findings: [
      { title: 'Signature of the checkpoint', ...signature },
      { title: 'Grown from what this browser saw last', ...growth, detail },
      NOT_CHECKED,
    ],
  }
}

/** @param earlier as somebody kept it @throws ServiceError, UnreachableError */
export const examineEarlier = async (earlier: string): Promise<readonly TitledFinding[]> => {
  const present = await readPresent()
  // A text field ends without the line's end, which is part of what was signed.
  const note = `${earlier.replaceAll('\r\n', '\n').trim()}\n`
  return [
    { title: 'Signature of the checkpoint of now', ...present.signature },
    { title: 'The log goes on from the one you kept', ...(await compare(present, note)) },
  ]
}

/** One entry: its text, and its place under the signed checkpoint. @throws UnreachableError */
export const examineEntry = async ({
  entry,
  leafHash,
  index,
}: AuditEntry): Promise<readonly TitledFinding[]> => {
  const crypto = await open()
  const text =
    entry === null
      ? skipped('Entries of other organisations are shown without their text.')
      : (await leafHashOf(entry, crypto)) === leafHash
        ? passed(`Its SHA-256 is the leaf ${leafHash}.`)
        : failed('Its SHA-256 is not the leaf that the list tells.')
  const name = nameIn(await publishedLog.checkpoint()) ?? ''
  return [
    { title: 'Text of the entry', ...text },
    {
      title: 'Entry in the log',
      ...(await checkInclusion({ leafHash, index, name }, publishedLog, crypto)),
    },
    {
      title: 'What the entry says',
      ...skipped('That something was recorded, unchanged, does not make it true.'),
    },
  ]
}
