/**
 * Reads the tree: roots of every earlier size, inclusion and consistency proofs, and the tiles that it is published
 * as. Everything comes from full tiles and the growing tail beside them, so a proof reads O(log n) hashes in at most
 * three statements.
 * @module
 */
import {
  consistencyRanges,
  inclusionRanges,
  type Range,
  type Subtree,
  subtreesOf,
} from '../../protocol/checkpoint/proof-ranges.ts'
import type { Database } from '../../store/database.ts'
import { HASH_BYTES, nodeHash, rootOf, splitHashes, TILE_HASHES, TILE_HEIGHT } from './merkle.ts'

export interface Head {
  readonly size: number
  /** RFC 6962 root over `size` leaves. */
  readonly root: Uint8Array
}

/** Sizes and indexes must lie within the tree: whoever calls compares them with {@link Log.head}. */
export interface Log {
  head(): Promise<Head>
  /** The root when the tree had `size` leaves. @throws RangeError beyond its present size */
  root(size: number): Promise<Uint8Array>
  /** Audit path of a leaf, from the leaf upwards; RFC 6962 §2.1.1. @throws RangeError */
  inclusion(index: number, size: number): Promise<Uint8Array[]>
  /** Consistency proof between two sizes; RFC 6962 §2.1.2. @throws RangeError */
  consistency(earlier: number, later: number): Promise<Uint8Array[]>
  /** Hashes of ranges that are perfect subtrees or right edges, in order, in a few statements. @throws RangeError */
  hashes(ranges: readonly Range[]): Promise<Uint8Array[]>
  /**
   * The first `width` hashes of a tile, 32 bytes each; C2SP tlog-tiles.
   * @returns undefined when the tree is not that large
   */
  tile(level: number, index: number, width: number): Promise<Uint8Array | undefined>
}

/** Consecutive hashes within one tile. */
interface Span {
  readonly level: number
  readonly tile: number
  /** Place of the first hash within the tile. */
  readonly first: number
  readonly count: number
}

const spanOf = ({ height, index }: Subtree): Span => {
  const level = Math.floor(height / TILE_HEIGHT)
  const count = 2 ** (height % TILE_HEIGHT)
  const start = index * count
  return { level, tile: Math.floor(start / TILE_HASHES), first: start % TILE_HASHES, count }
}

/** The root over a power of two of hashes. */
const foldPerfect = (hashes: readonly Uint8Array[]): Uint8Array => {
  let layer = hashes
  while (layer.length > 1) {
    const above: Uint8Array[] = []
    for (let i = 0; i < layer.length; i += 2)
      above.push(nodeHash(layer[i] as Uint8Array, layer[i + 1] as Uint8Array))
    layer = above
  }
  return layer[0] as Uint8Array
}

interface Part {
  span: number
  hashes: Uint8Array
}

/** Keys travel as arrays; LATERAL with LIMIT is one look-up a key, whatever the planner believes of the table. */
const READ_TILES = `SELECT k.ord::int - 1 AS span,
    substring(t.hashes FROM k.first * ${HASH_BYTES} + 1 FOR k.count * ${HASH_BYTES}) AS hashes
  FROM unnest(?::int[], ?::bigint[], ?::int[], ?::int[]) WITH ORDINALITY AS k (level, tile, first, count, ord)
  CROSS JOIN LATERAL (SELECT hashes FROM ledger_tiles AS kept
    WHERE kept.log = ?::smallint AND kept.level = k.level AND kept.tile = k.tile LIMIT 1) AS t`

/** Above level 0 a growing tile consists of the roots of the full tiles below it. */
const READ_ROOTS = `SELECT k.ord::int - 1 AS span, t.hashes
  FROM unnest(?::int[], ?::bigint[], ?::int[]) WITH ORDINALITY AS k (level, start, count, ord)
  CROSS JOIN LATERAL (SELECT string_agg(root, ''::bytea ORDER BY tile) AS hashes FROM ledger_tiles AS kept
    WHERE kept.log = ?::smallint AND kept.level = k.level - 1 AND kept.tile >= k.start AND kept.tile < k.start + k.count) AS t`

const READ_LEAVES = `SELECT k.ord::int - 1 AS span, t.hashes
  FROM unnest(?::bigint[], ?::int[]) WITH ORDINALITY AS k (start, count, ord)
  CROSS JOIN LATERAL (SELECT string_agg(leaf_hash, ''::bytea ORDER BY idx) AS hashes FROM ledger_entries AS kept
    WHERE kept.log = ?::smallint AND kept.idx >= k.start AND kept.idx < k.start + k.count) AS t`

const keyOf = ({ level, tile }: Span): string => `${level}/${tile}`

/** The least span of a tile that holds both. */
const covering = (one: Span, other: Span): Span => {
  const first = Math.min(one.first, other.first)
  return { ...one, first, count: Math.max(one.first + one.count, other.first + other.count) - first }
}

const startOf = ({ tile, first }: Span): number => tile * TILE_HASHES + first

/** @param number of the log, from 0 */
export const createLog = ({ knex }: Pick<Database, 'knex'>, number = 0): Log => {
  const query = async (text: string, columns: readonly (readonly number[])[]): Promise<Part[]> => {
    const { rows } = await knex.raw<{ rows: Part[] }>(text, [...columns.map((column) => [...column]), number])
    return rows
  }

  /** Reads the growing part of tiles that are not full. */
  const readTail = async (spans: readonly Span[]): Promise<Part[]> => {
    const [first] = spans
    if (first === undefined) return []
    const starts = spans.map(startOf)
    const counts = spans.map(({ count }) => count)
    return first.level === 0
      ? query(READ_LEAVES, [starts, counts])
      : query(READ_ROOTS, [spans.map(({ level }) => level), starts, counts])
  }

  /** Hashes of each span, in order; undefined where the tree does not reach so far. */
  const readSpans = async (spans: readonly Span[]): Promise<(Uint8Array | undefined)[]> => {
    const found: (Uint8Array | undefined)[] = new Array(spans.length).fill(undefined)
    const keep = (parts: readonly Part[], places: readonly number[]) => {
      for (const { span, hashes } of parts) {
        const place = places[span] as number
        if (hashes?.length === (spans[place] as Span).count * HASH_BYTES) found[place] = hashes
      }
    }
    if (spans.length === 0) return found
    const columns = [
      spans.map(({ level }) => level),
      spans.map(({ tile }) => tile),
      spans.map(({ first }) => first),
      spans.map(({ count }) => count),
    ]
    keep(await query(READ_TILES, columns), [...spans.keys()])
    const growing = [...spans.keys()].filter((place) => found[place] === undefined)
    const leaves = growing.filter((place) => spans[place]?.level === 0)
    const roots = growing.filter((place) => spans[place]?.level !== 0)
    const read = (places: readonly number[]) => readTail(places.map((place) => spans[place] as Span))
    const [leafParts, rootParts] = await Promise.all([read(leaves), read(roots)])
    keep(leafParts, leaves)
    keep(rootParts, roots)
    return found
  }

  /** As `readSpans`, but reads what lies in one tile in one go. */
  const readGrouped = async (spans: readonly Span[]): Promise<(Uint8Array | undefined)[]> => {
    const groups = new Map<string, Span>()
    for (const span of spans) groups.set(keyOf(span), covering(groups.get(keyOf(span)) ?? span, span))
    const whole = await readSpans([...groups.values()])
    const found = new Map([...groups.keys()].map((key, place) => [key, whole[place]]))
    return spans.map((span) => {
      const start = (span.first - (groups.get(keyOf(span)) as Span).first) * HASH_BYTES
      return found.get(keyOf(span))?.subarray(start, start + span.count * HASH_BYTES)
    })
  }

  /** The hash of each range, in order. @throws RangeError when the tree does not reach so far */
  const hashRanges = async (ranges: readonly Range[]): Promise<Uint8Array[]> => {
    const subtrees = ranges.map(subtreesOf)
    const hashes = await readGrouped(subtrees.flat().map(spanOf))
    let next = 0
    return subtrees.map((parts) =>
      rootOf(
        parts.map(() => {
          const bytes = hashes[next++]
          if (bytes === undefined) throw new RangeError('The tree does not hold so many leaves.')
          return foldPerfect(splitHashes(bytes))
        }),
      ),
    )
  }

  return {
    async head() {
      const row = await knex<Head & { log: number }>('ledger_head')
        .where({ log: number })
        .first('size', 'root')
      if (row === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
      return { size: row.size, root: row.root }
    },

    async root(size) {
      if (size === 0) return rootOf([])
      const [root] = await hashRanges([{ from: 0, to: size }])
      return root as Uint8Array
    },

    inclusion: async (index, size) => hashRanges(inclusionRanges(index, size)),
    consistency: async (earlier, later) => hashRanges(consistencyRanges(earlier, later)),
    hashes: hashRanges,

    async tile(level, index, width) {
      const [hashes] = await readSpans([{ level, tile: index, first: 0, count: width }])
      return hashes
    },
  }
}
