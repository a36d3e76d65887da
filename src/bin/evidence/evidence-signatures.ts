/** Checks who signed evidence: its manifest, and the checkpoint of the tree that its entries stand in. @module */
import { createPublicKey, verify } from 'node:crypto'
import type { JwkSet, PublishedJwk } from '../../keys/jwks.ts'
import { createCheckpointReader } from '../../ledger/checkpoints/checkpoint-reading.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import type { Contents } from '../../protocol/evidence/evidence-check.ts'
import { EVIDENCE_TYPE } from '../../protocol/evidence/evidence-format.ts'
import { readJws } from '../../protocol/jws.ts'

export type SignatureFault =
  /** The manifest's signature covers something else than the manifest. */
  | 'MANIFEST_MISMATCH'
  /** None of the given keys is the one that is said to have signed. */
  | 'KEY_UNKNOWN'
  | 'SIGNATURE_INVALID'
  /** The checkpoint is not signed by a given key, or of another tree. */
  | 'CHECKPOINT_INVALID'

const isEd25519 = ({ kty, crv }: PublishedJwk): boolean => kty === 'OKP' && crv === 'Ed25519'

/** @returns the tail of a JWS that covers the manifest, or undefined */
const readManifestJws = ({ jws, manifest }: Contents) => {
  const read = readJws(jws)
  const isIt = read !== undefined && canonicalJson(read.payload) === canonicalJson(manifest)
  return isIt ? read : undefined
}

/** Whether the signature is over this manifest, whoever made it. */
export const coversManifest = (contents: Contents): boolean => readManifestJws(contents) !== undefined

const checkManifest = (contents: Contents, keys: readonly PublishedJwk[]): SignatureFault | undefined => {
  const read = readManifestJws(contents)
  if (read === undefined) return 'MANIFEST_MISMATCH'
  const { header, covered, signature } = read
  if (header.alg !== 'EdDSA' || header.typ !== EVIDENCE_TYPE) return 'SIGNATURE_INVALID'
  const jwk = keys.find((key) => key.kid === header.kid && isEd25519(key))
  if (jwk === undefined) return 'KEY_UNKNOWN'
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: jwk.x }, format: 'jwk' })
  return verify(null, covered, key, signature) ? undefined : 'SIGNATURE_INVALID'
}

const checkCheckpoint = async (
  { header, manifest }: Contents,
  { keys }: JwkSet,
): Promise<SignatureFault | undefined> => {
  const issuer = String(header.issuer)
  if (!URL.canParse(issuer)) return 'CHECKPOINT_INVALID'
  const reader = createCheckpointReader(new URL(issuer).host, {
    jwks: async () => ({ keys }),
    publicKey: async (_, __, kid) => keys.find((key) => key.kid === kid && isEd25519(key)),
  })
  const read = await reader.read(manifest.checkpoint)
  const isIt =
    !('fault' in read) &&
    read.size === manifest.treeSize &&
    Buffer.from(read.root).toString('hex') === manifest.root
  return isIt ? undefined : 'CHECKPOINT_INVALID'
}

/** @param jwks keys of the service, as it publishes them @returns the first thing that is wrong */
export const checkSignatures = async (
  contents: Contents,
  jwks: JwkSet,
): Promise<SignatureFault | undefined> =>
  checkManifest(contents, jwks.keys) ?? (await checkCheckpoint(contents, jwks))
