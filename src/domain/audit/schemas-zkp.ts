/** Wire form of zero-knowledge proofs about the log. @module */
import Type, { type Static } from 'typebox'
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
    description: 'The tree that the root is shown to stand in; default: that of `checkpoint`.',
  }),
)
const Digest = Type.String({ pattern: '^[0-9a-f]{1,128}$', description: 'The first entry that has it.' })

/** An entry as it was listed may come back whole. */
export const ZkpProofRequest = Type.Union([
  Type.Object({ ...asListed, index: Index, treeSize: AskedTreeSize }),
  Type.Object({ digest: Digest, treeSize: AskedTreeSize }),
])
export type ZkpProofRequest = Static<typeof ZkpProofRequest>

const RootStated = Type.Object(
  {
    shard: Index,
    shard_size: Type.Integer({ minimum: 1, description: 'Leaves that the shard had.' }),
    root_index: Type.Integer({ ...Index, description: 'Place of the entry that says so of the shard.' }),
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
        exp: Type.Optional(Type.Integer({ description: 'Unix seconds, where the proof expires.' })),
      },
      { title: 'AuditProofContext', description: 'What `ctx` is the hash of.' },
    ),
    treeSize: Type.Integer({ ...TreeSize, description: 'The tree that `inclusion` is about.' }),
    treeRoot: Hash,
  },
  { title: 'AuditProofInputs' },
)
export type PublicInputs = Static<typeof PublicInputs>

const Inclusion = Type.Object(
  {
    index: Type.Integer({ ...Index, description: 'Place of the entry that logs the root.' }),
    leafHash: Hash,
    hashes: Type.Array(Hash, { description: 'Audit path, from the leaf upwards.' }),
  },
  { title: 'LoggedRootInclusion' },
)

export const ZkpProof = Type.Object(
  {
    proofId: Type.String({ description: '`prf_…`, as the proof routes know it.' }),
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
        'Valid, made for this context, about a root that the log holds, in a tree that the log now continues.',
    }),
    treeSize: Type.Integer({ description: 'Entries in the log that all of it was checked against.' }),
    reason: Type.Optional(Type.String({ description: 'What is wrong first.' })),
  },
  { title: 'AuditProofVerdict' },
)
export type ZkpVerified = Static<typeof ZkpVerified>
