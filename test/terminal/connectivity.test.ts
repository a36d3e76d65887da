import { expect } from 'chai'
import { createConnectivity, PROBE_INTERVALS_MS } from '../../src/terminal/connectivity.ts'
import type { Probe } from '../../src/terminal/merchant-api.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Time in the hands of the test: pauses are noted and end when it says so. */
const heldTime = () => {
  const pauses: number[] = []
  let waiting: (() => void) | undefined
  return {
    pauses,
    delay: (ms: number, run: () => void) => {
      pauses.push(ms)
      waiting = run
      return () => {
        if (waiting === run) waiting = undefined
      }
    },
    /** Ends the pause and lets the probe it begins come to its end. */
    pass: async () => {
      const run = waiting
      waiting = undefined
      run?.()
      await settled()
    },
    isWaiting: () => waiting !== undefined,
  }
}

/** A probe that is answered at once, or never. */
const probeThat = (answers: boolean | Promise<boolean>): Probe => {
  const answered = Promise.resolve(answers)
  return { quick: answered, answered }
}
const nothing = (): void => {}
const away = { ask: () => probeThat(false), onChange: nothing, onAnswer: nothing }

/** A started prober whose first five probes got these answers; later ones succeed. */
const afterFiveProbes = async (answers: boolean[]) => {
  const time = heldTime()
  const changes: boolean[] = []
  const connectivity = createConnectivity({
    ask: () => probeThat(answers.shift() ?? true),
    onChange: (online) => changes.push(online),
    onAnswer: nothing,
    delay: time.delay,
  })
  connectivity.start()
  for (let i = 0; i < 5; i++) await time.pass()
  return { time, changes, connectivity }
}

describe('connectivity of a terminal', () => {
  it('probes at the documented intervals while the server is away', async () => {
    const time = heldTime()
    const connectivity = createConnectivity({ ...away, delay: time.delay })
    connectivity.start()
    for (let i = 0; i < 15; i++) await time.pass()
    expect(time.pauses).to.deep.equal([
      1, 1, 1, 5, 10, 50, 100, 250, 500, 1000, 2000, 5000, 5000, 5000, 5000, 5000,
    ])
    expect(PROBE_INTERVALS_MS).to.have.length(12)
    await connectivity.close()
  })

  it('says once that the server is there, and then probes every five seconds', async () => {
    const { time, changes, connectivity } = await afterFiveProbes([false, false, true, true, true])
    expect(changes).to.deep.equal([true])
    expect(time.pauses).to.deep.equal([1, 1, 1, 5000, 5000, 5000])
    await connectivity.close()
  })

  it('begins with quick probes again after a loss', async () => {
    const { time, changes, connectivity } = await afterFiveProbes([false, false, false, false, true])
    connectivity.lost()
    expect(connectivity.online).to.equal(false)
    await time.pass()
    expect(changes).to.deep.equal([true, false, true])
    expect(time.pauses).to.deep.equal([1, 1, 1, 5, 10, 5000, 1, 5000])
    await connectivity.close()
  })

  it('has one probe in flight, which all who ask share', async () => {
    const time = heldTime()
    let asked = 0
    const answers: ((answer: boolean) => void)[] = []
    const connectivity = createConnectivity({
      ask: () => {
        asked++
        return probeThat(new Promise((resolve) => answers.push(resolve)))
      },
      onChange: nothing,
      onAnswer: nothing,
      delay: time.delay,
    })
    connectivity.start()
    await time.pass()
    const joined = [connectivity.probe(), connectivity.probe()]
    expect([asked, time.isWaiting()]).to.deep.equal([1, false])
    answers[0]?.(true)
    expect(await Promise.all(joined)).to.deep.equal([true, true])
    await connectivity.close()
  })

  it('does not believe a probe that began before a loss', async () => {
    const time = heldTime()
    const changes: boolean[] = []
    const answers: ((answer: boolean) => void)[] = []
    const connectivity = createConnectivity({
      ask: () => probeThat(new Promise((resolve) => answers.push(resolve))),
      onChange: (online) => changes.push(online),
      onAnswer: nothing,
      delay: time.delay,
    })
    const first = connectivity.probe()
    answers[0]?.(true)
    await first
    const second = connectivity.probe()
    connectivity.lost()
    answers[1]?.(true)
    expect(await second).to.equal(false)
    expect(changes).to.deep.equal([true, false])
    await connectivity.close()
  })

  it('hears of an answer that comes too late to be quick, and lets one probe at a time be slow', async () => {
    const time = heldTime()
    const asked: boolean[] = []
    const slow: ((answer: boolean) => void)[] = []
    let answers = 0
    const connectivity = createConnectivity({
      ask: (patient) => {
        asked.push(patient)
        const quick = Promise.resolve(false)
        return { quick, answered: patient ? new Promise((resolve) => slow.push(resolve)) : quick }
      },
      onChange: nothing,
      onAnswer: () => answers++,
      delay: time.delay,
    })
    connectivity.start()
    for (let i = 0; i < 3; i++) await time.pass()
    expect([asked, answers, connectivity.online]).to.deep.equal([[true, false, false], 0, false])
    slow[0]?.(true)
    await settled()
    await time.pass()
    expect([asked.at(-1), answers, connectivity.online]).to.deep.equal([true, 1, false])
    slow[1]?.(false)
    await settled()
    await time.pass()
    expect([asked.at(-1), answers]).to.deep.equal([true, 1])
    await connectivity.close()
    slow[2]?.(true)
    await settled()
    expect(answers).to.equal(1)
  })

  it('probes no more once closed', async () => {
    const time = heldTime()
    const connectivity = createConnectivity({ ...away, delay: time.delay })
    connectivity.start()
    await connectivity.close()
    expect(time.isWaiting()).to.equal(false)
  })
})
