/** Circuit `audit_proof`: some entry of a shard of the ledger is behind a commitment. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { defineCircuit } from '../circuit.ts'
import { poseidon } from '../field.ts'
import { SHARD_DEPTH, type ShardPlace, shardLeaf, shardRoot } from './shard-member.ts'

export interface AuditProofValues extends ShardPlace {
  /** Number of the entry's type, as docs/audit.md lists them. */
  readonly entryType: bigint
  /** `commitment` of the entry; 0 where it has none. */
  readonly commitment: bigint
  /** Secret, at least 128 random bits: it is what hides which entry it is. */
  readonly salt: bigint
  /** `contextElement` of src/rules/encode.ts: what the proof is for. */
  readonly ctx: bigint
}

export const auditProof = defineCircuit({
  id: 'audit_proof',
  name: 'Audit proof',
  description: 'Some entry of a shard of the ledger is behind a commitment, without saying which.',
  version: '1.0.0',
  domain: 4096,
  proves:
    'The prover knows an entry whose leaf stands in the shard of 4,096 entries with this root, and leafCommitment opens ' +
    'to that leaf. Only: some entry of this shard is in the commitment. Nothing is shown of its type, time or content, ' +
    'nor that two proofs are about different entries.',
  checks: [
    'root is that of a shard as an entry ledger.poseidon_root of the log says it, which stands under a signed checkpoint',
    'ctx is recomputed from what was asked',
  ],
  selfAsserted: false,
  outputs: ['leafCommitment'],
  inputs: ['root', 'ctx'],
  secrets: ['entryType', 'leafHash', 'commitment', 'salt', 'position', ['path', SHARD_DEPTH]],
  assign({ entryType, leafHash, commitment, salt, position, path, ctx }: AuditProofValues) {
    const leaf = shardLeaf(entryType, leafHash, commitment)
    return {
      leafCommitment: poseidon(POSEIDON_TAGS.COMMITMENT, [leaf, salt]),
      root: shardRoot(leaf, { position, path }),
      ctx,
      entryType,
      leafHash,
      commitment,
      salt,
      position: BigInt(position),
      path,
    }
  },
})
