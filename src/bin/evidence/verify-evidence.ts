/**
 * `npx assay verify-evidence`: checks an export with nothing but its file and the service's public keys, and says
 * what that shows.
 * @module
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { JwkSet } from '../../keys/jwks.ts'
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { NOTE_ML_DSA_44_COSIGNATURE, readNote } from '../../protocol/checkpoint/note.ts'
import { identified } from '../../protocol/checkpoint/signed-note.ts'
import {
  type Cosigned,
  judgeCheckpoint,
  readWitnessPolicy,
  type WitnessPolicy,
} from '../../protocol/checkpoint/witness-policy.ts'
import { type Contents, checkLines, type Fault } from '../../protocol/evidence/evidence-check.ts'
import { EvidenceFileError } from '../../protocol/evidence/evidence-lines.ts'
import {
  checkSignatures,
  coversManifest,
  type SignatureFault,
  treeFault,
  type Verifier,
  witnessedCheckpoint,
} from '../../protocol/evidence/evidence-signatures.ts'
import { firstOrigin } from '../../protocol/log-heads.ts'
import { type Cosignature, readCosignature } from '../../web/result/cosignature.ts'
import { printable } from '../printable.ts'
import { readEvidenceLines } from './evidence-file.ts'

/** Exit statuses beside 0, it holds: it does not · it could not be checked. */
const EXIT_REFUSED = 1
const EXIT_UNKNOWN = 2

export interface Flags {
  /** File with the service's JWK set. */
  readonly keys?: string
  /** File with its JWK set of post-quantum keys: then the log's own cosignature must hold, too. */
  readonly pqKeys?: string
  /** File with a policy of witnesses, or their verifier keys. */
  readonly witnesses?: string
  readonly json?: boolean
}

type CosignatureFault = Extract<Cosignature, { readonly fault: string }>['fault']

export interface Report {
  /** Null: nothing is wrong with the file, but without keys nobody knows who made it. */
  readonly holds: boolean | null
  readonly reason: Fault | SignatureFault | CosignatureFault | 'WITNESSES_MISSING' | 'KEYS_NEEDED' | null
  /** Where the reason was found, from 1. */
  readonly line: number | null
  readonly issuer: string | null
  readonly organisationId: string | null
  readonly since: string | null
  readonly until: string | null
  readonly rows: number | null
  readonly entries: number | null
  /** Which log of the service they are in. */
  readonly log: number | null
  /** Its name: another one than the service's address says where it was begun anew. */
  readonly origin: string | null
  readonly treeSize: number | null
  readonly root: string | null
  /** Whether the window is all there, as far as the log of the server went. */
  readonly complete: boolean | null
  readonly gaps: readonly string[]
  /** Whether the log's own ML-DSA-44 cosignature of the tree holds; null where no key for it was given. */
  readonly cosigned: boolean | null
  /** Those of whom cosignatures hold; null where none were demanded. */
  readonly witnesses: readonly Cosigned[] | null
}

const NOTHING: Report = {
  holds: false,
  reason: null,
  line: null,
  issuer: null,
  organisationId: null,
  since: null,
  until: null,
  rows: null,
  entries: null,
  log: null,
  origin: null,
  treeSize: null,
  root: null,
  complete: null,
  gaps: [],
  cosigned: null,
  witnesses: null,
}

const verifyEd25519: Verifier['verifyEd25519'] = (publicKey, message, signature) => {
  const x = Buffer.from(publicKey).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, key, signature)
}

/** @throws EvidenceFileError for what is no JWK set */
const readKeys = (file: string): JwkSet => {
  try {
    const set: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof set === 'object' && set !== null && 'keys' in set && Array.isArray(set.keys))
      return { keys: set.keys.filter((key) => typeof key === 'object' && key !== null) }
  } catch (error) {
    throw new EvidenceFileError(
      `${file} can't be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  throw new EvidenceFileError(`${file} is no JWK set; the service publishes one at /.well-known/jwks.json.`)
}

const ML_DSA_44_KEY_BYTES = 1312

/** The ML-DSA-44 keys of a JWK set. @throws EvidenceFileError for a set that has none: nothing would be demanded */
const readPqKeys = (file: string): readonly Uint8Array[] => {
  const keys = (readKeys(file).keys as readonly { readonly alg?: unknown; readonly pub?: unknown }[])
    .flatMap(({ alg, pub }) =>
      alg === 'ML-DSA-44' && typeof pub === 'string' ? [Buffer.from(pub, 'base64url')] : [],
    )
    .filter(({ length }) => length === ML_DSA_44_KEY_BYTES)
  if (keys.length > 0) return keys
  throw new EvidenceFileError(
    `${file} has no key of ML-DSA-44; the service publishes a JWK set of them at /.well-known/jwks-pq.json.`,
  )
}

const cosignatureFaultOf = (text: string, keys: readonly Uint8Array[]): CosignatureFault | undefined => {
  const note = readNote(text)
  if (note === undefined) return 'COSIGNATURE_MISSING'
  const own = keys.map((publicKey) =>
    identified({ name: note.origin, type: NOTE_ML_DSA_44_COSIGNATURE, publicKey }),
  )
  const read = readCosignature(note, own)
  return 'fault' in read ? read.fault : undefined
}

/** What is wrong with the log's own cosignature of the tree, or of log 0 where that holds its head. */
const cosignatureFault = (contents: Contents, keys: readonly Uint8Array[]): CosignatureFault | undefined => {
  for (const text of new Set([contents.manifest.checkpoint, witnessedCheckpoint(contents)])) {
    const fault = cosignatureFaultOf(text, keys)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** @throws EvidenceFileError for a file that can't be read, or is no policy */
const readPolicy = (file: string): WitnessPolicy => {
  try {
    return readWitnessPolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new EvidenceFileError(
      `${file} can't be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

interface Judged {
  readonly isMet: boolean
  readonly cosigned: readonly Cosigned[]
}

const NOBODY: Judged = { isMet: false, cosigned: [] }

/** Whether the log that a policy names and the witnesses that it demands signed the tree, or the one of log 0 that holds it. */
const judgePolicy = (contents: Contents, policy: WitnessPolicy): Judged => {
  const note = readNote(witnessedCheckpoint(contents))
  return note === undefined ? NOBODY : judgeCheckpoint(note, policy, isNoteSigned)
}

const toReport = ({ header, log, manifest, rows, entries }: Contents): Report => ({
  ...NOTHING,
  issuer: header.issuer,
  organisationId: header.organisationId,
  since: header.since,
  until: header.until,
  rows,
  entries,
  log,
  origin: readNote(manifest.checkpoint)?.origin ?? null,
  treeSize: manifest.treeSize,
  root: manifest.root,
  complete: manifest.complete === true,
  gaps: [...(manifest.gaps ?? []), ...(manifest.limitReached === true ? ['LIMIT_REACHED'] : [])],
})

/**
 * Checks evidence.
 * @param file a path, or `-` for standard input
 * @throws EvidenceFileError for files that can't be read
 */
export const examine = async (file: string, { keys, pqKeys, witnesses }: Flags): Promise<Report> => {
  const jwks = keys === undefined ? undefined : readKeys(keys)
  const own = pqKeys === undefined ? undefined : readPqKeys(pqKeys)
  const policy = witnesses === undefined ? undefined : readPolicy(witnesses)
  const found = await checkLines(readEvidenceLines(file), (message) => hash('sha256', message, 'buffer'))
  if ('fault' in found) return { ...NOTHING, reason: found.fault, line: found.line }
  // What somebody signed of another tree says nothing of this one.
  const other = treeFault(found)
  const judged = policy && (other === undefined ? judgePolicy(found, policy) : NOBODY)
  const fault = other ?? (own && cosignatureFault(found, own))
  const cosigned = own === undefined ? null : fault === undefined
  const report = { ...toReport(found), cosigned, witnesses: judged?.cosigned ?? null }
  const further = fault ?? (judged?.isMet === false ? ('WITNESSES_MISSING' as const) : null)
  if (jwks === undefined) {
    if (!coversManifest(found)) return { ...report, reason: 'MANIFEST_MISMATCH' }
    if (further !== null) return { ...report, reason: further }
    return { ...report, holds: null, reason: 'KEYS_NEEDED' }
  }
  const reason = (await checkSignatures(found, { ...jwks, verifyEd25519 })) ?? further
  return { ...report, holds: reason === null, reason }
}

const isBegunAnew = (origin: string | null): boolean => origin !== null && firstOrigin(origin) !== origin

const verdict = ({ holds, reason, line, cosigned }: Report): string => {
  if (holds && cosigned) return 'The evidence holds.'
  if (holds)
    return 'The evidence holds by its Ed25519 signatures. The log’s ML-DSA-44 cosignature was not checked: give --pq-keys.'
  if (holds === null)
    return 'The file is consistent, but its origin was not checked: give the keys of the service with --keys.'
  return `The evidence does not hold: ${reason}${line === null ? '' : ` in line ${line}`}`
}

/** Its number, its name where it was begun anew, and what log 0 holds of it where that was checked. */
const logLine = ({ holds, log, origin, treeSize }: Report): string => {
  const named = isBegunAnew(origin) ? `${log}, begun anew as ${origin}` : String(log)
  if (!holds || log === 0) return named
  return treeSize === 0
    ? `${named}, which was empty: the file has no head of it in log 0`
    : `${named}, whose head stands in log 0`
}

const lines = (report: Report): string[] => {
  const {
    issuer,
    organisationId,
    since,
    until,
    rows,
    entries,
    log,
    origin,
    treeSize,
    root,
    complete,
    gaps,
    witnesses,
  } = report
  if (issuer === null) return [verdict(report)]
  return [
    verdict(report),
    `issuer        ${issuer}`,
    `organisation  ${organisationId}`,
    `window        ${since} up to ${until}`,
    `rows          ${rows}, of them ${entries} entries of the log`,
    `tree          ${treeSize} leaves, root ${root}`,
    ...(log === 0 && !isBegunAnew(origin) ? [] : [`log           ${logLine(report)}`]),
    `complete      ${complete ? 'yes' : `no: ${gaps.join(', ')}`}`,
    ...(witnesses === null
      ? []
      : [`witnesses     ${witnesses.map(({ name }) => name).join(', ') || 'none'}`]),
  ]
}

/** Checks a file, prints what was found, and sets the exit status. @param file `-` is standard input */
export const verifyFile = async (file: string, { json, ...flags }: Flags): Promise<void> => {
  try {
    const report = await examine(file, flags)
    console.log(json ? JSON.stringify(report, null, 2) : lines(report).map(printable).join('\n'))
    if (!report.holds) process.exitCode = report.holds === null ? EXIT_UNKNOWN : EXIT_REFUSED
  } catch (error) {
    console.error(printable(error instanceof Error ? error.message : String(error)))
    process.exitCode = EXIT_UNKNOWN
  }
}
