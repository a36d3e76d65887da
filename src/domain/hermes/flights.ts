/** Questions that are with their targets: each may hold a connection and several MiB, so there are only so many. @module */
import { fail } from '../../errors.ts'

/** Those that an organisation with an account of its own vouches for, and all others. */
export type Tier = 'paying' | 'open'

interface FlightLimits {
  /** Of all owners together. */
  readonly total: number
  readonly perOwner: number
}

/** An answer takes up to 10 MiB while it is unpacked: strangers hold 160 MiB at the most. */
export const FLIGHT_LIMITS: Readonly<Record<Tier, FlightLimits>> = {
  paying: { total: 64, perOwner: 32 },
  open: { total: 16, perOwner: 4 },
}

const RETRY_SECONDS = 1

interface Flights {
  /**
   * Does a piece of work if there is room for it, at once.
   * @param owner who asks: an organisation, or a block of addresses
   * @throws AppError unavailable when the tier or the owner's part of it is full
   */
  within<T>(tier: Tier, owner: string, work: () => Promise<T>): Promise<T>
}

export const createFlights = (): Flights => {
  const tiers = { paying: new Map<string, number>(), open: new Map<string, number>() }
  const totals = { paying: 0, open: 0 }
  return {
    async within(tier, owner, work) {
      const owners = tiers[tier]
      const own = owners.get(owner) ?? 0
      const { total, perOwner } = FLIGHT_LIMITS[tier]
      if (own >= perOwner || totals[tier] >= total) {
        const message = 'Too many questions are waiting for their targets; try again.'
        return fail('unavailable', { message, retryAfter: RETRY_SECONDS })
      }
      owners.set(owner, own + 1)
      totals[tier] += 1
      try {
        return await work()
      } finally {
        totals[tier] -= 1
        const left = (owners.get(owner) ?? 1) - 1
        if (left > 0) owners.set(owner, left)
        else owners.delete(owner)
      }
    },
  }
}
