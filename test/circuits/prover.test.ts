/** The prover's tiers and threads, which run the built bundle. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { workerFile } from '../../src/circuits/artifacts/artifacts.ts'
import {
  createProver,
  type Prover,
  type ProverOptions,
  type Tier,
} from '../../src/circuits/proving/prover.ts'
import { NOBODY_GIVES_WAY } from '../../src/circuits/threads/give-way.ts'
import {
  createWorkerPool,
  type WorkerPool,
  type WorkerPoolOptions,
} from '../../src/circuits/threads/worker-pool.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { AppError } from '../../src/errors.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../support/domain/proofs.ts'
import { rejection } from '../support/rejection.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const GIVE_UP_MS = 20_000

const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise)
  return error instanceof AppError ? error.code : error.message
}

describe('prover', function () {
  this.timeout(60_000)
  const newDirectory = temporaryDirectories()
  type Started = Prover & Pick<WorkerPool, 'warm' | 'hear'>
  const open: Prover[] = []
  const start = ({
    limits,
    sharedWaitSeconds,
    giveWay,
    ...options
  }: Partial<WorkerPoolOptions> &
    Pick<ProverOptions, 'limits' | 'sharedWaitSeconds' | 'giveWay'> = {}): Started => {
    const pool = createWorkerPool({ threads: 1, artifacts, ...options })
    const prover = createProver({ pool, limits, sharedWaitSeconds, giveWay })
    const close = async () => {
      await prover.close()
      await pool.close()
    }
    const started = { ...prover, close, warm: pool.warm, hear: pool.hear }
    open.push(started)
    return started
  }
  /** Some promises after its proof. */
  const threadIsFree = () => new Promise((resolve) => setImmediate(resolve))
  const prove = (prover: Prover, tier: Tier = 'paying', owner = 'org_1') =>
    prover.prove('simple_yesno', GOOD_INPUTS.simple_yesno, tier, owner)
  afterEach(async () => {
    for (const prover of open.splice(0)) await prover.close()
  })

  it('makes proofs that hold, of several circuits at a time, on two threads of the built bundle', async () => {
    expect(basename(workerFile())).to.equal('circuit-worker.js')
    const prover = start({ threads: 2 })
    const ids = ['yesno', 'simple_yesno', 'yesno', 'simple_yesno'] as const
    const made = await Promise.all(ids.map((id) => prover.prove(id, GOOD_INPUTS[id], 'paying', 'org_1')))
    for (const [i, { proof, publicSignals }] of made.entries())
      expect(
        await verifyPairing(artifacts[ids[i] ?? 'yesno'].verificationKey, proof, publicSignals),
      ).to.deep.equal({ valid: true })
    expect(made[0]?.publicSignals).to.deep.equal(made[2]?.publicSignals)
    expect(made[0]?.proof.pi_a).to.not.deep.equal(made[2]?.proof.pi_a)
  })

  it('makes one proof after the other in one turn of the event loop, where threads are heard', async () => {
    const prover = start()
    await prove(prover)
    let left = 3
    const made = Array.from({ length: left }, () => prove(prover).finally(() => left--))
    const deadline = performance.now() + GIVE_UP_MS
    while (left > 0 && performance.now() < deadline) {
      prover.hear()
      // What follows from an answer goes on, but no event comes.
      await undefined
    }
    expect(left).to.equal(0)
    await Promise.all(made)
  })

  it('refuses what a full tier cannot take, says when to come back, and takes more once it emptied', async () => {
    const prover = start({ limits: { paying: { total: 2, perOwner: 2 }, open: { total: 1, perOwner: 1 } } })
    const first = prove(prover)
    const waiting = [prove(prover), prove(prover)]
    const overloaded = await rejection(prove(prover))
    expect(overloaded).to.be.instanceOf(AppError).with.property('code', 'prover_overloaded')
    expect(overloaded).to.include({ status: 503 })
    expect((overloaded as AppError).retryAfter).to.be.at.least(1)
    // The other tier has a queue of its own.
    waiting.push(prove(prover, 'open'))
    expect(prover.waiting()).to.deep.equal({ paying: 2, open: 1 })
    expect(await codeOf(prove(prover, 'open'))).to.equal('prover_overloaded')
    await Promise.all([first, ...waiting])
    expect(prover.waiting()).to.deep.equal({ paying: 0, open: 0 })
    expect((await prove(prover)).publicSignals).to.have.length(4)
    expect((await prove(prover, 'open')).publicSignals).to.have.length(4)
  })

  it('refuses a proof that would wait too long behind those of its owner, while others wait as well', async () => {
    const prover = start({ sharedWaitSeconds: 0 })
    await prove(prover)
    await threadIsFree()
    const made = [prove(prover), prove(prover), prove(prover)]
    // Whoever has none waiting is let in.
    made.push(prove(prover, 'paying', 'org_2'))
    expect(await codeOf(prove(prover))).to.equal('prover_overloaded')
    expect(await codeOf(prove(prover, 'paying', 'org_2'))).to.equal('prover_overloaded')
    made.push(prove(prover, 'paying', 'org_3'))
    await Promise.all(made)
    expect((await Promise.all([prove(prover), prove(prover)])).length).to.equal(2)
  })

  it('serves paying callers first, and lets open ones in at every fourth turn', async () => {
    const prover = start()
    const order: Tier[] = []
    const run = (tier: Tier) => prove(prover, tier).then(() => order.push(tier))
    const first = prove(prover)
    await Promise.all([
      first,
      ...Array.from({ length: 5 }, () => run('open')),
      ...Array.from({ length: 7 }, () => run('paying')),
    ])
    const [p, o] = ['paying', 'open'] as const
    expect(order).to.deep.equal([p, p, p, o, p, p, p, o, p, o, o, o])
  })

  it('makes one owner wait for no more of the flood of another than what is being made, in either tier', async () => {
    for (const tier of ['paying', 'open'] as const) {
      const prover = start()
      const order: string[] = []
      const run = (owner: string) => prove(prover, tier, owner).then(() => order.push(owner))
      const flood = Array.from({ length: 6 }, () => run('org_1'))
      await Promise.all([...flood, run('org_2'), run('org_2')])
      // The first one runs before anybody else comes.
      expect(order.join(' '), tier).to.equal('org_1 org_2 org_1 org_2 org_1 org_1 org_1 org_1')
    }
  })

  it('gives up a proof of whoever is held for one of another organisation, once, and makes it then', async () => {
    const worked: string[] = []
    let held = ''
    const prover = start({
      giveWay: {
        ...NOBODY_GIVES_WAY,
        threadWorked: (owner) => worked.push(owner),
        holds: (owner) => owner === held,
      },
    })
    await prove(prover)
    await threadIsFree()
    worked.length = 0
    held = 'noisy'
    const order: string[] = []
    const run = async (owner: string, tier?: Tier) => {
      const { proof, publicSignals } = await prove(prover, tier, owner)
      const { verificationKey } = artifacts.simple_yesno
      expect(await verifyPairing(verificationKey, proof, publicSignals)).to.deep.equal({ valid: true })
      order.push(owner)
    }
    const noisy = [run('noisy'), run('noisy')]
    // For strangers nobody gives way.
    noisy.push(run('stranger', 'open'))
    await Promise.all([...noisy, run('quiet'), run('other')])
    expect(order[0]).to.equal('quiet')
    expect(order.indexOf('other')).to.be.below(order.indexOf('noisy'))
    expect(worked.filter((owner) => owner === 'noisy')).to.have.length(3)
    expect(worked.filter((owner) => owner !== 'noisy').toSorted()).to.deep.equal(['other', 'quiet'])
  })

  it('refuses what was given up and waits when it closes', async () => {
    const prover = start({ giveWay: { ...NOBODY_GIVES_WAY, holds: (owner) => owner === 'noisy' } })
    await prove(prover)
    await threadIsFree()
    const noisy = codeOf(prove(prover, 'paying', 'noisy'))
    const quiet = codeOf(prove(prover, 'paying', 'quiet'))
    const closed = prover.close()
    expect(await noisy).to.equal('unavailable')
    expect(await quiet).to.equal('unavailable')
    await closed
  })

  it('refuses an owner more than its share of a tier, and takes those of others', async () => {
    const limits = { total: 4, perOwner: 2 }
    const prover = start({ limits: { paying: limits, open: limits } })
    const taken = [prove(prover), prove(prover), prove(prover)]
    expect(await codeOf(prove(prover))).to.equal('prover_overloaded')
    taken.push(prove(prover, 'paying', 'org_2'), prove(prover, 'paying', 'org_2'))
    expect(await codeOf(prove(prover, 'paying', 'org_3'))).to.equal('prover_overloaded')
    // A share is of one tier, not of both.
    taken.push(prove(prover, 'open'))
    expect(await Promise.all(taken)).to.have.length(6)
  })

  it('tells a longer wait the more proofs go before, within bounds', async () => {
    const wait = async (waiting: number) => {
      const limits = { total: 1000, perOwner: waiting }
      const prover = start({ limits: { paying: limits, open: limits } })
      const proofs = Array.from({ length: waiting + 1 }, () => codeOf(prove(prover)))
      const { retryAfter } = (await rejection(prove(prover))) as AppError
      await prover.close()
      await Promise.allSettled(proofs)
      return retryAfter
    }
    // Nothing was measured yet: 250 ms each on one thread, those that wait and the one that runs.
    expect(await wait(1)).to.equal(1)
    expect(await wait(99)).to.equal(25)
    expect(await wait(900)).to.equal(60)
  })

  it('fails what waits for threads that cannot start, and says why', async () => {
    const failures: unknown[] = []
    const program = join(import.meta.dirname, '../support/programs/fails-to-load.js')
    const prover = start({ program, threads: 2, onFailure: (error) => failures.push(error) })
    const codes = Array.from({ length: 4 }, () => codeOf(prove(prover)))
    expect(await codeOf(prover.warm())).to.equal('unavailable')
    expect(await Promise.all(codes)).to.deep.equal(Array.from({ length: 4 }, () => 'unavailable'))
    expect(await codeOf(prove(prover))).to.equal('unavailable')
    expect(String(failures[0])).to.include('This program fails to load.')
    await prover.close()
  })

  it('prepares again what could not be prepared: its threads, and a circuit in a thread', async () => {
    const flag = join(await newDirectory(), 'flag')
    const program = `${flag}.mjs`
    const load = `import { existsSync } from 'node:fs'\nif (!existsSync(${JSON.stringify(flag)})) throw new Error('no')`
    await writeFile(program, `${load}\nawait import(${JSON.stringify(workerFile())})\n`)
    const threads = start({ program })
    expect(await codeOf(threads.warm())).to.equal('unavailable')
    await writeFile(flag, '')
    await threads.warm()

    // The thread sees the same memory, which holds no program at first.
    const { wasm, zkey } = artifacts.simple_yesno
    const empty = new Uint8Array(new SharedArrayBuffer(wasm.length))
    const simple_yesno = { ...artifacts.simple_yesno, load: async () => ({ zkey, wasm: empty }) }
    const prover = start({ artifacts: { ...artifacts, simple_yesno } })
    expect(await codeOf(prove(prover))).to.include('WebAssembly')
    empty.set(wasm)
    expect((await prove(prover)).publicSignals).to.have.length(4)
  })

  it('fails the one proof that has no witness, and goes on', async () => {
    const prover = start()
    const { simple_yesno: good } = GOOD_INPUTS
    const [bad, unnamed, fine] = await Promise.allSettled([
      prover.prove('simple_yesno', { ...good, value: '21' }, 'paying', 'org_1'),
      prover.prove('simple_yesno', { ...good, other: '1' }, 'paying', 'org_1'),
      prove(prover),
    ])
    expect(bad).to.have.property('status', 'rejected')
    expect(unnamed).to.have.property('status', 'rejected')
    expect(String((bad as PromiseRejectedResult).reason)).to.include('witness')
    // What failed must not be told: the input holds what the proof is to hide.
    expect(String((bad as PromiseRejectedResult).reason)).to.not.include(good.salt)
    expect(fine).to.have.property('status', 'fulfilled')
  })

  it('finishes what runs when it closes, and refuses what waits and what comes', async () => {
    const prover = start()
    const running = prove(prover)
    const waiting = [codeOf(prove(prover)), codeOf(prove(prover, 'open'))]
    const closed = prover.close()
    expect(await codeOf(prove(prover))).to.equal('unavailable')
    expect(await Promise.all(waiting)).to.deep.equal(['unavailable', 'unavailable'])
    expect((await running).publicSignals).to.have.length(4)
    await closed
    await prover.close()
  })

  it('leaves nothing behind that keeps a process alive', async () => {
    const program = join(import.meta.dirname, '../support/programs/prove-and-close.ts')
    const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', program], {
      timeout: 30_000,
    })
    expect(stdout.trim()).to.equal('1')
  })
})
