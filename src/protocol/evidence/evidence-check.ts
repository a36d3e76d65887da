/**
 * Checks evidence line by line: the chain, the rows, that their entries stand in the tree, and what the manifest says
 * of it all. Signatures are for whoever has keys.
 * @module
 */

import { isSameJson } from '../canonical-json.ts'
import { isObject } from '../json-object.ts'
import { logOf } from '../log-heads.ts'
import type { Sha256 } from '../merkle-proofs.ts'
import { CHAIN_START, EVIDENCE_FORMAT, FACT_TYPES } from './evidence-format.ts'
import { rebuildTree } from './subset-proof.ts'

/** Why a file is not what was exported. */
export type Fault =
  /** It is no evidence, or in a form that is not known. */
  | 'NOT_EVIDENCE'
  /** It ends before its manifest. */
  | 'CUT_OFF'
  /** Something follows the manifest. */
  | 'TRAILING_DATA'
  /** A line was changed, added, moved or removed. */
  | 'CHAIN_BROKEN'
  /** A row is not of its window and organisation, or says something else than its entry. */
  | 'ROW_MISMATCH'
  /** The rows are not those that the manifest counts. */
  | 'COUNT_MISMATCH'
  /** Entries don't stand in the tree where the file says. */
  | 'ROOT_MISMATCH'
  /** It names a log that there can't be, or an entry of another log than its own. */
  | 'LOG_UNKNOWN'
  /** The manifest is not what was signed. */
  | 'MANIFEST_MISMATCH'

export interface Refusal {
  readonly fault: Fault
  /** From 1. */
  readonly line: number
}

type Json = Readonly<Record<string, unknown>>

const HEADER_TEXTS = ['issuer', 'organisationId', 'since', 'until'] as const
type Header = Json & { readonly [name in (typeof HEADER_TEXTS)[number]]: string }

interface Manifest extends Json {
  readonly treeSize: number
  readonly root: string
  readonly checkpoint: string
  readonly gaps?: readonly string[]
}

/** What the file turned out to say, consistent in itself. */
export interface Contents {
  readonly header: Header
  /** Which log of the service its entries are in. */
  readonly log: number
  readonly manifest: Manifest
  readonly jws: string
  readonly rows: number
  readonly entries: number
}

class Fail extends Error {
  readonly fault: Fault
  constructor(fault: Fault) {
    super(fault)
    this.fault = fault
  }
}

const demand = (holds: boolean, fault: Fault): void => {
  if (!holds) throw new Fail(fault)
}

const parse = (text: string, fault: Fault): Json => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Fail(fault)
  }
  demand(isObject(value), fault)
  return value as Json
}

/** @returns undefined for what is so deep that it can be read, but not be written */
const textOf = (value: Json): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const HASH = /^[0-9a-f]{64}$/
const isHash = (value: unknown): value is string => typeof value === 'string' && HASH.test(value)
const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const hexOf = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

const hashesOf = (value: unknown, fault: Fault): Uint8Array[] => {
  demand(Array.isArray(value) && value.every(isHash), fault)
  return (value as string[]).map((hash) =>
    Uint8Array.from(hash.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)),
  )
}

/** Text may hold line ends of Unicode (U+2028), which end no line here. */
const CHAINED = /^(.*),"chain":"([0-9a-f]{64})"\}$/s
const LEAF_FIELDS = [
  'at',
  'organisationId',
  'index',
  'leafHash',
  'digest',
  'keyId',
  'circuitId',
  'proofId',
] as const

/** More types of rows than there are, so that a file can't fill the memory of whoever reads it. */
const MAX_ROW_TYPES = 64

/** What is checked from line to line. */
const createChecking = (sha256: Sha256) => {
  const tree = rebuildTree(sha256)
  const counts = new Map<string, number>()
  let link = CHAIN_START
  let header: Json | undefined
  let log = 0
  let leaf: Json | undefined
  let rows = 0
  let entries = 0

  const readChained = (line: string): Json => {
    const [, text = '', chain] = CHAINED.exec(line) ?? []
    demand(chain !== undefined && hexOf(sha256(link + text)) === chain, 'CHAIN_BROKEN')
    link = chain as string
    return parse(`${text}}`, 'NOT_EVIDENCE')
  }

  const readHeader = (line: string): void => {
    demand(line.startsWith('{"type":"header",'), 'NOT_EVIDENCE')
    header = readChained(line)
    demand(header.format === EVIDENCE_FORMAT, 'NOT_EVIDENCE')
    demand(
      HEADER_TEXTS.every((name) => typeof header?.[name] === 'string'),
      'NOT_EVIDENCE',
    )
    const named = logOf(header.log)
    demand(named !== undefined, 'LOG_UNKNOWN')
    log = named as number
  }

  /** An entry hashes to its leaf, says what the row says, and comes after the one before. */
  const readLeaf = (row: Json): void => {
    const { entry, leafHash: told, index } = row
    demand(typeof entry === 'string' && isHash(told) && isIndex(index), 'ROW_MISMATCH')
    // RFC 6962 §2.1.
    const hash = sha256(`\0${entry}`)
    const { org, ts, type, digest = null } = parse(entry as string, 'ROW_MISMATCH')
    const isIt =
      hexOf(hash) === told &&
      org === row.organisationId &&
      ts === Date.parse(row.at as string) &&
      type === row.auditEvent &&
      digest === row.digest
    demand(isIt, 'ROW_MISMATCH')
    demand(tree.skip(index as number, hashesOf(row.between, 'ROOT_MISMATCH')), 'ROOT_MISMATCH')
    tree.add(hash)
    leaf = row
    entries++
  }

  const readRow = (line: string): void => {
    const row = readChained(line)
    // Deliveries and requests are of no log.
    demand('index' in row ? logOf(row.log) === log : row.log === undefined, 'LOG_UNKNOWN')
    const { since, until, organisationId } = header as Header
    const { type, at: when } = row
    demand(typeof type === 'string' && typeof when === 'string', 'ROW_MISMATCH')
    const at = Date.parse(when as string)
    const isInside = at >= Date.parse(since) && at < Date.parse(until)
    demand(isInside && row.organisationId === organisationId, 'ROW_MISMATCH')
    if (row.type === 'merkle.leaf') readLeaf(row)
    else if (FACT_TYPES.some((type) => type === row.type)) {
      // It stands right behind its leaf.
      demand(
        LEAF_FIELDS.every((field) => row[field] === leaf?.[field]),
        'ROW_MISMATCH',
      )
      demand(row.type === leaf?.auditEvent, 'ROW_MISMATCH')
    }
    rows++
    counts.set(type as string, (counts.get(type as string) ?? 0) + 1)
    demand(counts.size <= MAX_ROW_TYPES, 'COUNT_MISMATCH')
  }

  const readManifest = (line: string): Contents => {
    const { jws, ...manifest } = parse(line, 'NOT_EVIDENCE')
    const { treeSize, root, checkpoint, gaps = [] } = manifest
    demand(logOf(manifest.log) === log, 'LOG_UNKNOWN')
    demand(manifest.chain === link, 'CHAIN_BROKEN')
    demand(
      manifest.rows === rows && isSameJson(manifest.counts, Object.fromEntries(counts)),
      'COUNT_MISMATCH',
    )
    demand(isIndex(treeSize) && isHash(root), 'ROOT_MISMATCH')
    demand(tree.skip(treeSize as number, hashesOf(manifest.after, 'ROOT_MISMATCH')), 'ROOT_MISMATCH')
    demand(hexOf(tree.root()) === root, 'ROOT_MISMATCH')
    demand(typeof jws === 'string' && typeof checkpoint === 'string', 'MANIFEST_MISMATCH')
    demand(Array.isArray(gaps) && gaps.every((gap) => typeof gap === 'string'), 'MANIFEST_MISMATCH')
    // A member said twice would be another thing to another reader.
    demand(textOf({ ...manifest, jws }) === line, 'MANIFEST_MISMATCH')
    return {
      header: header as Header,
      log,
      manifest: manifest as unknown as Manifest,
      jws: jws as string,
      rows,
      entries,
    }
  }

  return { readHeader, readRow, readManifest }
}

/**
 * @param lines of the form `ndjson` @param sha256 the fastest that there is where this runs
 * @returns what the file says, or the first thing that is wrong with it
 */
export const checkLines = async (
  lines: AsyncIterable<string>,
  sha256: Sha256,
): Promise<Contents | Refusal> => {
  const checking = createChecking(sha256)
  let contents: Contents | undefined
  let number = 0
  try {
    for await (const line of lines) {
      number++
      demand(contents === undefined, 'TRAILING_DATA')
      if (number === 1) checking.readHeader(line)
      else if (line.startsWith('{"type":"manifest",')) contents = checking.readManifest(line)
      else checking.readRow(line)
    }
    if (contents === undefined) throw new Fail(number === 0 ? 'NOT_EVIDENCE' : 'CUT_OFF')
    return contents
  } catch (error) {
    if (error instanceof Fail) return { fault: error.fault, line: number }
    throw error
  }
}
