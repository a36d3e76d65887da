/** How many questions of hermes may be with their targets at a time. */
import { expect } from 'chai'
import { createFlights, FLIGHT_LIMITS, type Tier } from '../../../src/domain/hermes/flights.ts'
import { rejection } from '../../support/rejection.ts'

describe('questions of hermes that are with their targets', () => {
  for (const tier of ['paying', 'open'] as const) {
    const { total, perOwner } = FLIGHT_LIMITS[tier]

    it(`are at most ${perOwner} of an owner and ${total} in all (${tier})`, async () => {
      const flights = createFlights()
      const ends: ((outcome: 'done' | 'failed') => void)[] = []
      const start = (owner: string, on: Tier = tier) =>
        flights.within(
          on,
          owner,
          () =>
            new Promise<void>((resolve, reject) => {
              ends.push((outcome) => (outcome === 'done' ? resolve() : reject(new Error('failed'))))
            }),
        )
      const running = Array.from({ length: perOwner }, () => start('a'))
      const full = { code: 'unavailable', retryAfter: 1 }
      expect(await rejection(start('a'))).to.include(full)
      for (let owner = 0; ends.length < total; owner++)
        for (let i = 0; i < perOwner && ends.length < total; i++) running.push(start(`b${owner}`))
      expect(await rejection(start('new'))).to.include(full)
      const other = start('new', tier === 'open' ? 'paying' : 'open')
      expect(ends).to.have.length(total + 1)
      // Whatever becomes of one, its place is free again.
      ends[0]?.('done')
      ends[1]?.('failed')
      await running[0]
      await rejection(running[1] as Promise<void>)
      running.push(start('a'), start('new'))
      expect(await rejection(start('new'))).to.include(full)
      for (const end of ends) end('done')
      await Promise.all([other, ...running.filter((_, index) => index !== 1)])
    })
  }
})
