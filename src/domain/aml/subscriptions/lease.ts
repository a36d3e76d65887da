/** People whom this server screens at the moment, and no other. @module */
import type { Database, StoreLogger } from '../../../store/database.ts'
import * as store from './store.ts'

/** A lease is renewed when this share of it is over, so that two renewals may fail. */
const RENEWED_SHARE = 1 / 3

export interface Lease {
  readonly people: readonly store.DueSubscription[]
  /** Whether nobody else has changed or taken somebody since, as far as this server knows. */
  holds(person: store.Person): boolean
  /** Renews it no more. @returns the `leased_until` by which the lease is known */
  end(): Promise<number>
}

interface Deps {
  readonly database: Database
  readonly logger: StoreLogger
}

interface Asked {
  readonly mark: store.Mark
  /** People, at most. */
  readonly limit: number
  readonly leaseMs: number
}

/**
 * Takes people who are behind a mark, and keeps them for as long as this server lives and works on them, however long that takes.
 * @returns undefined where nobody is due
 */
export const takeLease = async (
  { database, logger }: Deps,
  { mark, limit, leaseMs }: Asked,
): Promise<Lease | undefined> => {
  const people = await store.leaseDue(database, mark, limit, leaseMs)
  const until = people[0]?.leased_until
  if (until === undefined) return undefined
  let held = new Set(people.map(store.personKey))
  const renew = async (known: number): Promise<number> => {
    const holding = people.filter((one) => held.has(store.personKey(one)))
    const kept = await store.renewLease(database, holding, known, leaseMs)
    held = new Set(kept.map(store.personKey))
    return kept[0]?.leased_until ?? known
  }
  let renewed = Promise.resolve(until)
  const timer = setInterval(() => {
    renewed = renewed.then(async (known) => {
      try {
        return await renew(known)
      } catch (error) {
        logger.warn({ err: error }, 'a lease of people to be screened was not renewed')
        return known
      }
    })
  }, leaseMs * RENEWED_SHARE)
  timer.unref()
  return {
    people,
    holds: (person) => held.has(store.personKey(person)),
    async end() {
      clearInterval(timer)
      return renewed
    },
  }
}
