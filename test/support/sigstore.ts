/** Sigstore's verifiers (@sigstore/verify), as an outside opinion on our proofs and checkpoints. */
import type { KeyObject } from 'node:crypto'
import { LogCheckpoint, verifyCheckpoint } from '@sigstore/verify/dist/tlog/checkpoint.js'
import { verifyMerkleInclusion } from '@sigstore/verify/dist/tlog/merkle.js'

type Entry = Parameters<typeof verifyCheckpoint>[0]

interface Claim {
  readonly leaf: number
  readonly size: number
  readonly path: readonly Uint8Array[]
  readonly root: Uint8Array
  /** What was hashed into the leaf. */
  readonly text: Buffer
}

/** An entry of a Sigstore bundle; only what its verifiers look at is filled in. */
const entryOf = (
  proof: { logIndex: string; treeSize: string; hashes: Buffer[]; envelope: string },
  text: Buffer,
): Entry => ({
  logIndex: proof.logIndex,
  logId: { keyId: Buffer.alloc(0) },
  kindVersion: { kind: '', version: '' },
  integratedTime: '0',
  inclusionPromise: undefined,
  inclusionProof: {
    logIndex: proof.logIndex,
    treeSize: proof.treeSize,
    hashes: proof.hashes,
    rootHash: Buffer.alloc(0),
    checkpoint: { envelope: proof.envelope },
  },
  canonicalizedBody: text,
})

/** Whether Sigstore's verifier accepts an audit path. */
export const acceptsInclusion = ({ leaf, size, path, root, text }: Claim): boolean => {
  const hashes = path.map((hash) => Buffer.from(hash))
  const entry = entryOf({ logIndex: String(leaf), treeSize: String(size), hashes, envelope: '' }, text)
  try {
    verifyMerkleInclusion(entry, new LogCheckpoint('', BigInt(size), Buffer.from(root), []))
    return true
  } catch {
    return false
  }
}

/** Reads a checkpoint that Sigstore's verifier accepts under a key; throws its error otherwise. */
export const readCheckpoint = (
  note: string,
  key: { readonly id: Buffer; readonly origin: string; readonly publicKey: KeyObject },
): LogCheckpoint => {
  const entry = entryOf({ logIndex: '0', treeSize: '0', hashes: [], envelope: note }, Buffer.alloc(0))
  const authority = {
    logID: key.id,
    publicKey: key.publicKey,
    baseURL: key.origin,
    validFor: { start: new Date(0), end: new Date(8.64e15) },
  }
  return verifyCheckpoint(entry, [authority])
}
