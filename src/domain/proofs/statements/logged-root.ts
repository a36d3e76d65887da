/** What statements about the ledger share: the logged root that a proof is about, as `ctx` binds it. @module */
import type { Json } from '../../../ledger/decision.ts'
import { named } from '../../../ledger/logs.ts'
import type { LoggedRoot } from '../../../ledger/tree/shards.ts'
import { logOf } from '../../../protocol/log-heads.ts'
import type { Membership } from '../../audit/membership.ts'
import type { ReasonCode, Stated } from '../statement.ts'

/** Shard, its size and where its root is logged, as the statement of a proof names them. */
export const rootStated = ({ log, shard, size, entryIndex }: LoggedRoot) => ({
  ...named(log),
  shard,
  shard_size: size,
  root_index: entryIndex,
})

const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : Number.NaN)

/** ROOT_UNKNOWN unless the log says that this is the root of the shard that was stated. */
export const rootReasons = async (
  membership: Pick<Membership, 'isLogged'>,
  stated: Stated,
  root: bigint,
): Promise<ReasonCode[]> => {
  const log = logOf(stated.log)
  const [shard, size, entryIndex] = [stated.shard, stated.shard_size, stated.root_index].map(numberOf) as [
    number,
    number,
    number,
  ]
  const isStated = [shard, size, entryIndex].every(Number.isSafeInteger)
  const isLogged =
    log !== undefined && isStated && (await membership.isLogged({ log, shard, size, root, entryIndex }))
  return isLogged ? [] : ['ROOT_UNKNOWN']
}
