/**
 * Checks that an entry is in the published log: recomputes the root of the tree from the entry's hash and the published
 * tiles (C2SP tlog-tiles), and compares it with the signed checkpoint (C2SP tlog-checkpoint).
 * @module
 */

import { concat, fromHex, hexOf } from '../../protocol/checkpoint/note.ts'
import { consistencyRanges, type Range, subtreesOf } from '../../protocol/checkpoint/proof-ranges.ts'
import { firstOrigin } from '../../protocol/log-heads.ts'
import type { Bytes, PageCrypto } from '../crypto/page-crypto.ts'
import { nameIn, readCheckpoint } from './checkpoint.ts'
import { type Finding, failed, passed, skipped } from './finding.ts'

const TILE_HEIGHT = 8
const TILE_HASHES = 256
const HASH_BYTES = 32

/** The service's public log. Each throws UnreachableError when it has no answer. */
export interface PublishedLog {
  checkpoint(): Promise<string>
  /** Verifier keys, one a line. */
  keys(): Promise<string>
  /** @param path such as `0/x001/234.p/17` */
  tile(path: string): Promise<Bytes>
}

export interface InclusionEvidence {
  /** As signed: lower-case hex. */
  readonly leafHash: string
  /** Place of the entry in the log, as the service says; not negative. */
  readonly index: number
  /** Of the log, as it was called first: the host of BASE_URL. */
  readonly name: string
}

/** `1234` → `x001/234`. */
const tilePath = (level: number, tile: number, width: number): string => {
  const groups = [String(tile % 1000).padStart(3, '0')]
  for (let rest = Math.floor(tile / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  return `${level}/${groups.join('/')}${width === TILE_HASHES ? '' : `.p/${width}`}`
}

/** Hashes of subtrees that are full, out of the tiles of a tree of `size` leaves. */
const createNodes = (size: number, log: Pick<PublishedLog, 'tile'>, crypto: Pick<PageCrypto, 'sha256'>) => {
  const tiles = new Map<string, Promise<Bytes>>()
  const join = (left: Uint8Array, right: Uint8Array): Promise<Uint8Array> =>
    crypto.sha256(concat(Uint8Array.of(1), left, right))

  const stored = async (level: number, place: number): Promise<Uint8Array> => {
    const tile = Math.floor(place / TILE_HASHES)
    const hashes = Math.floor(size / 2 ** (TILE_HEIGHT * level))
    const path = tilePath(level, tile, Math.min(TILE_HASHES, hashes - TILE_HASHES * tile))
    const bytes = tiles.get(path) ?? log.tile(path)
    tiles.set(path, bytes)
    const at = HASH_BYTES * (place % TILE_HASHES)
    return (await bytes).subarray(at, at + HASH_BYTES)
  }
  const node = async (height: number, place: number): Promise<Uint8Array> =>
    height % TILE_HEIGHT === 0
      ? stored(height / TILE_HEIGHT, place)
      : join(await node(height - 1, 2 * place), await node(height - 1, 2 * place + 1))
  return { join, node }
}

type Nodes = ReturnType<typeof createNodes>

/** The root over full subtrees: RFC 6962 splits at the greatest power of two, so they fold from the right. */
const fold = async (peaks: readonly Uint8Array[], { join }: Nodes): Promise<Uint8Array | undefined> => {
  let root = peaks.at(-1)
  for (const peak of peaks.slice(0, -1).reverse()) root = root && (await join(peak, root))
  return root
}

/** The root of the tree of RFC 6962 §2.1 with this leaf at its place, and everything else as published. */
const rootWith = async (leaf: Uint8Array, index: number, size: number, nodes: Nodes): Promise<Uint8Array> => {
  const { join, node } = nodes
  const peaks: Uint8Array[] = []
  for (const { height, index: place } of subtreesOf({ from: 0, to: size })) {
    const width = 2 ** height
    let peak: Uint8Array
    if (Math.floor(index / width) === place) {
      peak = leaf
      for (let at = 0, under = index; at < height; at++, under = Math.floor(under / 2)) {
        const sibling = await node(at, under % 2 === 0 ? under + 1 : under - 1)
        peak = under % 2 === 0 ? await join(peak, sibling) : await join(sibling, peak)
      }
    } else peak = await node(height, place)
    peaks.push(peak)
  }
  return (await fold(peaks, nodes)) ?? leaf
}

/** A published tree, from whose tiles proofs are made: each tile is asked for once. */
export interface PublishedTree {
  /** The root that its tiles make of the first so many leaves. @param first default: all @returns lower-case hex */
  root(first?: number): Promise<string>
  /** The root that the tree has with this leaf hash at its place. @returns lower-case hex */
  rootWith(leafHash: string, index: number): Promise<string>
  /**
   * The consistency proof from an earlier size. Tiles prove nothing by themselves: whoever has the proof verifies it against both roots.
   * @returns lower-case hex
   */
  consistency(earlier: number): Promise<readonly string[]>
}

/** @param size of the tree, up to 2^53 */
export const openTree = (
  size: number,
  log: Pick<PublishedLog, 'tile'>,
  crypto: Pick<PageCrypto, 'sha256'>,
): PublishedTree => {
  const nodes = createNodes(size, log, crypto)
  const hashOf = async (range: Range): Promise<string> => {
    const peaks: Uint8Array[] = []
    for (const { height, index } of subtreesOf(range)) peaks.push(await nodes.node(height, index))
    return hexOf((await fold(peaks, nodes)) ?? (await crypto.sha256(new Uint8Array())))
  }
  return {
    root: (first = size) => hashOf({ from: 0, to: first }),
    rootWith: async (leafHash, index) => hexOf(await rootWith(fromHex(leafHash), index, size, nodes)),
    async consistency(earlier) {
      const hashes: string[] = []
      for (const range of consistencyRanges(earlier, size)) hashes.push(await hashOf(range))
      return hashes
    },
  }
}

/** RFC 6962 §2.1. @returns lower-case hex */
export const leafHashOf = async (entry: string, crypto: Pick<PageCrypto, 'sha256'>): Promise<string> =>
  hexOf(await crypto.sha256(concat(Uint8Array.of(0), new TextEncoder().encode(entry))))

export const checkInclusion = async (
  { leafHash, index, name: first }: InclusionEvidence,
  log: PublishedLog,
  crypto: PageCrypto,
): Promise<Finding> => {
  const checkpoint = await log.checkpoint()
  const origin = nameIn(checkpoint) ?? first
  // One that was begun anew has the entries that were left.
  const name = firstOrigin(origin) === first ? origin : first
  const tree = await readCheckpoint(checkpoint, await log.keys(), name, crypto)
  if (typeof tree === 'string') return skipped(tree)
  if (index >= tree.size)
    return skipped(
      `The checkpoint covers ${tree.size} entries, and this is a later one: perhaps the witnesses of the log have not seen it yet. Check it again in a few minutes.`,
    )
  const root = await openTree(tree.size, log, crypto).rootWith(leafHash, index)
  return root === tree.root
    ? passed(
        `The signed checkpoint of ${name} over ${tree.size} entries has it as entry ${index}. Keep the checkpoint to see later that nothing was taken out.`,
      )
    : failed(`With its entry the tree has another root than the signed checkpoint of ${name}.`)
}
