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
    'Returns a zero-knowledge proof that a commitment opens to some entry of a shard of up to 4,096 entries, with the audit ' +
    "path of the entry that logs the shard's root and a checkpoint that covers it. The proof reveals nothing about the entry " +
    'itself. You can send a complete entry of GET /api/audit as the body.',
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
  summary: 'Verify a proof of POST /api/audit/zkp-proof',
  description:
    'Checks that the proof is valid, refers to a root that is in the log, and matches the trees that it names. A failed check is reported as a reason. With `checkpoint`, that checkpoint must be signed by this log and contain the root too. You can send the complete answer of POST /api/audit/zkp-proof as the body.',
  body: ZkpVerifyRequest,
  response: { 200: ZkpVerified },
  errors: ['log_inconsistent', 'read_only', 'proof_service_unavailable'],
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
