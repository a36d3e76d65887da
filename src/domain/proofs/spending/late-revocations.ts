/**
 * Revocations of others' making, uses of tokens by their issuers, and what takes the place of consents of theirs. Claims and counters of these
 * are the issuer's, where a decision of the organisation that asks can't see them, so that they are looked up once more right before it is
 * committed.
 * @module
 */
import pLimit from 'p-limit'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { StatusesService } from '../../status/service.ts'
import { inside, type ValidProof } from '../checking.ts'
import type { Superseding } from '../statement.ts'
import { revokedNullifierKeys } from '../store.ts'
import { findSpentElsewhere, type RevocableKey, type Spendable } from './spend-keys.ts'

/** A batch may have thousands of proofs, and others want the database's connections too. */
const PARALLEL_LOOKS = 8

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'findClaims' | 'findCounter'>
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
  /** When its issuer had spent it when they were looked up (Unix ms), or undefined. */
  spentAt(proof: Spendable): number | undefined
  /** Whether something had taken the place of what a proof shows when they were looked up; of others' proofs. */
  isSuperseded(superseding: Superseding): boolean
}

const nameOf = ([kind, key]: RevocableKey): string => `${kind}:${key}`
/** A proof may be another object by the time that it is spent. */
const nameOfSpent = ({ otherSpender, spendKeys }: Spendable): string =>
  `${otherSpender}/${spendKeys.map(nameOf).join()}`

const nameOfSuperseding = ({ otherIssuer, counter, stood }: Superseding): string =>
  `${otherIssuer}/${counter}/${stood}`

export const createLateRevocations = ({ database, ledger, statuses }: Deps): LateRevocations => {
  const watched = new Map<string, RevocableKey>()
  const revoked = new Set<string>()
  const spendable = new Map<string, Spendable>()
  const spent = new Map<string, number | undefined>()
  const superseding = new Map<string, { readonly issuer: string } & Superseding>()
  const superseded = new Set<string>()
  const turns = pLimit(PARALLEL_LOOKS)
  const keysOf = (asked: RevocableKey[0]): string[] =>
    [...watched.values()].flatMap(([kind, key]) => (kind === asked ? [key] : []))
  return {
    watch(proof) {
      for (const one of inside([proof])) {
        for (const key of one.revocableKeys) watched.set(nameOf(key), key)
        if (one.otherSpender !== undefined) spendable.set(nameOfSpent(one), one)
        const issuer = one.superseding?.otherIssuer
        if (one.superseding && issuer !== undefined)
          superseding.set(nameOfSuperseding(one.superseding), { ...one.superseding, issuer })
      }
    },
    async look() {
      const [numbers, nullifiers] = await Promise.all([
        statuses.areSet(keysOf('status').map(Number)),
        revokedNullifierKeys(database, keysOf('nullifier')),
        ...[...spendable].map(([name, one]) =>
          turns(async () => spent.set(name, await findSpentElsewhere(ledger, one))),
        ),
        ...[...superseding].map(([name, { issuer, counter, stood }]) =>
          turns(async () => {
            if ((await ledger.findCounter(issuer, counter)) > stood) superseded.add(name)
          }),
        ),
      ])
      for (const number of numbers) revoked.add(nameOf(['status', String(number)]))
      for (const key of nullifiers) revoked.add(nameOf(['nullifier', key]))
    },
    has: (key) => revoked.has(nameOf(key)),
    spentAt: (proof) => spent.get(nameOfSpent(proof)),
    isSuperseded: (one) => superseded.has(nameOfSuperseding(one)),
  }
}
