/** Look-ups of one moment, asked together. */
import { expect } from 'chai'
import { createBatchedLoad } from '../../src/store/batched-load.ts'

describe('a batched look-up', () => {
  it('asks once for all keys of a moment, again for those of the next, and tells each its own or that there is none', async () => {
    const asked: string[][] = []
    const load = createBatchedLoad<number>(async (keys) => {
      asked.push([...keys])
      return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key.length]))
    })
    expect(await Promise.all(['a', 'bb', 'none'].map(load))).to.deep.equal([1, 2, undefined])
    expect(await load('ccc')).to.equal(3)
    expect(asked).to.deep.equal([['a', 'bb', 'none'], ['ccc']])
  })

  it('tells a failure to all who asked then, and asks anew afterwards', async () => {
    let fails = true
    const load = createBatchedLoad<number>(async (keys) => {
      if (fails) throw new Error('no database')
      return new Map(keys.map((key) => [key, 1]))
    })
    const outcomes = await Promise.allSettled([load('a'), load('b')])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    fails = false
    expect(await load('a')).to.equal(1)
  })

  it('gathers what is asked for while a question is answered, unless that takes too long', async () => {
    const asked: string[][] = []
    const answers: (() => void)[] = []
    const load = createBatchedLoad<number>(async (keys) => {
      asked.push([...keys])
      await new Promise<void>((resolve) => answers.push(resolve))
      return new Map(keys.map((key) => [key, key.length]))
    })
    const untilAsked = async (times: number) => {
      while (asked.length < times) await new Promise(setImmediate)
    }
    const first = load('a')
    await untilAsked(1)
    const gathered = [load('b')]
    await new Promise(setImmediate)
    gathered.push(load('cc'))
    answers[0]?.()
    expect(await first).to.equal(1)
    await untilAsked(2)
    answers[1]?.()
    expect(await Promise.all(gathered)).to.deep.equal([1, 2])
    const [stuck, next] = [load('dd'), untilAsked(3).then(() => load('ddd'))]
    await untilAsked(4)
    answers[3]?.()
    expect(await next).to.equal(3)
    answers[2]?.()
    expect(await stuck).to.equal(2)
    expect(asked).to.deep.equal([['a'], ['b', 'cc'], ['dd'], ['ddd']])
  })
})
