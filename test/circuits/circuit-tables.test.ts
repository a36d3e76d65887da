/** Tables that are made in the background and copied by the threads: what they are, for whom, and how much of them there is. */
import { join } from 'node:path'
import { expect } from 'chai'
import type { CircuitId } from '../../src/circuits/catalogue.ts'
import {
  type CircuitTables,
  type CircuitTablesOptions,
  createCircuitTables,
} from '../../src/circuits/proving/circuit-tables.ts'
import { createCircuitProver, type Proved } from '../../src/circuits/proving/groth16.ts'
import { createProver } from '../../src/circuits/proving/prover.ts'
import { createProvingCore } from '../../src/circuits/proving/proving-core.ts'
import { instantiateProver } from '../../src/circuits/proving/proving-instance.ts'
import { readProvingKey } from '../../src/circuits/proving/proving-key.ts'
import { createStopSign } from '../../src/circuits/proving/stop-sign.ts'
import { createTableMaker, sumsOf } from '../../src/circuits/proving/tables.ts'
import {
  createWorkerPool,
  type WorkerPool,
  type WorkerPoolOptions,
} from '../../src/circuits/threads/worker-pool.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../support/domain/proofs.ts'
import { eventually } from '../support/eventually.ts'

const MIB = 2 ** 20
const { simple_yesno } = artifacts

const verdict = (id: CircuitId, { proof, publicSignals }: Proved) =>
  verifyPairing(artifacts[id].verificationKey, proof, publicSignals)

/** The tables of simple_yesno, the last slice first. */
const madeTables = (budgetBytes: number) => {
  const maker = createTableMaker(simple_yesno.zkey, budgetBytes)
  const bytes = new Uint8Array(maker.bytes)
  for (let slice = maker.slices - 1; slice >= 0; slice--) maker.fill(slice, bytes)
  return { maker, tables: { budgetBytes, bytes } }
}

describe('tables that are made slice by slice', function () {
  this.timeout(60_000)

  it('are those that a prover makes for itself', () => {
    const { Memory } = WebAssembly
    const memories: WebAssembly.Memory[] = []
    WebAssembly.Memory = class extends Memory {
      constructor(descriptor: WebAssembly.MemoryDescriptor) {
        super(descriptor)
        memories.push(this)
      }
    }
    const key = readProvingKey(simple_yesno.zkey)
    try {
      createProvingCore(key, MIB)
    } finally {
      WebAssembly.Memory = Memory
    }
    const own = Buffer.from(memories[0]?.buffer ?? new ArrayBuffer(0))
    const { bytes } = madeTables(MIB).tables
    for (const sum of sumsOf(key, instantiateProver().layout, MIB)) {
      expect(sum.plan.entries).to.be.above(1)
      expect(own.includes(Buffer.from(bytes.buffer, sum.offset, sum.bytes))).to.equal(true)
    }
  })

  it('make proofs that hold, and nothing else fits', async () => {
    const prover = await createCircuitProver(simple_yesno, 0)
    const before = prover.prove(GOOD_INPUTS.simple_yesno)
    const { maker, tables } = madeTables(3 * MIB)
    expect(tables.bytes.length).to.be.within(2 * MIB, 3 * MIB)
    prover.useTables(tables)
    const after = prover.prove(GOOD_INPUTS.simple_yesno)
    expect(after.publicSignals).to.deep.equal(before.publicSignals)
    for (const proved of [before, after])
      expect(await verdict('simple_yesno', proved)).to.deep.equal({ valid: true })
    const short = { ...tables, bytes: tables.bytes.subarray(1) }
    expect(() => prover.useTables(short)).to.throw(RangeError, 'bytes, not')
    expect(await verdict('simple_yesno', prover.prove(GOOD_INPUTS.simple_yesno))).to.deep.equal({
      valid: true,
    })
    expect(() => maker.fill(maker.slices, tables.bytes)).to.throw(RangeError, 'no slice')
  })
})

describe('tables for the circuits used last', function () {
  this.timeout(120_000)
  const closers: (() => Promise<void>)[] = []
  const startPool = (options: Partial<WorkerPoolOptions> = {}): WorkerPool => {
    const pool = createWorkerPool({ threads: 1, artifacts, ...options })
    closers.push(() => pool.close())
    return pool
  }
  const start = (pool: WorkerPool, options: Partial<CircuitTablesOptions> = {}): CircuitTables => {
    const tables = createCircuitTables({ pool, bytesEach: 3 * MIB, ...options })
    closers.push(() => tables.close())
    return tables
  }
  const use = (tables: CircuitTables, id: CircuitId, times: number): void => {
    for (let i = 0; i < times; i++) tables.used(id)
  }
  const idsOf = (tables: CircuitTables) => tables.current().map(({ circuitId }) => circuitId)
  const holds = (tables: CircuitTables, ids: readonly CircuitId[]) =>
    eventually(`tables of ${ids}`, () => idsOf(tables).join() === ids.join(), { patienceMs: 60_000 })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  it('are made once for all threads when a circuit was used eight times, and prove what holds', async () => {
    const pool = startPool({ threads: 2 })
    const tables = start(pool)
    use(tables, 'simple_yesno', 7)
    await pool.warm()
    expect(pool.running()).to.equal(0)
    use(tables, 'simple_yesno', 1)
    await holds(tables, ['simple_yesno'])
    const [made] = tables.current()
    expect(made?.tables.bytes.buffer).to.be.instanceOf(SharedArrayBuffer)
    expect(Buffer.from(made?.tables.bytes ?? []).equals(madeTables(3 * MIB).tables.bytes)).to.equal(true)
    const input = GOOD_INPUTS.simple_yesno
    const shown = [tables.current(), tables.current(), [], tables.current(), [], []]
    for (const shared of await Promise.all(
      shown.map((each) => pool.prove('simple_yesno', input, each, createStopSign())),
    ))
      expect(await verdict('simple_yesno', shared as Proved)).to.deep.equal({ valid: true })
    const before = tables.current()
    await eventually('those who helped have ended', () => pool.running() === 0)
    use(tables, 'simple_yesno', 200)
    expect(pool.running()).to.equal(0)
    expect(tables.current()).to.equal(before)
  })

  it('keep to their limit with every thread’s copy, and give way to others only when they were long unused', async () => {
    const pool = startPool()
    // Room for one, shared and in the thread.
    const tables = start(pool, { totalBytes: 8 * MIB })
    use(tables, 'simple_yesno', 8)
    await holds(tables, ['simple_yesno'])
    use(tables, 'offline_validation', 8)
    await eventually('nothing to make', () => pool.running() === 0, { patienceMs: 60_000 })
    expect(idsOf(tables)).to.deep.equal(['simple_yesno'])
    const first = tables.current()
    use(tables, 'offline_validation', 100)
    await holds(tables, ['offline_validation'])
    expect(tables.current()[0]?.number).to.not.equal(first[0]?.number)
    const sum = tables.current().reduce(
      (
        bytes,
        {
          tables: {
            bytes: { length },
          },
        },
      ) => bytes + length,
      0,
    )
    expect(2 * sum).to.be.at.most(8 * MIB)
    // The thread takes them, goes on without, and takes others.
    for (const shared of [first, tables.current(), [], first]) {
      const proved = await pool.prove('simple_yesno', GOOD_INPUTS.simple_yesno, shared, createStopSign())
      expect(await verdict('simple_yesno', proved as Proved)).to.deep.equal({ valid: true })
    }
  })

  it('are not made where they would be no larger than those that each thread makes', async () => {
    const pool = startPool()
    for (const options of [{ bytesEach: 2 * MIB }, { totalBytes: 4 * MIB }]) {
      const tables = start(pool, options)
      use(tables, 'simple_yesno', 200)
      expect(pool.running()).to.equal(0)
    }
  })

  it('are made while proofs go on, on the one thread that there is', async () => {
    const pool = startPool()
    const prover = createProver({ pool, tableBytes: 3 * MIB })
    closers.push(() => prover.close())
    const made = await Promise.all(
      Array.from({ length: 20 }, () =>
        prover.prove('simple_yesno', GOOD_INPUTS.simple_yesno, 'paying', 'org_1'),
      ),
    )
    for (const proved of made) expect(await verdict('simple_yesno', proved)).to.deep.equal({ valid: true })
  })

  it('are left when closed halfway, and are tried again long after they failed', async () => {
    const pool = startPool()
    const halfway = start(pool)
    use(halfway, 'simple_yesno', 8)
    await halfway.close()
    use(halfway, 'simple_yesno', 8)
    expect(pool.running()).to.equal(0)
    expect(halfway.current()).to.deep.equal([])

    // The thread sees the same memory, which holds no key at first.
    const { zkey, wasm } = simple_yesno
    const empty = new Uint8Array(new SharedArrayBuffer(zkey.length))
    const withEmpty = { ...simple_yesno, load: async () => ({ zkey: empty, wasm }) }
    const other = startPool({ artifacts: { ...artifacts, simple_yesno: withEmpty } })
    const failures: unknown[] = []
    const tables = start(other, { onFailure: (error) => failures.push(error) })
    use(tables, 'simple_yesno', 8)
    await eventually('a failure', () => failures.length === 1)
    empty.set(zkey)
    use(tables, 'simple_yesno', 8)
    expect(other.running()).to.equal(0)
    use(tables, 'simple_yesno', 100)
    await holds(tables, ['simple_yesno'])
    expect(failures).to.have.length(1)
  })

  it('don’t take the service with them when their thread dies', async () => {
    const failures: unknown[] = []
    const pool = startPool({ program: join(import.meta.dirname, '../support/programs/dies-at-tables.js') })
    const tables = start(pool, { onFailure: (error) => failures.push(error) })
    use(tables, 'simple_yesno', 8)
    await eventually('a failure', () => failures.length === 1)
    expect(tables.current()).to.deep.equal([])
    // Another thread takes its place.
    await pool.warm()
  })
})
