/** Routes of zero-knowledge proofs about the log. @module */
import { route } from '../../http/route.ts'
import { ZkpProof, ZkpProofRequest, ZkpVerified, ZkpVerifyRequest } from './schemas-zkp.ts'
import type { AuditService } from './service.ts'
import type { AuditProofs } from './zkp.ts'

interface Services {
  readonly audit: Pick<AuditService, 'requireListed'>
  readonly auditProofs: AuditProofs
}

const shared = { method: 'POST', auth: 'key', scope: 'audit', tag: 'Audit' } as const

const proveEntry = route({
  ...shared,
  name: 'proveEntry',
  path: '/api/audit/zkp-proof',
  summary: 'Prove that one of your entries is in the log, without saying which',
  description:
    'A zero-knowledge proof that some entry of a shard of up to 4,096 is behind a commitment, with the audit path of the ' +
    "entry that logs the shard's root and a checkpoint over it. It shows nothing of the entry itself. An entry of GET /api/audit may come back whole.",
  body: ZkpProofRequest,
  response: { 200: ZkpProof },
  errors: [
    'not_found',
    'subscription_inactive',
    'free_allocation_used',
    'log_inconsistent',
    'read_only',
    'prover_overloaded',
  ],
  example: { body: { index: '{entryIndexNumber}' } },
  async handler({ caller, body }, { audit, auditProofs }: Services) {
    if ('index' in body) await audit.requireListed(caller, body)
    return auditProofs.prove(caller, body)
  },
})

const verifyEntryProof = route({
  ...shared,
  name: 'verifyEntryProof',
  path: '/api/audit/zkp-verify',
  summary: 'Check such a proof',
  description:
    'Whether the proof holds, is about a root that stands in the log, and fits the trees that it names. What is wrong ' +
    'comes back as a reason. With `checkpoint`, that one must be signed by this log and hold the root too. The answer that made it may come back whole.',
  body: ZkpVerifyRequest,
  response: { 200: ZkpVerified },
  errors: ['log_inconsistent', 'read_only'],
  example: {
    body: {
      proof: '{auditProof}',
      publicInputs: {
        leafCommitment: '{leafCommitment}',
        poseidonRoot: '{poseidonRoot}',
        ctx: '{auditCtx}',
        context: {
          aud: '{aud}',
          org: '{organisationId}',
          circuit: 'audit_proof',
          statement: {
            shard: '{shardNumber}',
            shard_size: '{shardSizeNumber}',
            root_index: '{rootIndexNumber}',
          },
          nonce: '{auditNonce}',
        },
        treeSize: '{treeSizeNumber}',
        treeRoot: '{treeRoot}',
      },
    },
  },
  handler: ({ caller, body }, { auditProofs }: Services) => auditProofs.verify(caller, body),
})

export const zkpRoutes = [proveEntry, verifyEntryProof]
