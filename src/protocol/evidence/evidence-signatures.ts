/** Checks who signed evidence: its manifest, and the checkpoint of the tree that its entries stand in. Runs in browsers too. @module */
import { createCore } from '../../core/index.ts'
import { isSameJson } from '../canonical-json.ts'
import { hexOf, NOTE_ED25519, type ReadNote, readNote, signaturesBy } from '../checkpoint/note.ts'
import { identified } from '../checkpoint/signed-note.ts'
import { readJws } from '../jws.ts'
import { firstOrigin, holdsTree, originOfLog, readLoggedHead } from '../log-heads.ts'
import { treeHashing } from '../merkle-proofs.ts'
import type { Contents } from './evidence-check.ts'
import { EVIDENCE_TYPE } from './evidence-format.ts'

export type SignatureFault =
  /** The manifest's signature covers something else than the manifest. */
  | 'MANIFEST_MISMATCH'
  /** None of the given keys is the one that is said to have signed. */
  | 'KEY_UNKNOWN'
  | 'SIGNATURE_INVALID'
  /** The checkpoint is not signed by a given key, or of another tree. */
  | 'CHECKPOINT_INVALID'
  /** Its tree is of another log than 0, and no checkpoint of log 0 that a given key signed holds it. */
  | 'HEAD_INVALID'

/** A key of a JWK set, nothing of which was looked at. */
interface GivenKey {
  readonly kid?: unknown
  readonly kty?: unknown
  readonly crv?: unknown
  readonly x?: unknown
}

/** Keys of the service, and whoever checks Ed25519 (RFC 8032 §5.1.7) with them. */
export interface Verifier {
  readonly keys: readonly GivenKey[]
  verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
}

const ED25519_BYTES = 32
const SIGNATURE_BYTES = 64

const core = createCore()
const hashing = treeHashing(core.sha256)

const publicKeyOf = ({ kty, crv, x }: GivenKey): Uint8Array | undefined => {
  const bytes =
    kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' ? core.base64urlDecode(x) : undefined
  return bytes?.length === ED25519_BYTES ? bytes : undefined
}

/** @returns the tail of a JWS that covers the manifest, or undefined */
const readManifestJws = ({ jws, manifest }: Contents) => {
  const read = readJws(jws)
  const isIt = read !== undefined && isSameJson(read.payload, manifest)
  return isIt ? read : undefined
}

/** Whether the signature is over this manifest, whoever made it. */
export const coversManifest = (contents: Contents): boolean => readManifestJws(contents) !== undefined

export const checkManifest = async (
  contents: Contents,
  { keys, verifyEd25519 }: Verifier,
): Promise<SignatureFault | undefined> => {
  const read = readManifestJws(contents)
  if (read === undefined) return 'MANIFEST_MISMATCH'
  const { header, covered, signature } = read
  if (header.alg !== 'EdDSA' || header.typ !== EVIDENCE_TYPE) return 'SIGNATURE_INVALID'
  const jwk = keys.find((key) => key.kid === header.kid && publicKeyOf(key) !== undefined)
  const publicKey = jwk && publicKeyOf(jwk)
  if (publicKey === undefined) return 'KEY_UNKNOWN'
  if (signature.length !== SIGNATURE_BYTES) return 'SIGNATURE_INVALID'
  return (await verifyEd25519(publicKey, covered, signature)) ? undefined : 'SIGNATURE_INVALID'
}

const isSignedBy = async (note: ReadNote, { keys, verifyEd25519 }: Verifier): Promise<boolean> => {
  for (const publicKey of keys.flatMap((key) => publicKeyOf(key) ?? [])) {
    const key = identified({ name: note.origin, type: NOTE_ED25519, publicKey })
    for (const { message, signature } of signaturesBy(note, key))
      if (await verifyEd25519(publicKey, message, signature)) return true
  }
  return false
}

/**
 * The checkpoint that witnesses must have cosigned for the tree of the file: of log 0 its own, of another log that of log 0 which holds
 * its head. An empty tree of another log has none, so that it is the log's own, which witnesses are not shown.
 */
export const witnessedCheckpoint = ({ log, manifest }: Contents): string =>
  (log === 0 ? undefined : readLoggedHead(manifest.head)?.checkpoint) ?? manifest.checkpoint

/** Whether log 0 has to hold the tree of the file: the tree is that of another log, and has entries. */
export const needsHead = ({ log, manifest }: Contents): boolean => log !== 0 && manifest.treeSize > 0

/** What is wrong with the checkpoints whoever signed them: they are of another tree than the file, or of another service. */
export const treeFault = (contents: Contents): SignatureFault | undefined => {
  const { header, log, manifest } = contents
  const note = readNote(manifest.checkpoint)
  if (note === undefined || !URL.canParse(header.issuer)) return 'CHECKPOINT_INVALID'
  if (firstOrigin(note.origin) !== originOfLog(new URL(header.issuer).host, log)) return 'CHECKPOINT_INVALID'
  if (note.size !== manifest.treeSize || hexOf(note.root) !== manifest.root) return 'CHECKPOINT_INVALID'
  if (!needsHead(contents)) return manifest.head === undefined ? undefined : 'HEAD_INVALID'
  const head = readLoggedHead(manifest.head)
  const log0 = head && readNote(head.checkpoint)
  if (head === undefined || log0 === undefined || originOfLog(log0.origin, log) !== note.origin)
    return 'HEAD_INVALID'
  return holdsTree(head, log0, { ...note, log }, hashing) ? undefined : 'HEAD_INVALID'
}

/** The tree of the file under the checkpoint of its log, and where that is not log 0, its head in log 0. */
export const checkCheckpoint = async (
  contents: Contents,
  verifier: Verifier,
): Promise<SignatureFault | undefined> => {
  const fault = treeFault(contents)
  if (fault !== undefined) return fault
  const isSigned = async (text: string): Promise<boolean> => {
    const note = readNote(text)
    return note !== undefined && isSignedBy(note, verifier)
  }
  if (!(await isSigned(contents.manifest.checkpoint))) return 'CHECKPOINT_INVALID'
  const isHeld = !needsHead(contents) || (await isSigned(witnessedCheckpoint(contents)))
  return isHeld ? undefined : 'HEAD_INVALID'
}

/** @returns the first thing that is wrong */
export const checkSignatures = async (
  contents: Contents,
  verifier: Verifier,
): Promise<SignatureFault | undefined> =>
  (await checkManifest(contents, verifier)) ?? (await checkCheckpoint(contents, verifier))
