/**
 * Our prover beside snarkjs, both on one thread, with keys, witness program and curve kept in memory: the whole proof,
 * and the largest of its sums alone; the witness of a program that is kept, beside a new instance of it each time. Then how
 * long one caller waits for a pool, and how many proofs a second two workers make. They take turns within one process;
 * what counts is the median of the turns.
 * @module
 */
import { groth16 } from 'snarkjs'
import { prepareCurve } from '../src/bin/circuits/curve.ts'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import { createProofMaker } from '../src/circuits/proving/groth16.ts'
import { createProver } from '../src/circuits/proving/prover.ts'
import { createAllocator, instantiateProver } from '../src/circuits/proving/proving-instance.ts'
import { readProvingKey } from '../src/circuits/proving/proving-key.ts'
import { randomScalar, SCALAR_BYTES, scalarBytes, scalarOf } from '../src/circuits/proving/scalars.ts'
import { planSums, windowsOf } from '../src/circuits/proving/window-plan.ts'
import { createWitnessProgram, witnessFile } from '../src/circuits/proving/witness.ts'
import { createWorkerPool } from '../src/circuits/threads/worker-pool.ts'
import { artifacts } from '../test/support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../test/support/domain/proofs.ts'
import { median, milliseconds, type Row, report } from './support/interleaved.ts'

const TURNS = 7
/** Whole proofs with tables against snarkjs; with those that a thread makes at once ratios are shown without a goal. */
const PROOF_MUST_REACH = 5
const WITH_GOAL: readonly CircuitId[] = ['yesno', 'eligibility', 'composite']
const WITNESSES: readonly CircuitId[] = ['yesno', 'quantum_safe_token', 'kyc']
/** As PROVER_TABLE_MB is where nobody sets it. */
const DEFAULT_TABLE_MIB = 8
const LARGE_TABLE_MIB = 16
/** Whose tables fit a pool of two threads together. */
const IN_POOL: readonly CircuitId[] = ['yesno', 'eligibility']
const LATENCY_MS = 20
const SUM_MUST_REACH = 5
const PROOFS_PER_SECOND = 60
const PROOFS_PER_TURN = 30
const MIB = 2 ** 20
const TABLE_BYTES = 4 * MIB

const rows: Row[] = []

/** Adds a row for two contenders that take turns; the first run of each doesn't count. */
const compare = async (
  what: string,
  ours: () => unknown,
  theirs: () => unknown,
  goal?: number | { readonly ms: number },
  peer = 'snarkjs, one thread',
) => {
  const times: [number, number][] = []
  for (const run of [ours, theirs]) await run()
  for (let turn = 0; turn < TURNS; turn++) times.push([await milliseconds(ours), await milliseconds(theirs)])
  const ratio = median(times.map(([own, peer]) => peer / own))
  const ms = median(times.map(([own]) => own))
  const isTime = typeof goal === 'object'
  rows.push({
    what,
    ours: `${ms.toFixed(1)} ms`,
    peer,
    theirs: `${median(times.map(([, peer]) => peer)).toFixed(1)} ms`,
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: goal === undefined ? '' : isTime ? `≤ ${goal.ms} ms` : `${goal}×`,
    ok: goal === undefined || (isTime ? ms <= goal.ms : ratio >= goal),
  })
}

/** snarkjs on one thread, with the witness by the program that ours has. */
const withSnarkjs = async (id: CircuitId) => {
  const { zkey, wasm } = artifacts[id]
  const computeWires = await createWitnessProgram(await WebAssembly.compile(new Uint8Array(wasm)))
  return () =>
    groth16.prove(
      { type: 'mem', data: zkey },
      { type: 'mem', data: witnessFile(computeWires(GOOD_INPUTS[id])) },
    )
}

const wholeProof = async (id: CircuitId, tableMib?: number): Promise<void> => {
  const make = await createProofMaker(artifacts[id], tableMib && tableMib * MIB)
  const [tables, goal] =
    tableMib === undefined ? ['', undefined] : [`, tables of ${tableMib} MiB`, PROOF_MUST_REACH]
  await compare(`proof of ${id}${tables}`, () => make(GOOD_INPUTS[id]), await withSnarkjs(id), goal)
}

/** The witness of a program that is kept, beside a new instance for each. */
const witness = async (id: CircuitId): Promise<void> => {
  const module = await WebAssembly.compile(new Uint8Array(artifacts[id].wasm))
  const computeWires = await createWitnessProgram(module)
  const anew = async () => (await createWitnessProgram(module))(GOOD_INPUTS[id])
  await compare(`witness of ${id}`, () => computeWires(GOOD_INPUTS[id]), anew, 1, 'a new instance each time')
}

/** What snarkjs' curve has besides what snarkjs.d.ts says. */
interface Curve {
  G1: {
    multiExpAffine(bases: Uint8Array, scalars: Uint8Array): Promise<Uint8Array>
    toObject(point: Uint8Array): [bigint, bigint]
    toAffine(point: Uint8Array): Uint8Array
  }
}

const sum = async (): Promise<void> => {
  const { points, numbers } = readProvingKey(artifacts.yesno.zkey).h
  const scalars = Buffer.concat(numbers.map(() => scalarBytes(randomScalar())))
  const instance = instantiateProver()
  const { call, layout, memory } = instance
  const { put, reserve } = createAllocator(instance)
  const count = numbers.length
  const size = { count, full: count, pointBytes: layout.G1_BYTES, additionCost: 1 }
  const [plan] = planSums([size], TABLE_BYTES, layout.LARGEST_WINDOW_BITS)
  if (plan === undefined) throw new Error('no plan')
  const table = reserve(TABLE_BYTES)
  call.prepareG1(table, put(points), count, plan.entries, plan.bits * plan.groups)
  const [scalarsAt, numbersAt] = [put(scalars), put(new Uint8Array(Uint32Array.from(numbers).buffer))]
  const room = reserve(6 * count * windowsOf(plan.bits) + 64)
  const [result, output] = [reserve(layout.POINT_BYTES), reserve(2 * SCALAR_BYTES)]
  const ours = () => call.sumG1(result, count, table, plan.bits, plan.groups, scalarsAt, numbersAt, room)
  const { G1 } = globalThis.curve_bn128 as Curve
  const theirs = () => G1.multiExpAffine(points, scalars)
  ours()
  call.writeG1(output, result)
  const x = scalarOf(new Uint8Array(memory.buffer, output, SCALAR_BYTES))
  if (G1.toObject(G1.toAffine(await theirs()))[0] !== x) throw new Error('the peer makes another sum')
  await compare(`sum of ${count} multiples in G1`, ours, theirs, SUM_MUST_REACH)
}

/** A pool with its prover, whose tables are made when it is given back. */
const settledPool = async (threads: number, ids: readonly CircuitId[]) => {
  const pool = createWorkerPool({ threads, artifacts })
  const prover = createProver({ pool, tableBytes: DEFAULT_TABLE_MIB * MIB })
  const prove = (id: CircuitId) => prover.prove(id, GOOD_INPUTS[id], 'paying', 'bench')
  for (const id of ids) {
    await Promise.all(Array.from({ length: 8 * threads }, () => prove(id)))
    while (pool.running() > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const close = async () => {
    await prover.close()
    await pool.close()
  }
  return { prove, close }
}

/** How long one caller waits for an idle pool of two, beside one of a single thread and beside snarkjs. */
const latency = async (): Promise<void> => {
  const [one, two] = [await settledPool(1, IN_POOL), await settledPool(2, IN_POOL)]
  for (const id of IN_POOL) {
    const what = `${id} from an idle pool of two`
    const goal = id === 'yesno' ? LATENCY_MS : undefined
    await compare(
      what,
      () => two.prove(id),
      () => one.prove(id),
      goal && { ms: goal },
      'a pool of one',
    )
    await compare(what, () => two.prove(id), await withSnarkjs(id))
  }
  await one.close()
  await two.close()
}

const throughput = async (): Promise<void> => {
  const pool = createWorkerPool({ threads: 2, artifacts, tableBytes: LARGE_TABLE_MIB * MIB })
  const prover = createProver({ pool })
  const many = () =>
    Promise.all(
      Array.from({ length: PROOFS_PER_TURN }, () =>
        prover.prove('yesno', GOOD_INPUTS.yesno, 'paying', 'bench'),
      ),
    )
  await pool.warm()
  await many()
  const rates: number[] = []
  for (let turn = 0; turn < TURNS; turn++) rates.push((PROOFS_PER_TURN * 1000) / (await milliseconds(many)))
  await prover.close()
  await pool.close()
  const rate = median(rates)
  rows.push({
    what: `yesno by two workers, tables of ${LARGE_TABLE_MIB} MiB`,
    ours: `${rate.toFixed(0)} proofs/s`,
    peer: '',
    theirs: '',
    ratio: '',
    mustReach: `≥ ${PROOFS_PER_SECOND} proofs/s`,
    ok: rate >= PROOFS_PER_SECOND,
  })
}

await prepareCurve()
for (const id of WITNESSES) await witness(id)
await sum()
for (const { id } of CIRCUITS) await wholeProof(id)
for (const { id } of CIRCUITS) await wholeProof(id, DEFAULT_TABLE_MIB)
for (const id of WITH_GOAL) await wholeProof(id, LARGE_TABLE_MIB)
await latency()
await throughput()
report(rows)
