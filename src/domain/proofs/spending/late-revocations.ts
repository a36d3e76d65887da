/**
 * Revocations of others' making. Their claims are the issuer's, where a decision of the organisation that asks can't see them, so that
 * they are looked up once more right before it is committed.
 * @module
 */
import type { Database } from '../../../store/database.ts'
import type { StatusesService } from '../../status/service.ts'
import { inside, type ValidProof } from '../checking.ts'
import { revokedNullifierKeys } from '../store.ts'
import type { RevocableKey } from './spend-keys.ts'

interface Deps {
  readonly database: Database
  readonly statuses: Pick<StatusesService, 'areSet'>
}

/** Of the proofs that one commit decides. */
export interface LateRevocations {
  /** Has a proof looked up with the others, and all that it stands for. */
  watch(proof: ValidProof): void
  /** Looks all of them up at once: the last thing to wait for before the commit. */
  look(): Promise<void>
  /** Whether it was revoked when they were looked up, by whichever organisation. */
  has(key: RevocableKey): boolean
}

const nameOf = ([kind, key]: RevocableKey): string => `${kind}:${key}`

export const createLateRevocations = ({ database, statuses }: Deps): LateRevocations => {
  const watched = new Map<string, RevocableKey>()
  const revoked = new Set<string>()
  const keysOf = (asked: RevocableKey[0]): string[] =>
    [...watched.values()].flatMap(([kind, key]) => (kind === asked ? [key] : []))
  return {
    watch(proof) {
      for (const { revocableKeys } of inside([proof]))
        for (const key of revocableKeys) watched.set(nameOf(key), key)
    },
    async look() {
      const [numbers, nullifiers] = await Promise.all([
        statuses.areSet(keysOf('status').map(Number)),
        revokedNullifierKeys(database, keysOf('nullifier')),
      ])
      for (const number of numbers) revoked.add(nameOf(['status', String(number)]))
      for (const key of nullifiers) revoked.add(nameOf(['nullifier', key]))
    },
    has: (key) => revoked.has(nameOf(key)),
  }
}
