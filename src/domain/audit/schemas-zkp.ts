/** Wire form of zero-knowledge proofs about the log. @module */
import Type, { type Static } from 'typebox'
import { OfLog } from '../../json/schemas.ts'
import { Expect } from '../../rules/schemas.ts'
import { asListed } from './schemas.ts'

const MAX_CHECKPOINT_CHARACTERS = 16_384
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Index = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const TreeSize = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Signal = Type.String({ description: 'An element of the BN254 scalar field in decimal.' })
const Coordinates = Type.Array(Type.String())

const AskedTreeSize = Type.Optional(
  Type.Integer({
    ...TreeSize,
    description:
      'Size of the tree whose inclusion proof for the root is returned; default: that of `checkpoint`.',
  }),
)
const Digest = Type.String({ pattern: '^[0-9a-f]{1,128}$', description: 'The first entry with this digest.' })

/** An entry as it was listed may come back whole. */
export const ZkpProofRequest = Type.Union([
  Type.Object({ ...asListed, index: Index, treeSize: AskedTreeSize }),
  Type.Object({ digest: Digest, treeSize: AskedTreeSize }),
])
export type ZkpProofRequest = Static<typeof ZkpProofRequest>

const RootStated = Type.Object(
  {
    log: OfLog,
    shard: Index,
    shard_size: Type.Integer({ minimum: 1, description: 'Number of leaves of the shard.' }),
    root_index: Type.Integer({
      ...Index,
      description: 'Index of the entry that logs the root of the shard.',
    }),
  },
  { title: 'LoggedRootStatement' },
)

const PublicInputs = Type.Object(
  {
    leafCommitment: Signal,
    poseidonRoot: Signal,
    ctx: Signal,
    context: Type.Object(
      {
        aud: Type.String(),
        org: Type.String(),
        circuit: Type.String(),
        statement: RootStated,
        nonce: Type.String(),
        exp: Type.Optional(Type.Integer({ description: 'Unix seconds; only if the proof expires.' })),
      },
      { title: 'AuditProofContext', description: 'The context whose hash is the public signal `ctx`.' },
    ),
    treeSize: Type.Integer({ ...TreeSize, description: 'The tree of `inclusion`.' }),
    treeRoot: Hash,
  },
  { title: 'AuditProofInputs' },
)
export type PublicInputs = Static<typeof PublicInputs>

const Inclusion = Type.Object(
  {
    log: OfLog,
    index: Type.Integer({ ...Index, description: 'Index of the entry that logs the root.' }),
    leafHash: Hash,
    hashes: Type.Array(Hash, { description: 'Audit path, from the leaf upwards.' }),
  },
  { title: 'LoggedRootInclusion' },
)

export const ZkpProof = Type.Object(
  {
    proofId: Type.String({ description: '`prf_…`, the id in the proof routes.' }),
    digest: Type.String(),
    proof: Type.Object(
      {
        pi_a: Coordinates,
        pi_b: Type.Array(Coordinates),
        pi_c: Coordinates,
        protocol: Type.Literal('groth16'),
        curve: Type.Literal('bn128'),
      },
      { description: 'The JSON form of snarkjs.' },
    ),
    publicInputs: PublicInputs,
    inclusion: Inclusion,
    checkpoint: Type.String({ description: 'Signed note (C2SP tlog-checkpoint) over the log as it is now.' }),
  },
  { title: 'AuditProof' },
)
export type ZkpProof = Static<typeof ZkpProof>

/** Members of a proof's answer that may come back with it, and have to be as they were. */
export const AS_PROVED = ['proofId', 'inclusion'] as const

export const ZkpVerifyRequest = Type.Object({
  ...Type.Partial(Type.Pick(ZkpProof, [...AS_PROVED, 'digest'])).properties,
  proof: Type.Unknown({ description: 'The JSON form of snarkjs, or a text `zk1.…`.' }),
  publicInputs: PublicInputs,
  checkpoint: Type.Optional(Type.String({ maxLength: MAX_CHECKPOINT_CHARACTERS })),
  expect: Type.Optional(Expect),
})
export type ZkpVerifyRequest = Static<typeof ZkpVerifyRequest>

export const ZkpVerified = Type.Object(
  {
    valid: Type.Boolean({ description: 'The pairing holds.' }),
    integrity_verified: Type.Boolean({
      description:
        'The proof is valid, was made for this context, and refers to a root in the log, in a tree that the current log extends.',
    }),
    treeSize: Type.Integer({ description: 'Size of the log at the time of the check.' }),
    reason: Type.Optional(Type.String({ description: 'The first failed check.' })),
  },
  { title: 'AuditProofVerdict' },
)
export type ZkpVerified = Static<typeof ZkpVerified>
