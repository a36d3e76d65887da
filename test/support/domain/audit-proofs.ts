/** Zero-knowledge proofs about the log, through its routes. @module */
import type { ZkpProof } from '../../../src/domain/audit/schemas-zkp.ts'
import { encodeZk1 } from '../../../src/protocol/zk1.ts'
import type { TestApp, TestOrganisation } from '../app.ts'

/** Writes an entry of the organisation's. @returns its index */
export const writeEntry = async (app: TestApp, apiKey: string): Promise<number> => {
  const made = await app.request('POST', '/console/api/keys', { key: apiKey, body: { label: 'spare' } })
  if (made.status !== 201) throw new Error(`no entry: ${made.status} ${JSON.stringify(made.body)}`)
  const { body } = await app.request<{ entries: { index: number }[] }>('GET', '/api/audit?limit=1', {
    key: apiKey,
  })
  return body.entries[0]?.index ?? -1
}

export const proveEntry = async (app: TestApp, apiKey: string, body: object): Promise<ZkpProof> => {
  const made = await app.request<ZkpProof>('POST', '/api/audit/zkp-proof', { key: apiKey, body })
  if (made.status !== 200) throw new Error(`no audit proof: ${made.status} ${JSON.stringify(made.body)}`)
  return made.body
}

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
