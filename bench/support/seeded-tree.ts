/** A ledger of any size, made at once: a true tree of equal tiles, with or without the entries below them. @module */
import { createHash } from 'node:crypto'
import { grow, nodeHash, rootOf, TILE_HASHES } from '../../src/ledger/tree/merkle.ts'
import type { Database } from '../../src/store/database.ts'

/** One statement of a server's pool, which ends after ten seconds. */
const ENTRIES_AT_ONCE = 20_000

/** The leaf hashes of every tile. */
export const LEAVES = Array.from({ length: TILE_HASHES }, (_, index) =>
  createHash('sha256').update(`leaf ${index}`).digest(),
)

/** Roots of perfect subtrees that are made of whole tiles, by height from 8. */
const perfectRoots = (() => {
  const roots = [Buffer.from(grow(0, [], LEAVES).root)]
  for (let height = 9; height < 32; height++) {
    const below = roots.at(-1) as Buffer
    roots.push(Buffer.from(nodeHash(below, below)))
  }
  return roots
})()

export const edgeOf = (size: number): Uint8Array[] => {
  const tiles = Math.floor(size / TILE_HASHES)
  const high = perfectRoots.filter((_, bit) => Math.floor(tiles / 2 ** bit) % 2 === 1).reverse()
  return [...high, ...grow(0, [], LEAVES.slice(0, size % TILE_HASHES)).edge]
}

/** The organisation that every server has from its first start. */
const ORGANISATION = `org_${'0'.repeat(26)}`

/** Entries that are as long as those of payments, of a hundred organisations, one of them the server's own. */
export const fillEntries = async (
  { knex }: Pick<Database, 'knex'>,
  from: number,
  to: number,
): Promise<void> => {
  const hashes = Buffer.concat(LEAVES).toString('hex')
  for (let first = from; first < to; first += ENTRIES_AT_ONCE)
    await knex.raw(
      `INSERT INTO ledger_entries (idx, id, organisation, type, at, subject, digest, leaf_hash, entry)
        SELECT i, 'ent_' || lpad(i::text, 26, '0'), CASE WHEN i % 100 = 0 THEN '${ORGANISATION}' ELSE 'org_' || lpad((i % 100)::text, 26, '1') END,
          (ARRAY['payment', 'verify', 'gate', 'prove'])[1 + i % 4], 1700000000000 + i, md5((i % 1000)::text), md5(i::text) || md5((-i)::text),
          substr(decode('${hashes}', 'hex'), 1 + 32 * (i % ${TILE_HASHES})::int, 32), '{"filler":"' || repeat('x', 480) || '"}'
        FROM generate_series(?::bigint, ?::bigint) AS i`,
      [first, Math.min(to, first + ENTRIES_AT_ONCE) - 1],
    )
}

/** Head, tiles and the entries of the growing tile. The ledger must not be open. */
export const seedTree = async ({ knex }: Pick<Database, 'knex'>, size: number): Promise<void> => {
  await knex.raw('TRUNCATE ledger_entries, ledger_tiles, ledger_claims, ledger_checkpoint')
  for (let level = 0, count = Math.floor(size / TILE_HASHES); count > 0; level++) {
    const root = perfectRoots[level * 8]
    const below = perfectRoots[level * 8 - 8] as Buffer
    const hashes = Buffer.concat(level === 0 ? LEAVES : Array(TILE_HASHES).fill(below))
    await knex.raw(
      'INSERT INTO ledger_tiles SELECT ?, tile, ?::bytea, ?::bytea FROM generate_series(0, ? - 1) AS tile',
      [level, root ?? '', hashes, count],
    )
    count = Math.floor(count / TILE_HASHES)
  }
  const edge = edgeOf(size)
  await knex('ledger_head').update({ size, root: Buffer.from(rootOf(edge)), edge: Buffer.concat(edge) })
  const tail = size % TILE_HASHES
  await fillEntries({ knex }, size - tail, size)
}
