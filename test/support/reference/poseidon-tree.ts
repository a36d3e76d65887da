/** Tree 2 as an auditor recomputes it from the entries alone, with circomlibjs: recursive, slow. */
import { createHash } from 'node:crypto'
import { buildPoseidon } from 'circomlibjs'

const LEAF = 4
const NODE = 5
export const SHARD_LEAVES = 4096
const DEPTH = 12

/** Numbers of entry types, as the documentation lists them. */
const TYPES: Readonly<Record<string, bigint>> = {
  verify: 1n,
  prove: 2n,
  spend: 3n,
  'key.revoked': 4n,
  gate: 5n,
  attest: 6n,
  payment: 7n,
  revoke: 8n,
  chat: 9n,
  account: 10n,
  hybrid_token: 11n,
}

export interface PoseidonReference {
  /** Leaves of tree 2 in order, from canonical texts in the order of tree 1. */
  leaves(texts: readonly string[]): bigint[]
  /** The root of one shard with up to 4,096 leaves. */
  root(leaves: readonly bigint[]): bigint
  /** The root that a leaf and its siblings lead to. */
  fold(leaf: bigint, position: number, path: readonly bigint[]): bigint
}

export const createPoseidonReference = async (): Promise<PoseidonReference> => {
  const poseidon = await buildPoseidon()
  const { F } = poseidon
  const hash = (tag: number, inputs: readonly bigint[]): bigint => {
    let state = F.e(BigInt(tag))
    for (let i = 0; i < inputs.length; i += 2) {
      state = poseidon([F.e(inputs[i] ?? 0n), F.e(inputs[i + 1] ?? 0n)], state)
    }
    return F.toObject(state)
  }
  const empty: bigint[] = [0n]
  for (let height = 1; height <= DEPTH; height++) {
    const below = empty[height - 1] ?? 0n
    empty.push(hash(NODE, [below, below]))
  }
  const subtree = (leaves: readonly bigint[], height: number): bigint => {
    if (leaves.length === 0) return empty[height] ?? 0n
    if (height === 0) return leaves[0] ?? 0n
    const half = 2 ** (height - 1)
    return hash(NODE, [subtree(leaves.slice(0, half), height - 1), subtree(leaves.slice(half), height - 1)])
  }
  return {
    leaves: (texts) =>
      texts.flatMap((text) => {
        const { type, commitment = '00' }: { type: string; commitment?: string } = JSON.parse(text)
        if (type === 'ledger.poseidon_root') return []
        const leafHash = createHash('sha256').update(Buffer.of(0)).update(text).digest('hex')
        return [
          hash(LEAF, [TYPES[type] ?? -1n, BigInt(`0x${leafHash.slice(0, 62)}`), BigInt(`0x${commitment}`)]),
        ]
      }),
    root: (leaves) => subtree(leaves, DEPTH),
    fold: (leaf, position, path) =>
      path.reduce((node, sibling, height) => {
        const isRight = Math.floor(position / 2 ** height) % 2 === 1
        return hash(NODE, isRight ? [sibling, node] : [node, sibling])
      }, leaf),
  }
}
