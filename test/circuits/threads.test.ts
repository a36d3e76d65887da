/** Threads that run tasks, with programs made for it. What else becomes of them is tested where proofs are made. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createThreads, type Threads } from '../../src/circuits/threads/threads.ts'
import { AppError } from '../../src/errors.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'

const PROGRAMS = join(import.meta.dirname, '../support/programs')
const GIVE_UP_MS = 20_000

describe('threads', () => {
  const open: Threads[] = []
  const start = ({ most = 1, program = 'answers.js', more = {} } = {}) => {
    const begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const failures: unknown[] = []
    const threads = createThreads({
      most,
      program: join(PROGRAMS, program),
      data: { begun, ...more },
      youngGenerationMib: 16,
      onMessage: () => undefined,
      onFailure: (error) => failures.push(error),
    })
    open.push(threads)
    return { threads, failures, begun: () => Atomics.load(begun, 0) }
  }
  afterEach(async () => {
    for (const threads of open.splice(0)) await threads.close()
  })

  it('answer each task, what it threw as well, in more tasks than there may be threads', async () => {
    const { threads, failures } = start({ most: 2 })
    const echoes = Array.from({ length: 20 }, (_, echo) => threads.run({ echo }))
    expect((await rejection(threads.run({ fails: 'no such thing' }))).message).to.equal('no such thing')
    expect(await Promise.all(echoes)).to.deep.equal(Array.from({ length: 20 }, (_, echo) => echo))
    expect(failures).to.deep.equal([])
  })

  it('have their next task in the turn of the event loop in which they are heard', async () => {
    const { threads, begun } = start()
    await threads.run({ echo: 0 })
    const asked = [1, 2, 3].map((echo) => threads.run({ echo }))
    const before = begun()
    const deadline = performance.now() + GIVE_UP_MS
    // Nothing else runs on this thread meanwhile: no event tells of an answer.
    while (begun() < before + 2 && performance.now() < deadline) threads.hear()
    expect(begun()).to.be.at.least(before + 2)
    expect(await Promise.all(asked)).to.deep.equal([1, 2, 3])
  })

  it('are replaced when they end, and whoever waited for one may ask again', async () => {
    const { threads, failures } = start()
    expect(await rejection(threads.run({ ends: 3 }))).to.include({ code: 'unavailable' })
    expect(await threads.run({ echo: 'again' })).to.equal('again')
    expect(failures.map(String)).to.deep.equal(['Error: A thread ended with 3.'])
  })

  it('refuse what can be sent to none, and go on with what waits behind it', async () => {
    const { threads } = start()
    const first = threads.run({ echo: 1 })
    const refused = rejection(threads.run(() => undefined))
    const last = threads.run({ echo: 2 })
    expect((await refused).name).to.equal('DataCloneError')
    expect(await Promise.all([first, last])).to.deep.equal([1, 2])
  })

  it('keep the process alive until it is told that they have died', async () => {
    const program = join(PROGRAMS, 'loses-a-thread.ts')
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--import=tsx', program], { timeout: GIVE_UP_MS })
    const told = [1, 2, 3, 4, 5].map((code) => `A thread ended with ${code}.`)
    expect(stdout.trim().split('\n')).to.deep.equal(told)
  })

  it('refuse what waits where none can be made, and try again with the next task', async () => {
    // As where it has none, Node throws at once.
    const { threads, failures } = start({ most: 2, more: { unsendable: () => undefined } })
    for (let i = 1; i <= 2; i++) {
      expect(await rejection(threads.run({ echo: 1 }))).to.include({ code: 'unavailable' })
      expect(failures).to.have.length(i)
    }
  })

  it('say when one ends that had nothing to do, and are replaced', async () => {
    const { threads, failures } = start()
    await threads.run({ endsLater: 4 })
    await eventually('its end', () => failures.length === 1)
    expect(String(failures[0])).to.include('A thread ended with 4.')
    expect(await threads.run({ echo: 1 })).to.equal(1)
  })

  it('may be closed while they start', async () => {
    const { threads } = start()
    const asked = rejection(threads.run({ echo: 1 }))
    await threads.close()
    expect(await asked).to.include({ code: 'unavailable' })
  })

  it('refuse all that waits when none can start, each time, and say why', async () => {
    const { threads, failures } = start({ most: 2, program: 'fails-to-load.js' })
    for (let i = 0; i < 2; i++) {
      const refused = await Promise.all([1, 2, 3].map((echo) => rejection(threads.run({ echo }))))
      for (const error of refused)
        expect(error).to.be.instanceOf(AppError).with.property('code', 'unavailable')
    }
    expect(String(failures[0])).to.include('This program fails to load.')
  })

  it('end what runs and what waits when they are closed, and begin nothing afterwards', async () => {
    const { threads, failures } = start()
    await threads.run({ echo: 0 })
    const asked = Array.from({ length: 3 }, () => rejection(threads.run({ echo: 1 })))
    await threads.close()
    asked.push(rejection(threads.run({ echo: 2 })))
    for (const error of await Promise.all(asked))
      expect(error).to.be.instanceOf(AppError).with.property('code', 'unavailable')
    expect(failures).to.deep.equal([])
  })
})
