/**
 * Each circuit: size, witness, one proof by the pool beside snarkjs as its documentation uses it (`groth16.fullProve` with
 * paths of files, on its own threads). Then how many proofs a second the pool makes beside it. They take turns within one
 * process; what counts is the median of the turns. Verification is in bench/verifier.ts.
 * @module
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { groth16 } from 'snarkjs'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import type { Proved } from '../src/circuits/proving/groth16.ts'
import { createProver, type Prover } from '../src/circuits/proving/prover.ts'
import { createWitnessProgram } from '../src/circuits/proving/witness.ts'
import { createWorkerPool } from '../src/circuits/threads/worker-pool.ts'
import { encodeZk1 } from '../src/protocol/zk1.ts'
import { artifacts } from '../test/support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../test/support/domain/proofs.ts'
import { type Row, report } from './support/interleaved.ts'

const ROOT = join(import.meta.dirname, '..')
const TURNS = 5
const PROOFS_PER_TURN = 6
/** Two single-threaded workers against two threads for one proof. */
const MUST_REACH = 1.5
/** What a caller who waits may wait for one proof, of circuits up to this domain. */
const ONLINE_MS = 500
const ONLINE_DOMAIN = 4096
/** Circuits whose throughput is measured. */
const THROUGHPUT = ['simple_yesno', 'yesno'] as const
const KIB = 1024

const zkeyFile = (id: CircuitId): string => join(ROOT, `circuits/keys/${id}.zkey`)
const wasmFile = (id: CircuitId): string => join(ROOT, `build/circuits/${id}.wasm`)
const provers = [1, 2].map((threads) => {
  const pool = createWorkerPool({ threads, artifacts })
  return { threads, pool, prover: createProver({ pool }) }
})
const rows: Row[] = []

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const milliseconds = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** Median times of each contender, in turns; the first run of each doesn't count. */
const inTurns = async (contenders: readonly (() => Promise<unknown>)[]): Promise<number[][]> => {
  for (const run of contenders) await run()
  const times = contenders.map((): number[] => [])
  for (let turn = 0; turn < TURNS; turn++)
    for (const [i, run] of contenders.entries()) times[i]?.push(await milliseconds(run))
  return times
}

const ratioOf = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((time, turn) => (theirs[turn] ?? Number.NaN) / time))

const inPool = (prover: Prover, id: CircuitId) => prover.prove(id, GOOD_INPUTS[id], 'paying', 'bench')
const manyInPool = (prover: Prover, id: CircuitId) =>
  Promise.all(Array.from({ length: PROOFS_PER_TURN }, () => inPool(prover, id)))
const withSnarkjs = (id: CircuitId): Promise<Proved> =>
  groth16.fullProve(GOOD_INPUTS[id], wasmFile(id), zkeyFile(id))

/** One proof for a caller who waits, and what it is made of. */
const single = async (id: CircuitId, domain: number) => {
  const [{ prover }] = provers as [(typeof provers)[number]]
  const module = await WebAssembly.compile(new Uint8Array(artifacts[id].wasm))
  const computeWires = await createWitnessProgram(module)
  const [ours = [], theirs = [], witness = []] = await inTurns([
    () => inPool(prover, id),
    () => withSnarkjs(id),
    async () => computeWires(GOOD_INPUTS[id]),
  ])
  const hasGoal = domain <= ONLINE_DOMAIN
  rows.push({
    what: `${id}, one proof`,
    ours: `${median(ours).toFixed(0)} ms`,
    peer: 'snarkjs fullProve',
    theirs: `${median(theirs).toFixed(0)} ms`,
    ratio: `${ratioOf(ours, theirs).toFixed(2)}×`,
    mustReach: hasGoal ? `< ${ONLINE_MS} ms` : '',
    ok: !hasGoal || median(ours) < ONLINE_MS,
  })
  return { 'witness ms': median(witness).toFixed(1), 'proof ms': median(ours).toFixed(0) }
}

const throughput = async (id: CircuitId): Promise<void> => {
  const times = await inTurns([
    ...provers.map(
      ({ prover }) =>
        () =>
          manyInPool(prover, id),
    ),
    async () => {
      for (let i = 0; i < PROOFS_PER_TURN; i++) await withSnarkjs(id)
    },
  ])
  const rate = (taken: readonly number[]) =>
    `${((PROOFS_PER_TURN * 1000) / median(taken)).toFixed(1)} proofs/s`
  const theirs = times.at(-1) ?? []
  for (const [i, { threads }] of provers.entries()) {
    const ours = times[i] ?? []
    const ratio = ratioOf(ours, theirs)
    const hasGoal = threads === 2
    rows.push({
      what: `${id}, ${threads} worker${threads > 1 ? 's' : ''}`,
      ours: rate(ours),
      peer: 'snarkjs fullProve',
      theirs: rate(theirs),
      ratio: `${ratio.toFixed(2)}×`,
      mustReach: hasGoal ? `${MUST_REACH}×` : '',
      ok: !hasGoal || ratio >= MUST_REACH,
    })
  }
}

const made = new Map<CircuitId, { proved: Proved; figures: object }>()
for (const { id, domain } of CIRCUITS) {
  const figures = await single(id, domain)
  made.set(id, { proved: await withSnarkjs(id), figures })
}
for (const id of THROUGHPUT) await throughput(id)
for (const { prover, pool } of provers) {
  await prover.close()
  await pool.close()
}
const snarkjsCurve = globalThis.curve_bn128 as { terminate(): Promise<void> } | null
const sizes: Record<string, object> = {}
for (const { id, domain } of CIRCUITS) {
  const { proved, figures } = made.get(id) ?? {}
  if (proved === undefined) continue
  sizes[id] = {
    constraints: artifacts[id].constraints,
    domain,
    ...figures,
    'proof as text': encodeZk1(proved.proof, proved.publicSignals).length,
    'zkey KiB': Math.round(statSync(zkeyFile(id)).size / KIB),
    'WASM KiB': Math.round(statSync(wasmFile(id)).size / KIB),
  }
}
await snarkjsCurve?.terminate()
console.table(sizes)
report(rows)
