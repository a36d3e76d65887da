/**
 * Our prover beside snarkjs, both on one thread, with keys, witness program and curve kept in memory: the whole proof,
 * and the largest of its sums alone. Then how many proofs a second two workers make. They take turns within one process;
 * what counts is the median of the turns.
 * @module
 */
import { groth16 } from 'snarkjs'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import { prepareCurve } from '../src/circuits/curve.ts'
import { createProofMaker } from '../src/circuits/proving/groth16.ts'
import { createProver } from '../src/circuits/proving/prover.ts'
import { createAllocator, instantiateProver } from '../src/circuits/proving/proving-instance.ts'
import { readProvingKey } from '../src/circuits/proving/proving-key.ts'
import { randomScalar, SCALAR_BYTES, scalarBytes, scalarOf } from '../src/circuits/proving/scalars.ts'
import { planWindows, windowsOf } from '../src/circuits/proving/window-plan.ts'
import { computeWitness } from '../src/circuits/proving/witness.ts'
import { artifacts } from '../test/support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../test/support/domain/proofs.ts'
import { type Row, report } from './support/interleaved.ts'

const TURNS = 7
/** Whole proofs with large tables against snarkjs; with the default of PROVER_TABLE_MB ratios are shown without a goal. */
const PROOF_MUST_REACH = 5
const WITH_GOAL: readonly CircuitId[] = ['yesno', 'eligibility', 'composite']
const LARGE_TABLE_MIB = 16
const SUM_MUST_REACH = 5
const PROOFS_PER_SECOND = 60
const PROOFS_PER_TURN = 30
const MIB = 2 ** 20
const TABLE_BYTES = 4 * MIB

const rows: Row[] = []

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const milliseconds = async (run: () => unknown): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** Adds a row for two contenders that take turns; the first run of each doesn't count. */
const compare = async (what: string, ours: () => unknown, theirs: () => unknown, goal?: number) => {
  const times: [number, number][] = []
  for (const run of [ours, theirs]) await run()
  for (let turn = 0; turn < TURNS; turn++) times.push([await milliseconds(ours), await milliseconds(theirs)])
  const ratio = median(times.map(([own, peer]) => peer / own))
  rows.push({
    what,
    ours: `${median(times.map(([own]) => own)).toFixed(1)} ms`,
    peer: 'snarkjs, one thread',
    theirs: `${median(times.map(([, peer]) => peer)).toFixed(1)} ms`,
    ratio: `${ratio.toFixed(2)}×`,
    mustReach: goal === undefined ? '' : `${goal}×`,
    ok: goal === undefined || ratio >= goal,
  })
}

const wholeProof = async (id: CircuitId, tableMib?: number): Promise<void> => {
  const { zkey, wasm } = artifacts[id]
  const make = await createProofMaker(artifacts[id], tableMib && tableMib * MIB)
  const module = await WebAssembly.compile(new Uint8Array(wasm))
  const input = GOOD_INPUTS[id]
  const theirs = async () =>
    groth16.prove({ type: 'mem', data: zkey }, { type: 'mem', data: await computeWitness(module, input) })
  const [tables, goal] =
    tableMib === undefined ? ['', undefined] : [`, tables of ${tableMib} MiB`, PROOF_MUST_REACH]
  await compare(`proof of ${id}${tables}`, () => make(input), theirs, goal)
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
  const plan = planWindows(count, count, layout.G1_BYTES, TABLE_BYTES, layout.LARGEST_WINDOW_BITS)
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

const throughput = async (): Promise<void> => {
  const prover = createProver({ threads: 2, artifacts, tableBytes: LARGE_TABLE_MIB * MIB })
  const many = () =>
    Promise.all(
      Array.from({ length: PROOFS_PER_TURN }, () =>
        prover.prove('yesno', GOOD_INPUTS.yesno, 'paying', 'bench'),
      ),
    )
  await prover.warm()
  await many()
  const rates: number[] = []
  for (let turn = 0; turn < TURNS; turn++) rates.push((PROOFS_PER_TURN * 1000) / (await milliseconds(many)))
  await prover.close()
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
await sum()
for (const { id } of CIRCUITS) await wholeProof(id)
for (const id of WITH_GOAL) await wholeProof(id, LARGE_TABLE_MIB)
await throughput()
report(rows)
