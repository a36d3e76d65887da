/**
 * Tree 2 as it is kept: a follower turns entries into Poseidon leaves off the commit path and logs the root of every
 * shard that becomes full; the root of the growing one is logged when somebody needs it.
 * @module
 */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { systemCaller } from '../../caller.ts'
import type { Field } from '../../core/field.ts'
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { fail } from '../../errors.ts'
import type { Bus } from '../../store/bus.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import { CLAIM_KINDS } from '../claim-kinds.ts'
import type { Decide } from '../decision.ts'
import type { LoggedEntry } from '../entries.ts'
import { createFollower } from '../follower.ts'
import type { Ledger } from '../ledger.ts'
import { logOrganisation } from '../logs.ts'
import { type PoseidonLeafRow, type PoseidonRootRow, poseidonLeaves, poseidonRoots } from '../tables.ts'
import { splitHashes } from './merkle.ts'
import {
  createShards,
  ELEMENT_BYTES,
  elementOf,
  isLeaf,
  LEAF_ELEMENTS,
  leafElements,
  poseidonLeaf,
  SHARD_DEPTH,
  SHARD_LEAVES,
  type Shard,
} from './poseidon-tree.ts'

const FOLLOWER = 'poseidon'
const BATCH_ENTRIES = 1_000
/** The embedded database keeps everybody waiting while it reads and writes. */
const EMBEDDED_BATCH_ENTRIES = 256
/** Leaves hashed before others get their turn: about a millisecond. More are hashed elsewhere, unless somebody waits. */
const CHUNK_LEAVES = 32
/** Between batches, unless somebody waits. */
const REST_MS = 100
/** After hashing on the thread that serves requests, so that three quarters of it are left to them. */
const REST_RATIO = 3
const MAX_REST_MS = 1_000
/** Shards kept in memory, 256 KiB each. */
const MAX_KEPT_SHARDS = 8
const LEAF_TIMEOUT_MS = 10_000
const LEAF_POLL_MS = 20
/** How often whoever waits for a leaf tells all servers. */
const TELL_MS = 100
/** So long after it was told last, somebody counts as waiting: some of what is told may be late. */
const WAITS_MS = 500
/** Channel of the bus on which it is told, with the number of the log. */
const AWAITED = 'poseidon-awaited'
const RETRY_AFTER_SECONDS = 1

/** Where an entry stands in tree 2, for a circuit. */
export interface ShardPath {
  readonly shard: number
  /** Place within the shard. */
  readonly position: number
  /** Leaves of the shard that path and root speak of. */
  readonly size: number
  readonly leaf: bigint
  /** 12 siblings, from the bottom. */
  readonly path: readonly bigint[]
  readonly root: bigint
}

/** A root of a shard that stands in tree 1. */
export interface LoggedRoot {
  /** Whose shard it is, and which has the entry. */
  readonly log: number
  readonly shard: number
  readonly size: number
  readonly root: bigint
  /** Index of the `ledger.poseidon_root` entry. */
  readonly entryIndex: number
}

export interface PoseidonLog {
  /**
   * The membership path of an entry. Waits until tree 2 has it.
   * @param size of the shard, as a logged root says it; default: as it is now
   * @returns undefined when no entry of that index is a leaf
   * @throws AppError unavailable when tree 2 lags behind; RangeError when the shard never had that size with the leaf
   */
  shardPath(index: number, size?: number): Promise<ShardPath | undefined>
  /**
   * Logs the present root of the shard that holds an entry, unless it is logged already.
   * @returns undefined when no entry of that index is a leaf
   */
  logRoot(index: number): Promise<LoggedRoot | undefined>
  close(): Promise<void>
}

/** That of a log, by its number. @throws AppError not_found */
export type PoseidonLogs = (log: number) => PoseidonLog

/** Every `width` elements are hashed by themselves, then what came out, `levels` times in all. */
interface ManyHashes {
  readonly tag: number
  readonly width: number
  readonly levels: number
  /** 32 bytes each, big-endian. */
  readonly elements: Uint8Array
}

interface Deps {
  readonly database: Database
  /** Which log's entries are hashed; default 0. */
  readonly number?: number
  readonly ledger: Pick<Ledger, 'append'>
  /** One server at a time makes leaves; the others tell it when somebody waits. */
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  /** Where requests aren't kept waiting by it. @returns 32 bytes a hash */
  readonly hashMany: (asked: ManyHashes) => Promise<Uint8Array>
  readonly field: Pick<Field, 'poseidon' | 'poseidonPairs'>
  readonly logger: { warn(details: object, message: string): void }
  /** How soon new entries are looked for when nobody waits; default 1 s. */
  readonly pollMs?: number
}

/** One row for all of them: to read as many rows would keep the event loop busy for longer than anybody shall wait. */
const LEAVES = `SELECT string_agg(leaf, ''::bytea ORDER BY position) AS leaves FROM poseidon_leaves
  WHERE log = $1 AND position >= $2 AND position < $3`

const logging =
  (number: number, shard: number, size: number, root: Uint8Array): Decide<null> =>
  (tx) => {
    const key = `${shard}/${size}`
    // The root of a shard at a size is always the same, so whoever was first has logged it for all.
    if (tx.holder(CLAIM_KINDS.poseidonRoot, key)) return null
    tx.claim(CLAIM_KINDS.poseidonRoot, key)
    const { index } = tx.append({
      type: 'ledger.poseidon_root',
      data: { shard, size, root: Buffer.from(root).toString('hex') },
    })
    tx.write(poseidonRoots.row({ log: number, shard, size, root, entry_index: index }))
    return null
  }

export const createPoseidonLog = ({
  database,
  number: ofLog = 0,
  ledger,
  bus,
  field,
  hashMany,
  logger,
  pollMs,
}: Deps): PoseidonLog => {
  const { knex } = database
  const emptyShard = createShards(field)
  const kept = new Map<number, Shard>()
  /** Until when somebody counts as waiting, at some server; by `performance.now()`. */
  let awaitedUntil = 0
  const isAwaited = (): boolean => performance.now() < awaitedUntil
  /** What hashing took since the follower rested last. */
  let hashedMs = 0
  const timed = <T>(hash: () => T): T => {
    const begun = performance.now()
    const result = hash()
    hashedMs += performance.now() - begun
    return result
  }

  const readLeaves = async (shard: number, from: number, to: number): Promise<Uint8Array[]> => {
    const first = shard * SHARD_LEAVES
    const { rows } = await database.query<{ leaves: Uint8Array | null }>(LEAVES, [
      ofLog,
      first + from,
      first + to,
    ])
    return splitHashes(rows[0]?.leaves ?? new Uint8Array())
  }

  /**
   * Hashes little by little, so that requests are answered meanwhile. Several may grow one shard at once: a leaf is the same to
   * all of them, so each goes on from where the shard is.
   * @param leaves those of the shard from its place `from` on
   */
  const grow = async (shard: Shard, leaves: readonly Uint8Array[], from = 0): Promise<void> => {
    while (shard.size < from + leaves.length) {
      const next = shard.size - from
      const chunk = leaves.slice(next, next + CHUNK_LEAVES)
      timed(() => shard.append(chunk))
      await turn()
    }
  }

  /** A shard with the leaves that are stored now, or some more. */
  const load = async (number: number): Promise<Shard> => {
    const shard = kept.get(number) ?? emptyShard()
    kept.delete(number)
    if (kept.size >= MAX_KEPT_SHARDS) kept.delete(kept.keys().next().value ?? 0)
    kept.set(number, shard)
    const from = shard.size
    await grow(shard, await readLeaves(number, from, SHARD_LEAVES), from)
    return shard
  }

  /** A shard as it was. */
  const loadAt = async (number: number, size: number | undefined): Promise<Shard> => {
    const shard = await load(number)
    if (size === undefined || shard.size === size) return shard
    if (!(size >= 1 && size < shard.size)) throw new RangeError(`Shard ${number} never had ${size} leaves.`)
    const earlier = emptyShard()
    await grow(earlier, await readLeaves(number, 0, size))
    return earlier
  }

  const log = async (
    shard: number,
    { size, root }: { size: number; root: Uint8Array },
  ): Promise<LoggedRoot> => {
    await ledger.append(systemCaller(logOrganisation(ofLog), 'log'), logging(ofLog, shard, size, root))
    const row = await knex<PoseidonRootRow>('poseidon_roots').where({ log: ofLog, shard, size }).first()
    if (row === undefined) throw new Error(`The root of shard ${shard} at ${size} leaves was not logged.`)
    return { log: ofLog, shard, size, root: elementOf(row.root), entryIndex: row.entry_index }
  }

  /**
   * The position of the first leaf among entries from an index on. What another server has made of them meanwhile doesn't count:
   * this one may have lost its lease, and the root of a shard is logged before its cursor tells.
   */
  const positionFrom = async (index: number): Promise<number> => {
    const before = await knex<PoseidonLeafRow>('poseidon_leaves')
      .where({ log: ofLog })
      .where('idx', '<', index)
      .orderBy('idx', 'desc')
      .first('position')
    return (before?.position ?? -1) + 1
  }

  /** The root of a shard whose last leaves are about to be stored. */
  const fullRoot = async (shard: number, last: readonly Uint8Array[]): Promise<Uint8Array> => {
    const leaves = [...(await readLeaves(shard, 0, SHARD_LEAVES - last.length)), ...last]
    if (!isAwaited())
      return hashMany({
        tag: POSEIDON_TAGS.NODE,
        width: 2,
        levels: SHARD_DEPTH,
        elements: Buffer.concat(leaves),
      })
    const full = emptyShard()
    await grow(full, leaves)
    return full.root()
  }

  /** Little by little, so that requests are answered meanwhile. */
  const hashHere = async (all: readonly Uint8Array[]): Promise<Uint8Array[]> => {
    const leaves: Uint8Array[] = []
    for (const elements of all) {
      leaves.push(timed(() => poseidonLeaf(field, elements)))
      if (leaves.length % CHUNK_LEAVES === 0) await turn()
    }
    return leaves
  }

  const hashLeaves = async (entries: readonly LoggedEntry[]): Promise<Uint8Array[]> => {
    const all = entries.map(leafElements)
    // A proof that is being made elsewhere may take longer than hashing here.
    if (isAwaited() || all.length <= CHUNK_LEAVES) return hashHere(all)
    const elements = Buffer.concat(all)
    const hashes = await hashMany({ tag: POSEIDON_TAGS.LEAF, width: LEAF_ELEMENTS, levels: 1, elements })
    return all.map((_, i) => hashes.slice(i * ELEMENT_BYTES, (i + 1) * ELEMENT_BYTES))
  }

  const consume = async (entries: readonly LoggedEntry[]): Promise<readonly Row[]> => {
    const logged = entries.filter(isLeaf)
    if (logged[0] === undefined) return []
    const first = await positionFrom(logged[0].index)
    const leaves = await hashLeaves(logged)
    // At most one shard becomes full in a batch, which is smaller.
    const full = Math.floor((first + leaves.length) / SHARD_LEAVES)
    const left = full * SHARD_LEAVES - first
    if (left > 0)
      await log(full - 1, { size: SHARD_LEAVES, root: await fullRoot(full - 1, leaves.slice(0, left)) })
    return logged.map(({ index: idx }, i) =>
      poseidonLeaves.row({ log: ofLog, position: first + i, idx, leaf: leaves[i] as Uint8Array }),
    )
  }

  const rest = (): number => {
    const ms = isAwaited() ? 0 : Math.max(REST_MS, Math.min(hashedMs * REST_RATIO, MAX_REST_MS))
    hashedMs = 0
    return ms
  }

  const follower = createFollower({
    database,
    log: ofLog,
    name: FOLLOWER,
    consume,
    rest,
    logger,
    batchEntries: database.kind === 'pglite' ? EMBEDDED_BATCH_ENTRIES : BATCH_ENTRIES,
    pollMs,
  })

  const channel = `${AWAITED}/${ofLog}`
  const stopListening = bus.subscribe(channel, () => {
    awaitedUntil = performance.now() + WAITS_MS
    follower.hurry()
  })

  const findLeaf = (index: number) =>
    knex<PoseidonLeafRow>('poseidon_leaves').where({ log: ofLog, idx: index }).first()

  /** Waits until tree 2 has come as far as an entry. */
  const leafOf = async (index: number): Promise<PoseidonLeafRow | undefined> => {
    const found = await findLeaf(index)
    if (found) return found
    const entry: Pick<LoggedEntry, 'type'> | undefined = await knex('ledger_entries')
      .where({ log: ofLog, idx: index })
      .first('type')
    if (entry === undefined || !isLeaf(entry)) return undefined
    const deadline = performance.now() + LEAF_TIMEOUT_MS
    let tellAt = 0
    while (performance.now() < deadline) {
      if (performance.now() >= tellAt) {
        tellAt = performance.now() + TELL_MS
        // Every server, this one too: which of them makes leaves is not known here.
        void bus.publish(channel, '')
      }
      await pause(LEAF_POLL_MS)
      const leaf = await findLeaf(index)
      if (leaf) return leaf
    }
    return fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
  }

  const placeOf = (position: number) => ({
    shard: Math.floor(position / SHARD_LEAVES),
    position: position % SHARD_LEAVES,
  })

  return {
    async shardPath(index, size) {
      const row = await leafOf(index)
      if (row === undefined) return undefined
      const { shard: number, position } = placeOf(row.position)
      const shard = await loadAt(number, size)
      return {
        shard: number,
        position,
        size: shard.size,
        leaf: elementOf(row.leaf),
        path: shard.path(position).map(elementOf),
        root: elementOf(shard.root()),
      }
    },

    async logRoot(index) {
      const row = await leafOf(index)
      if (row === undefined) return undefined
      const { shard: number } = placeOf(row.position)
      const shard = await load(number)
      return log(number, { size: shard.size, root: shard.root() })
    },

    async close() {
      stopListening()
      await follower.close()
    },
  }
}
