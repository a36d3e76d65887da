/** Proofs that several threads make together: the sums come from wherever they come, and no secret stays anywhere. */
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { expect } from 'chai'
import { type CircuitProver, createCircuitProver, type Proved } from '../../src/circuits/proving/groth16.ts'
import { createProver, type Prover } from '../../src/circuits/proving/prover.ts'
import type { Helpers } from '../../src/circuits/proving/proving-core.ts'
import {
  createTakenSums,
  endHelp,
  isHelpEnded,
  reserveSum,
  type TakenSums,
} from '../../src/circuits/proving/taken-sums.ts'
import { createHelpQueue } from '../../src/circuits/threads/help-queue.ts'
import type { HelpAsked } from '../../src/circuits/threads/helpers.ts'
import { createWorkerPool, type WorkerPool } from '../../src/circuits/threads/worker-pool.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../support/domain/proofs.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'

const input = GOOD_INPUTS.simple_yesno
const verdict = (proved: Proved) =>
  verifyPairing(artifacts.simple_yesno.verificationKey, proved.proof, proved.publicSignals)

/** Makes provers of simple_yesno, and watches their memories. */
const watched = async (count: number) => {
  const { Memory } = WebAssembly
  const memories: WebAssembly.Memory[] = []
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      super(descriptor)
      memories.push(this)
    }
  }
  const provers: CircuitProver[] = []
  try {
    for (let i = 0; i < count; i++) provers.push(await createCircuitProver(artifacts.simple_yesno, 2 ** 20))
  } finally {
    WebAssembly.Memory = Memory
  }
  const images = () => memories.map(({ buffer }) => Buffer.from(new Uint8Array(buffer)))
  return { provers, images }
}

/** Help that a prover on the same thread gives at once. */
const helpOf = (helper: CircuitProver, before: (taken: TakenSums) => void = () => undefined) => {
  const sums = new Map<number, Uint8Array>()
  const shown: Uint8Array[] = []
  const helpers: Helpers = {
    ask(copyScalars, taken) {
      const scalars = copyScalars()
      shown.push(scalars)
      before(taken)
      helper.help(scalars, taken, (sum, point) => {
        sums.set(sum, point)
      })
    },
    sum: async (number) => sums.get(number),
  }
  return { helpers, sums, shown }
}

describe('a proof with help', function () {
  this.timeout(60_000)

  it('holds whichever sums others make, and whichever of them never come', async () => {
    const { provers } = await watched(2)
    const [own, helper] = provers as [CircuitProver, CircuitProver]
    for (let wanted = 0; wanted < 8; wanted++)
      for (let lost = 0; lost < 8; lost++) {
        if ((wanted & lost) !== lost) continue
        const { helpers, sums } = helpOf(helper, (taken) => {
          for (const sum of [0, 1, 2]) if (((wanted >> sum) & 1) === 0) Atomics.store(taken, sum, 1)
        })
        const ask: Helpers['ask'] = (copyScalars, taken) => {
          helpers.ask(copyScalars, taken)
          for (const sum of [0, 1, 2]) {
            if (((wanted >> sum) & 1) === 0) Atomics.store(taken, sum, 0)
            if ((lost >> sum) & 1) sums.delete(sum)
          }
        }
        const proved = await own.proveHelped(input, { ...helpers, ask })
        expect(await verdict(proved), `${wanted}, ${lost}`).to.deep.equal({ valid: true })
        expect(proved.publicSignals).to.deep.equal(own.prove(input).publicSignals)
      }
  })

  it('leaves no byte that depends on its witness with who made it, with who helped or on the way', async () => {
    const { provers, images } = await watched(2)
    const [own, helper] = provers as [CircuitProver, CircuitProver]
    // What preparing left is overwritten after the first proof.
    for (const prover of provers) prover.prove(input)
    const before = images()
    const { helpers, sums, shown } = helpOf(helper)
    expect(await verdict(await own.proveHelped(input, helpers))).to.deep.equal({ valid: true })
    expect([...sums.keys()].sort()).to.deep.equal([0, 1, 2])
    for (const bytes of [...shown, ...sums.values()]) expect(bytes.every((byte) => byte === 0)).to.equal(true)
    images().forEach((image, i) => {
      expect(image.equals(before[i] ?? Buffer.alloc(0)), `${i}`).to.equal(true)
    })
    // Nor when it fails, here or there.
    const failing: Helpers = { ...helpers, sum: () => Promise.reject(new Error('lost')) }
    expect((await rejection(own.proveHelped(input, failing))).message).to.equal('lost')
    const short = new Uint8Array(32)
    expect(() => helper.help(short, createTakenSums(), () => undefined)).to.throw(RangeError, 'not')
    const scalars: Uint8Array[] = []
    const ask: Helpers['ask'] = (copyScalars, taken) => {
      scalars.push(copyScalars())
      const given = scalars[0]?.slice() ?? new Uint8Array()
      const fail = () => {
        throw new Error('full')
      }
      expect(() => helper.help(given, taken, fail)).to.throw('full')
      expect(given.every((byte) => byte === 0)).to.equal(true)
    }
    expect(await verdict(await own.proveHelped(input, { ask, sum: async () => undefined }))).to.deep.equal({
      valid: true,
    })
    images().forEach((image, i) => {
      expect(image.equals(before[i] ?? Buffer.alloc(0)), `${i}`).to.equal(true)
    })
  })

  it('is left after the sum that is being made when others wait, and when it is made', async () => {
    const { provers } = await watched(2)
    const [own, helper] = provers as [CircuitProver, CircuitProver]
    let seen: TakenSums | undefined
    const made: number[] = []
    const points: Uint8Array[] = []
    const proved = await own.proveHelped(input, {
      ask(copyScalars, taken) {
        seen = taken
        helper.help(copyScalars(), taken, (sum, point) => {
          made.push(sum)
          points.push(point)
          endHelp(taken)
        })
      },
      sum: async (number) => points[made.indexOf(number)],
    })
    expect(made).to.deep.equal([2])
    expect(await verdict(proved)).to.deep.equal({ valid: true })
    expect(seen !== undefined && isHelpEnded(seen)).to.equal(true)
    helper.help(new Uint8Array(32 * (436 + 512 + 4)), seen ?? createTakenSums(), (sum) => made.push(sum))
    expect(made).to.deep.equal([2])
  })

  it('gives each sum to one thread', () => {
    const taken = createTakenSums()
    expect([reserveSum(taken, 1), reserveSum(taken, 1), reserveSum(taken, 0)]).to.deep.equal([
      true,
      false,
      true,
    ])
    expect(isHelpEnded(taken)).to.equal(false)
  })
})

describe('questions for help', () => {
  const askedFor = () => {
    const { port1, port2 } = new MessageChannel()
    const closed = new Promise<void>((resolve) => {
      port1.on('close', resolve)
    })
    const asked = {
      scalars: new Uint8Array(8).fill(7),
      taken: createTakenSums(),
      port: port2,
    } as object as HelpAsked
    return { asked, closed }
  }

  it('are answered in order, and dropped and wiped when their proof is made, or help fails', async () => {
    const begun: HelpAsked[] = []
    const queue = createHelpQueue(async (asked) => {
      begun.push(asked)
      // A thread has them now.
      if (begun.length === 2) return structuredClone(asked.scalars, { transfer: [asked.scalars.buffer] })
      throw new Error('dead')
    })
    const [first, made, second] = [askedFor(), askedFor(), askedFor()]
    for (const { asked } of [first, made, second]) queue.add(asked)
    endHelp(made.asked.taken)
    queue.prune()
    await made.closed
    expect(made.asked.scalars.every((byte) => byte === 0)).to.equal(true)
    await queue.begin()
    await queue.begin()
    expect(begun).to.deep.equal([first.asked, second.asked])
    await Promise.all([first.closed, second.closed])
    expect(first.asked.scalars.every((byte) => byte === 0)).to.equal(true)
    expect(second.asked.scalars).to.have.length(0)
    expect(queue.begin()).to.equal(undefined)
  })

  it('end when others wait, also those of a proof whose first helper died with a sum', async () => {
    const queue = createHelpQueue(async ({ taken }) => {
      reserveSum(taken, 0)
      throw new Error('dead')
    })
    const [died, waits] = [askedFor(), askedFor()]
    Object.assign(waits.asked, { taken: died.asked.taken })
    for (const { asked } of [died, waits]) queue.add(asked)
    await queue.begin()
    await died.closed
    // Others take all threads: nobody would ever begin with what waits, and its port would stay open.
    queue.end()
    await waits.closed
    expect(isHelpEnded(waits.asked.taken)).to.equal(true)
    expect(waits.asked.scalars.every((byte) => byte === 0)).to.equal(true)
    expect(queue.begin()).to.equal(undefined)
    // Who helps is told, and finishes.
    const helping = createHelpQueue(() => Promise.resolve())
    const { asked, closed } = askedFor()
    helping.add(asked)
    const running = helping.begin()
    helping.end()
    expect(isHelpEnded(asked.taken)).to.equal(true)
    expect(asked.scalars.every((byte) => byte === 7)).to.equal(true)
    await running
    await closed
  })
})

describe('threads that help', function () {
  this.timeout(120_000)
  const closers: (() => Promise<void>)[] = []
  const start = (
    threads: number,
    program?: string,
  ): { pool: WorkerPool; prover: Prover; failures: unknown[] } => {
    const failures: unknown[] = []
    const pool = createWorkerPool({ threads, artifacts, program, onFailure: (error) => failures.push(error) })
    const prover = createProver({ pool })
    closers.push(async () => {
      await prover.close()
      await pool.close()
    })
    return { pool, prover, failures }
  }
  const prove = (prover: Prover) => prover.prove('simple_yesno', input, 'paying', 'org_1')
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  it('are all that are idle, for one proof or several, and proofs hold', async () => {
    const { pool, prover } = start(3)
    let most = 0
    for (let i = 0; i < 4; i++) {
      const proving = prove(prover)
      await eventually('help', () => {
        most = Math.max(most, pool.running())
        return most === 3 || pool.running() === 0
      })
      expect(await verdict(await proving)).to.deep.equal({ valid: true })
      await eventually('idleness', () => pool.running() === 0)
    }
    expect(most).to.equal(3)
    for (const proved of await Promise.all(Array.from({ length: 9 }, () => prove(prover))))
      expect(await verdict(proved)).to.deep.equal({ valid: true })
    await eventually('idleness', () => pool.running() === 0)
  })

  it('are told as soon as others wait for them', async () => {
    const program = join(import.meta.dirname, '../support/programs/helps-until-told.js')
    const { pool, prover } = start(2, program)
    const helped = prove(prover)
    await eventually('help', () => pool.running() === 2)
    const waiting = prover.prove('kyc', GOOD_INPUTS.kyc, 'paying', 'org_1')
    expect((await helped).publicSignals).to.deep.equal(['told'])
    expect((await waiting).publicSignals).to.deep.equal(['alone'])
  })

  it('may die: the proof is made without them', async () => {
    const { pool, prover, failures } = start(
      2,
      join(import.meta.dirname, '../support/programs/dies-helping.js'),
    )
    // Else the thread that is to help would only come when there is nothing left to do.
    await pool.warm()
    for (let i = 0; i < 3; i++) {
      expect(await verdict(await prove(prover))).to.deep.equal({ valid: true })
      await eventually('idleness', () => pool.running() === 0)
    }
    expect([...new Set(failures.map(String))]).to.deep.equal(['Error: A thread ended with 1.'])
  })

  it('are not asked by the only thread, nor when nobody is idle', async () => {
    const { pool, prover } = start(1)
    const proving = Array.from({ length: 3 }, () => prove(prover))
    let most = 0
    void eventually('the end', () => {
      most = Math.max(most, pool.running())
      return pool.running() === 0
    })
    await Promise.all(proving)
    expect(most).to.equal(1)
  })
})
