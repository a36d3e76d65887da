/**
 * Entries as circuits prove them to be in the log: the place of one in its shard, under a root that stands in the log
 * itself.
 * @module
 */
import type { Caller } from '../../caller.ts'
import type { ShardPlace } from '../../circuits/mappers/shard-member.ts'
import { fail } from '../../errors.ts'
import type { EntryType } from '../../ledger/decision.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { EntryRow } from '../../ledger/tables.ts'
import { elementBytes, elementOf, typeNumber } from '../../ledger/tree/poseidon-tree.ts'
import type { LoggedRoot, PoseidonLogs, ShardPath } from '../../ledger/tree/shards.ts'
import type { Database } from '../../store/database.ts'
import { findEntry, findEntryByDigest, findLoggedRoot, findRootBefore } from './store.ts'

/** Bytes of a SHA-256 that fit into an element whatever they are. */
const H248_BYTES = 31

/** An entry of the caller's, by its place in the log or by its digest: the first that has it. */
export type EntryName = { readonly index: number; readonly log?: number } | { readonly digest: string }

/** An entry and where it stands. */
export interface Member {
  /** Which log has it. */
  readonly log: number
  readonly index: number
  readonly type: EntryType
  readonly entryType: bigint
  /** 0 where it has none. */
  readonly commitment: bigint
  readonly place: ShardPlace
  readonly root: LoggedRoot
}

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of' | 'count'>
  readonly poseidonLogs: PoseidonLogs
}

export type Membership = ReturnType<typeof createMembership>

const commitmentOf = ({ entry }: EntryRow): bigint => {
  const { commitment }: { commitment?: string } = JSON.parse(entry)
  return commitment === undefined ? 0n : elementOf(Buffer.from(commitment, 'hex'))
}

export const createMembership = ({ database, logs, poseidonLogs }: Deps) => {
  const find = async ({ organisation }: Caller, name: EntryName): Promise<EntryRow> => {
    if (!('index' in name))
      return (await findEntryByDigest(database, name.digest, organisation)) ?? fail('not_found')
    const log = await logs.of(organisation)
    if ((name.log ?? log) !== log) return fail('not_found')
    return (await findEntry(database, { log, index: name.index }, organisation)) ?? fail('not_found')
  }

  /** A logged root over the entry: as of now, or the last that a tree of so many entries holds. */
  const rootOver = async (
    { log, idx }: EntryRow,
    treeSize: number | undefined,
  ): Promise<LoggedRoot | undefined> => {
    if (treeSize === undefined) return poseidonLogs(log).logRoot(idx)
    const path = await poseidonLogs(log).shardPath(idx)
    const found = path && (await findRootBefore(database, { log, ...path }, treeSize))
    return found && { ...found, root: elementOf(found.root), entryIndex: found.entry_index }
  }

  const toMember = (row: EntryRow, root: LoggedRoot, { position, path }: ShardPath): Member => {
    const type = row.type as EntryType
    const leafHash = elementOf(row.leaf_hash.subarray(0, H248_BYTES))
    return {
      log: row.log,
      index: row.idx,
      type,
      entryType: BigInt(typeNumber(type)),
      commitment: commitmentOf(row),
      place: { leafHash, position, path },
      root,
    }
  }

  return {
    /**
     * Where one of the caller's entries stands. Logs the root of its shard, unless one is logged already that will do.
     * @param treeSize the root must stand among the first so many entries; default: anywhere
     * @returns undefined where no root over the entry was logged so early
     * @throws AppError not_found for an entry that isn't the caller's or has no place in tree 2; unavailable
     */
    async memberOf(caller: Caller, name: EntryName, treeSize?: number): Promise<Member | undefined> {
      const row = await find(caller, name)
      const root = await rootOver(row, treeSize)
      if (root === undefined && treeSize !== undefined) return undefined
      const path = root && (await poseidonLogs(row.log).shardPath(row.idx, root.size))
      return root && path ? toMember(row, root, path) : fail('not_found')
    },

    /** Whether the log says so of a shard: the one root that circuits may be given. */
    async isLogged({ log, shard, size, root, entryIndex }: LoggedRoot): Promise<boolean> {
      const logged = await findLoggedRoot(database, { log, shard, size })
      if (logged === undefined || logged.entry_index !== entryIndex) return false
      return Buffer.compare(logged.root, elementBytes(root)) === 0
    },
  }
}
