/**
 * Entries as circuits prove them to be in the log: the place of one in its shard, under a root that stands in the log
 * itself.
 * @module
 */
import type { Caller } from '../../caller.ts'
import type { ShardPlace } from '../../circuits/mappers/shard-member.ts'
import { fail } from '../../errors.ts'
import type { EntryType } from '../../ledger/decision.ts'
import type { EntryRow } from '../../ledger/tables.ts'
import { elementBytes, elementOf, typeNumber } from '../../ledger/tree/poseidon-tree.ts'
import type { LoggedRoot, PoseidonLog, ShardPath } from '../../ledger/tree/shards.ts'
import type { Database } from '../../store/database.ts'
import { findEntry, findEntryByDigest, findLoggedRoot, findRootBefore } from './store.ts'

/** Bytes of a SHA-256 that fit into an element whatever they are. */
const H248_BYTES = 31

/** An entry of the caller's, by its place in the log or by its digest: the first that has it. */
export type EntryName = { readonly index: number } | { readonly digest: string }

/** An entry and where it stands. */
export interface Member {
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
  readonly poseidonLog: Pick<PoseidonLog, 'logRoot' | 'shardPath'>
}

export type Membership = ReturnType<typeof createMembership>

const commitmentOf = ({ entry }: EntryRow): bigint => {
  const { commitment }: { commitment?: string } = JSON.parse(entry)
  return commitment === undefined ? 0n : elementOf(Buffer.from(commitment, 'hex'))
}

export const createMembership = ({ database, poseidonLog }: Deps) => {
  const find = async ({ organisation }: Caller, name: EntryName): Promise<EntryRow> =>
    ('index' in name
      ? await findEntry(database, name.index, organisation)
      : await findEntryByDigest(database, name.digest, organisation)) ?? fail('not_found')

  /** A logged root over the entry: as of now, or the last that a tree of so many entries holds. */
  const rootOver = async (index: number, treeSize: number | undefined): Promise<LoggedRoot | undefined> => {
    if (treeSize === undefined) return poseidonLog.logRoot(index)
    const path = await poseidonLog.shardPath(index)
    const found = path && (await findRootBefore(database, path, treeSize))
    return found && { ...found, root: elementOf(found.root), entryIndex: found.entry_index }
  }

  const toMember = (row: EntryRow, root: LoggedRoot, { position, path }: ShardPath): Member => {
    const type = row.type as EntryType
    const leafHash = elementOf(row.leaf_hash.subarray(0, H248_BYTES))
    return {
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
      const root = await rootOver(row.idx, treeSize)
      if (root === undefined && treeSize !== undefined) return undefined
      const path = root && (await poseidonLog.shardPath(row.idx, root.size))
      return root && path ? toMember(row, root, path) : fail('not_found')
    },

    /** Whether the log says so of a shard: the one root that circuits may be given. */
    async isLogged({ shard, size, root, entryIndex }: LoggedRoot): Promise<boolean> {
      const logged = await findLoggedRoot(database, shard, size)
      if (logged === undefined || logged.entry_index !== entryIndex) return false
      return Buffer.compare(logged.root, elementBytes(root)) === 0
    },
  }
}
