/** Who is held while proofs of others are made. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createGiveWay, type GiveWay } from '../../src/circuits/threads/give-way.ts'
import { eventually } from '../support/eventually.ts'

const WINDOW_MS = 500
const SHORT_WINDOW_MS = 100
/** Longest time without a pause in which somebody is held. */
const MOST_HELD_MS = 500

interface Started extends GiveWay {
  wait(milliseconds: number): void
  answer(owner: string | undefined, requests: number): void
  /** How busy the event loop is from now on. */
  setLoopUse(share: number): void
}

const start = (threads = 1): Started => {
  let [at, use] = [0, 0.9]
  const giveWay = createGiveWay({ threads, now: () => at, loopUse: () => () => use })
  return {
    ...giveWay,
    wait(milliseconds) {
      at += milliseconds
    },
    answer(owner, requests) {
      for (let i = 0; i < requests; i++) giveWay.requestEnded(owner, 1)
    },
    setLoopUse(share) {
      use = share
    },
  }
}

/** A window in which one organisation has most requests. */
const besideBusy = (requests = 100, threads = 1): Started => {
  const server = start(threads)
  server.answer('quiet', 1)
  server.answer('noisy', requests)
  server.wait(WINDOW_MS)
  server.answer('quiet', 1)
  return server
}

describe('who gives way', () => {
  it('is whoever has most requests of a busy server, while proofs of others are made', () => {
    const server = besideBusy()
    expect(server.holds('noisy')).to.equal(false)
    server.proofAsked('quiet')
    expect(server.holds('noisy')).to.equal(true)
    expect(server.holds('quiet')).to.equal(false)
    expect(server.holds('other')).to.equal(false)
    server.proofAsked('other')
    server.proofAnswered('quiet')
    expect(server.holds('noisy')).to.equal(true)
    server.proofAnswered('other')
    expect(server.holds('noisy')).to.equal(false)
  })

  it('is nobody for proofs of its own, however many', () => {
    const server = besideBusy()
    for (let i = 0; i < 5; i++) server.proofAsked('noisy')
    expect(server.holds('noisy')).to.equal(false)
  })

  it('is nobody on a server that is not busy, or that has few requests', () => {
    const idle = start()
    idle.setLoopUse(0.4)
    idle.answer('noisy', 1000)
    idle.wait(WINDOW_MS)
    idle.proofAsked('quiet')
    expect(idle.holds('noisy')).to.equal(false)
    const few = besideBusy(63)
    few.proofAsked('quiet')
    expect(few.holds('noisy')).to.equal(false)
    const many = besideBusy(64)
    many.proofAsked('quiet')
    expect(many.holds('noisy')).to.equal(true)
  })

  it('is whoever begins to take much within a tenth of a second, and not for a few requests', () => {
    for (const [requests, isHeld] of [
      [12, false],
      [13, true],
    ] as const) {
      const server = start()
      server.proofAsked('quiet')
      server.answer('noisy', requests)
      expect(server.holds('noisy')).to.equal(false)
      server.wait(SHORT_WINDOW_MS)
      expect(server.holds('noisy'), String(requests)).to.equal(isHeld)
      server.wait(SHORT_WINDOW_MS)
      expect(server.holds('noisy')).to.equal(false)
    }
  })

  it('is nobody who takes no more than half of the event loop, by its part of all requests', () => {
    for (const [use, requests, isHeld] of [
      [1, 500, false],
      [1, 501, true],
      [0.6, 833, false],
      [0.6, 834, true],
    ] as const) {
      const server = start()
      server.setLoopUse(use)
      server.answer('a', requests)
      // Also what needs no turn, or was refused.
      server.answer(undefined, 1000 - requests)
      server.wait(WINDOW_MS)
      server.proofAsked('b')
      expect(server.holds('a'), `${use} ${requests}`).to.equal(isHeld)
    }
  })

  it('is whoever asks for what costs most', () => {
    const server = start()
    server.answer('many', 80)
    for (let i = 0; i < 10; i++) server.requestEnded('costly', 10)
    server.wait(WINDOW_MS)
    server.proofAsked('quiet')
    expect(server.holds('many')).to.equal(false)
    expect(server.holds('costly')).to.equal(false)
    server.requestEnded('costly', 10)
    server.answer('costly', 1)
    expect(server.holds('costly')).to.equal(true)
  })

  it('does so for proofs of those who take little, and not of those who keep the threads busy', () => {
    const server = besideBusy()
    server.threadWorked('prover', 251)
    server.proofAsked('prover')
    expect(server.holds('noisy')).to.equal(false)
    server.proofAsked('quiet')
    expect(server.holds('noisy')).to.equal(true)
    expect(server.holds('prover')).to.equal(false)
    server.proofAnswered('quiet')
    expect(server.holds('noisy')).to.equal(false)
    // As time passes, the same is less of it.
    server.wait(2)
    expect(server.holds('noisy')).to.equal(true)
  })

  it('does so while all threads are busy with them, and not while some are idle', () => {
    const server = besideBusy(100, 3)
    for (const owner of ['quiet', 'other']) server.proofAsked(owner)
    expect(server.holds('noisy')).to.equal(false)
    server.proofAsked('other')
    expect(server.holds('noisy')).to.equal(true)
    server.proofAnswered('quiet')
    expect(server.holds('noisy')).to.equal(false)
  })

  it('has few places for a second after a proof of somebody who takes little was waited for, also of idle threads', () => {
    const server = besideBusy(200, 3)
    expect(server.slows('noisy')).to.equal(false)
    server.threadWorked('prover', 1000)
    server.proofQueued('prover')
    expect(server.slows('noisy')).to.equal(false)
    // Whoever asks may be refused, or have had the answer before.
    server.proofAsked('quiet')
    server.proofAnswered('quiet')
    expect(server.slows('noisy')).to.equal(false)
    server.proofQueued('quiet')
    for (const [owner, isSlow] of [
      ['noisy', true],
      ['quiet', false],
      ['other', false],
    ] as const)
      expect(server.slows(owner), owner).to.equal(isSlow)
    expect(server.holds('noisy')).to.equal(false)
    server.answer('noisy', 200)
    server.wait(999)
    server.answer('noisy', 200)
    expect(server.slows('noisy')).to.equal(true)
    server.wait(1)
    expect(server.slows('noisy')).to.equal(false)
  })

  it('is told to look again a little later, once, while somebody is held', async () => {
    const server = besideBusy()
    let looked = 0
    const look = () => {
      looked += 1
    }
    expect(server.lookAgain(look)).to.equal(false)
    server.proofAsked('quiet')
    expect(server.holds('noisy')).to.equal(true)
    expect([server.lookAgain(look), server.lookAgain(look)]).to.deep.equal([true, true])
    await eventually('it looked', () => looked > 0)
    expect(looked).to.equal(1)
    expect(server.lookAgain(look)).to.equal(true)
    server.wait(100)
    server.proofAnswered('quiet')
    await new Promise((resolve) => setImmediate(resolve))
    // At once.
    expect(looked).to.equal(2)
    // Although nobody asked again whether it is held.
    expect(server.lookAgain(look)).to.equal(false)
    server.wait(100)
    server.proofAsked('quiet')
    expect(server.heldSeconds()).to.equal(0.1)
  })

  it('is forgotten a second later', () => {
    const server = besideBusy()
    server.proofAsked('quiet')
    server.wait(WINDOW_MS - 1)
    expect(server.holds('noisy')).to.equal(true)
    server.wait(1)
    expect(server.holds('noisy')).to.equal(false)
    const long = besideBusy()
    long.proofAsked('quiet')
    long.wait(3600_000)
    expect(long.holds('noisy')).to.equal(false)
  })

  it('is held for half of the time at most, half a second at a time, if proofs never end, however often it asks', () => {
    for (const gaps of [[1], [10], [97], [0.005, 10], [0.005, 0.005, 40]]) {
      const server = besideBusy()
      server.proofAsked('quiet')
      let [held, atOnce, longest, at] = [0, 0, 0, 0]
      const totalMs = 60_000
      for (let i = 0; at < totalMs; i++) {
        const gap = gaps[i % gaps.length] ?? 1
        const isHeld = server.holds('noisy')
        // Who is free has all places, or both together would leave less than half.
        if (at > 2 * MOST_HELD_MS && !isHeld) expect(server.slows('noisy')).to.equal(false)
        if (!isHeld) server.answer('noisy', 2 * Math.ceil(gap))
        atOnce = isHeld ? atOnce + gap : 0
        held += isHeld ? gap : 0
        longest = Math.max(longest, atOnce)
        server.wait(gap)
        at += gap
      }
      expect(held, String(gaps)).to.be.within(0.4 * totalMs, totalMs / 2 + MOST_HELD_MS + 100)
      expect(longest, String(gaps)).to.be.within(MOST_HELD_MS, MOST_HELD_MS + 100)
    }
  })

  it('is held for as long again as nobody was', () => {
    const server = besideBusy()
    const heldFor = (most: number): number => {
      server.proofAsked('quiet')
      let milliseconds = 0
      for (; milliseconds < most && server.holds('noisy'); milliseconds += 10) server.wait(10)
      server.proofAnswered('quiet')
      return milliseconds
    }
    const pauseFor = (milliseconds: number): void => {
      for (let at = 0; at < milliseconds; at += 100) {
        server.answer('noisy', 100)
        server.wait(100)
      }
    }
    expect(heldFor(300)).to.equal(300)
    pauseFor(200)
    expect(heldFor(1000)).to.equal(400)
    // Who was held for as long as one may be is free for as long.
    pauseFor(400)
    expect(heldFor(1000)).to.equal(0)
    pauseFor(100)
    expect(heldFor(1000)).to.equal(MOST_HELD_MS)
  })

  it('is nobody who takes less than half, and nobody while no other has proofs, whatever happens', () => {
    const event = fc.record({
      after: fc.constantFrom(0, 1, 3, 10, 40, 200, 700),
      what: fc.constantFrom('came', 'went', 'worked', 'began', 'asked', 'asked'),
      owner: fc.constantFrom('a', 'b', 'c'),
      amount: fc.integer({ min: 1, max: 300 }),
    })
    let heldOnce = 0
    fc.assert(
      fc.property(fc.array(event, { minLength: 50, maxLength: 400 }), (events) => {
        const server = start()
        const [requests, worked]: [number, string, number][][] = [[], []]
        const proofs: string[] = []
        let at = 0
        const lately = (
          of: readonly [number, string, number][] = [],
          owner?: string,
          windowMs = WINDOW_MS,
        ): number => {
          const since = (Math.floor(at / windowMs) - 1) * windowMs
          const counted = of.filter(([when, whose]) => when >= since && (owner ?? whose) === whose)
          return counted.reduce((sum, [, , amount]) => sum + amount, 0)
        }
        for (const { after, what, owner, amount } of events) {
          server.wait(after)
          at += after
          if (what === 'came') {
            proofs.push(owner)
            server.proofAsked(owner)
          } else if (what === 'went' && proofs.includes(owner)) {
            proofs.splice(proofs.indexOf(owner), 1)
            server.proofAnswered(owner)
          } else if (what === 'worked') {
            worked?.push([at, owner, amount])
            server.threadWorked(owner, amount)
          } else if (what === 'began') {
            requests?.push([at, owner, amount])
            server.answer(owner, amount)
          } else if (what === 'asked' && server.holds(owner)) {
            heldOnce += 1
            const hasMuch = (windowMs: number) =>
              2 * lately(requests, owner, windowMs) > lately(requests, undefined, windowMs)
            expect(hasMuch(WINDOW_MS) || hasMuch(SHORT_WINDOW_MS)).to.equal(true)
            const hasThreads = (other: string) => 2 * lately(worked, other) > WINDOW_MS + (at % WINDOW_MS)
            expect(proofs.some((other) => other !== owner && !hasThreads(other))).to.equal(true)
          }
        }
      }),
    )
    expect(heldOnce).to.be.above(0)
  })
})
