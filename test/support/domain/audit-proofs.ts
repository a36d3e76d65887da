/** Zero-knowledge proofs about the log, through its routes. @module */
import type { ZkpProof } from '../../../src/domain/audit/schemas-zkp.ts'
import { encodeZk1 } from '../../../src/protocol/zk1.ts'
import type { TestApp, TestOrganisation } from '../app.ts'
import { type Client, ok } from '../client.ts'

/** Writes an entry of the organisation's. @returns its index */
export const writeEntry = async (app: Client, apiKey: string): Promise<number> => {
  await ok(app, 'POST', '/console/api/keys', { key: apiKey, body: { label: 'spare' } })
  const path = '/api/audit?limit=1'
  const { entries } = await ok<{ entries: { index: number }[] }>(app, 'GET', path, { key: apiKey })
  return entries[0]?.index ?? -1
}

export const proveEntry = (app: Client, apiKey: string, body: object): Promise<ZkpProof> =>
  ok(app, 'POST', '/api/audit/zkp-proof', { key: apiKey, body })

/** As the example of its verification wants it. */
export const makeAuditProof = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { proof, publicInputs } = await proveEntry(app, apiKey, { index: await writeEntry(app, apiKey) })
  const { leafCommitment, poseidonRoot, ctx, context, treeSize, treeRoot } = publicInputs
  const { shard, shard_size, root_index } = context.statement
  return {
    auditProof: encodeZk1(proof, [leafCommitment, poseidonRoot, ctx]),
    leafCommitment,
    poseidonRoot,
    auditCtx: ctx,
    aud: context.aud,
    organisationId: context.org,
    auditNonce: context.nonce,
    shardNumber: String(shard),
    shardSizeNumber: String(shard_size),
    rootIndexNumber: String(root_index),
    treeSizeNumber: String(treeSize),
    treeRoot,
  }
}
