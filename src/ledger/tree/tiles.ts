/**
 * Full tiles: 256 hashes of one level of the tree as a row, written in the statement that completes them. The part
 * of a tile that is not full is remembered here, or read again when somebody else has appended since.
 * @module
 */
import type { Session } from '../../store/session.ts'
import type { Row } from '../../store/table.ts'
import type { Head, Resolution } from '../batch.ts'
import { readLeafHashes, readTileRoots } from '../reads.ts'
import { tiles } from '../tables.ts'
import { TILE_HASHES, type TileNode } from './merkle.ts'

export interface Tiles {
  /** Rows of the tiles that the batch completes. Reads on `session` when a tile fills that others began. */
  rows(session: Session, head: Head, resolution: Resolution): Promise<Row[]>
  /** To be called once the batch is committed. */
  committed(head: Head, resolution: Resolution): void
}

const concat = (hashes: readonly Uint8Array[]): Uint8Array => Buffer.concat(hashes)

/** Cuts hashes that start at a tile's boundary into full tiles. `nodes` are the roots of those tiles, in order. */
const cut = (log: number, level: number, hashes: readonly Uint8Array[], nodes: readonly TileNode[]): Row[] =>
  nodes.map(({ index, hash }, position) => {
    const part = hashes.slice(position * TILE_HASHES, (position + 1) * TILE_HASHES)
    if (part.length !== TILE_HASHES) throw new Error(`Tile ${index} of level ${level} is incomplete.`)
    return tiles.row({ log, level, tile: index, root: hash, hashes: concat(part) })
  })

export const createTiles = (log: number): Tiles => {
  /** Leaf hashes of the growing tile at the moment when the tree had this size and root. */
  let tail: { size: number; root: Uint8Array; hashes: readonly Uint8Array[] } | undefined

  const tailOf = ({ size, root }: Head): readonly Uint8Array[] | undefined => {
    if (size % TILE_HASHES === 0) return []
    return tail?.size === size && Buffer.compare(tail.root, root) === 0 ? tail.hashes : undefined
  }

  return {
    async rows(session, head, { growth, leaves }) {
      const rows: Row[] = []
      for (let level = 0; ; level++) {
        const nodes = growth.nodes.filter((node) => node.level === level + 1)
        const first = nodes[0]
        if (first === undefined) return rows
        // What the tile held before this batch: leaves, or the roots of the tiles below.
        const start = first.index * TILE_HASHES
        const below = growth.nodes.filter((node) => node.level === level)
        const end = level === 0 ? head.size : (below[0]?.index ?? start)
        const before =
          level === 0
            ? (tailOf(head) ?? (await readLeafHashes(session, log, start, end)))
            : await readTileRoots(session, log, level - 1, start, end)
        if (before.length !== end - start) throw new Error(`Hashes of level ${level} are missing.`)
        const added = level === 0 ? leaves : below.map(({ hash }) => hash)
        rows.push(...cut(log, level, [...before, ...added], nodes))
      }
    },

    committed(head, { growth, leaves }) {
      const before = tailOf(head)
      const kept = growth.size % TILE_HASHES
      const known = before === undefined ? leaves : [...before, ...leaves]
      const hashes = kept === 0 ? [] : known.slice(-kept)
      tail = hashes.length === kept ? { size: growth.size, root: growth.root, hashes } : undefined
    },
  }
}
