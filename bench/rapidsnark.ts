/**
 * Our prover and verifier beside native rapidsnark, all on one thread and in turns, keys in memory; what counts is the median
 * of the turns. Its witnesses are made by our kept programs, whose time is added to its own, since it makes none. Needs
 * RAPIDSNARK, a checkout of iden3/rapidsnark that was built (docs/proving.md says how), and is skipped without it.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { artifactFile } from '../src/bin/circuits/circuits-files.ts'
import { CIRCUITS, type CircuitId } from '../src/circuits/catalogue.ts'
import { packProof } from '../src/circuits/proof-form.ts'
import { createProofMaker } from '../src/circuits/proving/groth16.ts'
import { createWitnessProgram, witnessFile } from '../src/circuits/proving/witness.ts'
import { createKeyVerifier } from '../src/circuits/verifying/key-verifier.ts'
import { artifacts } from '../test/support/circuits/circuits.ts'
import { GOOD_INPUTS } from '../test/support/domain/proofs.ts'
import { median, milliseconds, type Row, report } from './support/interleaved.ts'
import { buildRapidsnark } from './support/rapidsnark.ts'
import { skipped } from './support/record.ts'

const TURNS = 15
/** As PROVER_TABLE_MB is where nobody sets it. */
const TABLE_BYTES = 8 * 2 ** 20
/** Most of its time that ours may take. */
const GOALS = { prove: 0.9, verify: 0.65 }
const VERIFIED: CircuitId = 'yesno'

const rows: Row[] = []
const compare = async (
  what: string,
  goal: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  peer = 'rapidsnark',
): Promise<void> => {
  const times: (readonly [own: number, other: number])[] = []
  for (let turn = 0; turn < TURNS; turn++) times.push([await ours(), await theirs()])
  const share = median(times.map(([own, other]) => own / other))
  rows.push({
    what,
    ours: `${median(times.map(([own]) => own)).toFixed(2)} ms`,
    peer,
    theirs: `${median(times.map(([, other]) => other)).toFixed(2)} ms`,
    ratio: `${(1 / share).toFixed(2)}×`,
    mustReach: `${(1 / goal).toFixed(2)}×`,
    ok: share <= goal,
  })
}

const run = async (checkout: string, folder: string): Promise<void> => {
  const start = buildRapidsnark(checkout, folder)
  const files = (id: CircuitId) => ({
    witness: join(folder, `${id}.wtns`),
    proof: join(folder, `${id}.proof`),
    inputs: join(folder, `${id}.inputs`),
  })
  const prove = async (id: CircuitId): Promise<void> => {
    const input = GOOD_INPUTS[id]
    const { witness, proof, inputs } = files(id)
    const computeWires = await createWitnessProgram(
      await WebAssembly.compile(new Uint8Array(artifacts[id].wasm)),
    )
    writeFileSync(witness, witnessFile(computeWires(input)))
    const native = await start('prove', artifactFile(id, 'zkey'), witness, proof, inputs)
    const make = await createProofMaker(artifacts[id], TABLE_BYTES)
    await make(input)
    await compare(
      `proof of ${id}`,
      GOALS.prove,
      () => milliseconds(() => make(input)),
      async () => (await milliseconds(() => computeWires(input))) + (await native.run()),
      'rapidsnark, and the witness',
    )
    await native.close()
  }
  const verify = async (id: CircuitId): Promise<void> => {
    const { proof, inputs } = files(id)
    const native = await start('verify', artifactFile(id, 'vkey'), proof, inputs)
    const { proof: points, publicSignals } = await (await createProofMaker(artifacts[id], TABLE_BYTES))(
      GOOD_INPUTS[id],
    )
    const packed = packProof(publicSignals.length, points, publicSignals)
    if (typeof packed === 'string') throw new Error(packed)
    const verifier = createKeyVerifier(artifacts[id].verificationKey)
    for (let warm = 0; warm < 100; warm++) verifier.verify(packed)
    await compare(`verify ${id}`, GOALS.verify, () => milliseconds(() => verifier.verify(packed)), native.run)
    await native.close()
  }
  for (const { id } of CIRCUITS) await prove(id)
  await verify(VERIFIED)
}

const { RAPIDSNARK } = process.env
if (RAPIDSNARK) {
  const folder = mkdtempSync(join(tmpdir(), 'assay-rapidsnark-'))
  try {
    await run(RAPIDSNARK, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
  report(rows)
} else skipped('rapidsnark', 'RAPIDSNARK names no checkout that was built')
