/**
 * The prover's pool beside snarkjs as its documentation uses it: `groth16.fullProve` with paths of files, on its own
 * threads, one proof after the other. They take turns within one process; what counts is the median of the turns.
 * @module
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { groth16 } from 'snarkjs'
import { loadArtifacts } from '../src/circuits/artifacts.ts'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import type { WitnessInput } from '../src/circuits/circuit.ts'
import type { Proved } from '../src/circuits/groth16.ts'
import { createProver, type Prover } from '../src/circuits/prover.ts'
import { simpleYesno } from '../src/circuits/simple_yesno.ts'
import { createVerifier } from '../src/circuits/verifier.ts'
import { yesno } from '../src/circuits/yesno.ts'
import { encodeZk1 } from '../src/protocol/zk1.ts'
import { type Row, report } from './support/interleaved.ts'

const ROOT = join(import.meta.dirname, '..')
const TURNS = 5
const PROOFS_PER_TURN = 6
const VERIFICATIONS = 30
/** Two single-threaded workers against two threads for one proof. */
const MUST_REACH = 1.5

const [salt, scope, ctx] = [0x5a17n << 200n, 0x5c0ben << 200n, 0xc7n << 230n]
const NUMBERS = 1n << 248n
const inputs: Record<CircuitId, WitnessInput> = {
  simple_yesno: simpleYesno.witnessInput({ value: 20n, threshold: 18n, salt, ctx }),
  yesno: yesno.witnessInput({ value: NUMBERS + 20n, op: 'gte', operand: NUMBERS + 18n, salt, scope, ctx }),
}

const artifacts = loadArtifacts()
const provers = [1, 2].map((threads) => ({ threads, prover: createProver({ threads, artifacts }) }))
const rows: Row[] = []

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** Proofs a second. */
const rate = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return (PROOFS_PER_TURN * 1000) / (performance.now() - start)
}

const inPool = (prover: Prover, id: CircuitId) =>
  Promise.all(Array.from({ length: PROOFS_PER_TURN }, () => prover.prove(id, inputs[id], 'paying', 'bench')))

const withSnarkjs = async (id: CircuitId): Promise<Proved> => {
  const wasm = join(ROOT, `build/circuits/${id}.wasm`)
  return groth16.fullProve(inputs[id], wasm, join(ROOT, `circuits/keys/${id}.zkey`))
}

const proving = async (id: CircuitId): Promise<void> => {
  const contenders = [
    ...provers.map(
      ({ prover }) =>
        () =>
          inPool(prover, id),
    ),
    async () => {
      for (let i = 0; i < PROOFS_PER_TURN; i++) await withSnarkjs(id)
    },
  ]
  for (const run of contenders) await run()
  const rates = contenders.map((): number[] => [])
  for (let turn = 0; turn < TURNS; turn++)
    for (const [i, run] of contenders.entries()) rates[i]?.push(await rate(run))
  const theirs = rates.at(-1) ?? []
  for (const [i, { threads }] of provers.entries()) {
    const ours = rates[i] ?? []
    const ratio = median(ours.map((value, turn) => value / (theirs[turn] ?? Number.NaN)))
    const hasGoal = threads === 2
    rows.push({
      what: `${id}, ${threads} worker${threads > 1 ? 's' : ''}`,
      ours: `${median(ours).toFixed(1)} proofs/s`,
      peer: 'snarkjs fullProve',
      theirs: `${median(theirs).toFixed(1)} proofs/s`,
      ratio: `${ratio.toFixed(2)}×`,
      mustReach: hasGoal ? `${MUST_REACH}×` : '',
      ok: !hasGoal || ratio >= MUST_REACH,
    })
  }
}

const verification = async (id: CircuitId): Promise<void> => {
  const { proof, publicSignals } = await withSnarkjs(id)
  const verifier = createVerifier(artifacts)
  const key = artifacts[id].verificationKey
  const times: [number[], number[]] = [[], []]
  for (let i = 0; i < VERIFICATIONS; i++) {
    const start = performance.now()
    const verdict = await verifier.verify(id, proof, publicSignals)
    const between = performance.now()
    const accepted = await groth16.verify(key, publicSignals, proof)
    if (!verdict.valid || !accepted) throw new Error('a good proof was refused')
    times[0].push(between - start)
    times[1].push(performance.now() - between)
  }
  const [ours, theirs] = times.map(median) as [number, number]
  rows.push({
    what: `verify ${id}`,
    ours: `${ours.toFixed(1)} ms`,
    peer: 'snarkjs verify, which checks less',
    theirs: `${theirs.toFixed(1)} ms`,
    ratio: `${(theirs / ours).toFixed(2)}×`,
    mustReach: '',
    ok: true,
  })
  const zkey = statSync(join(ROOT, `circuits/keys/${id}.zkey`)).size
  console.log(`${id}: proof as text ${encodeZk1(proof, publicSignals).length} characters, zkey ${zkey} bytes`)
}

for (const { id } of CIRCUITS) await proving(id)
// Only now, since our verifier puts its curve in the place of the one that snarkjs built for itself.
const snarkjsCurve = globalThis.curve_bn128 as { terminate(): Promise<void> } | null
for (const { id } of CIRCUITS) await verification(id)
for (const { prover } of provers) await prover.close()
await snarkjsCurve?.terminate()
report(rows)
