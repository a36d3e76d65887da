/**
 * Checks that an entry is in the published log: recomputes the root of the tree from the entry's hash and the published
 * tiles (C2SP tlog-tiles), and compares it with the signed checkpoint (C2SP tlog-checkpoint).
 * @module
 */

import { concat, hexOf } from '../../protocol/checkpoint/note.ts'
import type { Bytes, PageCrypto } from '../crypto/page-crypto.ts'
import { readCheckpoint, type Tree } from './checkpoint.ts'
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
  /** Place of the entry in the log, as the service says. */
  readonly index: number
  /** Of the log: the host of BASE_URL. */
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
const createNodes = (size: number, log: Pick<PublishedLog, 'tile'>, crypto: PageCrypto) => {
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

/** Full subtrees of a tree, from the left, the largest first. */
const subtreesOf = (size: number): { readonly height: number; readonly start: number }[] => {
  const found: { height: number; start: number }[] = []
  for (let start = 0; start < size; ) {
    const height = Math.floor(Math.log2(size - start))
    found.push({ height, start })
    start += 2 ** height
  }
  return found
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
  for (const { height, start } of subtreesOf(size)) {
    const width = 2 ** height
    let peak: Uint8Array
    if (index >= start && index < start + width) {
      peak = leaf
      for (let at = 0, place = index; at < height; at++, place = Math.floor(place / 2)) {
        const sibling = await node(at, place % 2 === 0 ? place + 1 : place - 1)
        peak = place % 2 === 0 ? await join(peak, sibling) : await join(sibling, peak)
      }
    } else peak = await node(height, start / width)
    peaks.push(peak)
  }
  return (await fold(peaks, nodes)) ?? leaf
}

/**
 * The root that the first `size` entries had, out of tiles that make the root of `tree`, which was signed.
 * @param tree not smaller
 * @returns lower-case hex; undefined where the tiles don't make the root of `tree`
 * @throws UnreachableError
 */
export const rootOfFirst = async (
  size: number,
  tree: Tree,
  log: Pick<PublishedLog, 'tile'>,
  crypto: PageCrypto,
): Promise<string | undefined> => {
  const nodes = createNodes(tree.size, log, crypto)
  const rootAt = async (count: number): Promise<string> => {
    const peaks: Uint8Array[] = []
    for (const { height, start } of subtreesOf(count))
      peaks.push(await nodes.node(height, start / 2 ** height))
    return hexOf((await fold(peaks, nodes)) ?? (await crypto.sha256(new Uint8Array())))
  }
  return (await rootAt(tree.size)) === tree.root ? rootAt(size) : undefined
}

/** RFC 6962 §2.1. @returns lower-case hex */
export const leafHashOf = async (entry: string, crypto: PageCrypto): Promise<string> =>
  hexOf(await crypto.sha256(concat(Uint8Array.of(0), new TextEncoder().encode(entry))))

export const checkInclusion = async (
  { leafHash, index, name }: InclusionEvidence,
  log: PublishedLog,
  crypto: PageCrypto,
): Promise<Finding> => {
  const tree = await readCheckpoint(await log.checkpoint(), await log.keys(), name, crypto)
  if (typeof tree === 'string') return failed(tree)
  if (index >= tree.size)
    return skipped(`The checkpoint covers ${tree.size} entries, and this is a later one.`)
  const leaf = Uint8Array.from(leafHash.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
  const root = await rootWith(leaf, index, tree.size, createNodes(tree.size, log, crypto))
  return hexOf(root) === tree.root
    ? passed(
        `The signed checkpoint of ${name} over ${tree.size} entries has it as entry ${index}. Keep the checkpoint to see later that nothing was taken out.`,
      )
    : failed(`With its entry the tree has another root than the signed checkpoint of ${name}.`)
}
