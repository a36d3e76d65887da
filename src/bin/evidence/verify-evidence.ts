/**
 * `npx assay verify-evidence`: checks an export with nothing but its file and the service's public keys, and says
 * what that shows.
 * @module
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { JwkSet } from '../../keys/jwks.ts'
import { type Contents, checkLines, type Fault } from '../../protocol/evidence/evidence-check.ts'
import { EvidenceFileError } from '../../protocol/evidence/evidence-lines.ts'
import {
  checkSignatures,
  coversManifest,
  type SignatureFault,
  type Verifier,
} from '../../protocol/evidence/evidence-signatures.ts'
import { printable } from '../printable.ts'
import { readEvidenceLines } from './evidence-file.ts'

/** Exit statuses beside 0, it holds: it does not · it could not be checked. */
const EXIT_REFUSED = 1
const EXIT_UNKNOWN = 2

export interface Flags {
  /** File with the service's JWK set. */
  readonly keys?: string
  readonly json?: boolean
}

export interface Report {
  /** Null: nothing is wrong with the file, but without keys nobody knows who made it. */
  readonly holds: boolean | null
  readonly reason: Fault | SignatureFault | 'KEYS_NEEDED' | null
  /** Where the reason was found, from 1. */
  readonly line: number | null
  readonly issuer: string | null
  readonly organisationId: string | null
  readonly since: string | null
  readonly until: string | null
  readonly rows: number | null
  readonly entries: number | null
  readonly treeSize: number | null
  readonly root: string | null
  /** Whether the window is all there, as far as the log of the server went. */
  readonly complete: boolean | null
  readonly gaps: readonly string[]
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
  treeSize: null,
  root: null,
  complete: null,
  gaps: [],
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

const toReport = ({ header, manifest, rows, entries }: Contents): Report => ({
  ...NOTHING,
  issuer: String(header.issuer),
  organisationId: String(header.organisationId),
  since: String(header.since),
  until: String(header.until),
  rows,
  entries,
  treeSize: manifest.treeSize,
  root: manifest.root,
  complete: manifest.complete === true,
  gaps: [
    ...(Array.isArray(manifest.gaps) ? manifest.gaps.map(String) : []),
    ...(manifest.limitReached === true ? ['LIMIT_REACHED'] : []),
  ],
})

/**
 * Checks evidence.
 * @param file a path, or `-` for standard input
 * @throws EvidenceFileError for files that can't be read
 */
export const examine = async (file: string, { keys }: Flags): Promise<Report> => {
  const jwks = keys === undefined ? undefined : readKeys(keys)
  const found = await checkLines(readEvidenceLines(file), (message) => hash('sha256', message, 'buffer'))
  if ('fault' in found) return { ...NOTHING, reason: found.fault, line: found.line }
  const report = toReport(found)
  if (jwks === undefined) {
    if (!coversManifest(found)) return { ...report, reason: 'MANIFEST_MISMATCH' }
    return { ...report, holds: null, reason: 'KEYS_NEEDED' }
  }
  const reason = (await checkSignatures(found, { ...jwks, verifyEd25519 })) ?? null
  return { ...report, holds: reason === null, reason }
}

const verdict = ({ holds, reason, line }: Report): string => {
  if (holds) return 'The evidence holds.'
  if (holds === null)
    return 'The file is consistent, but its origin was not checked: give the keys of the service with --keys.'
  return `The evidence does not hold: ${reason}${line === null ? '' : ` in line ${line}`}`
}

const lines = (report: Report): string[] => {
  const { issuer, organisationId, since, until, rows, entries, treeSize, root, complete, gaps } = report
  if (issuer === null) return [verdict(report)]
  return [
    verdict(report),
    `issuer        ${issuer}`,
    `organisation  ${organisationId}`,
    `window        ${since} up to ${until}`,
    `rows          ${rows}, of them ${entries} entries of the log`,
    `tree          ${treeSize} leaves, root ${root}`,
    `complete      ${complete ? 'yes' : `no: ${gaps.join(', ')}`}`,
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
