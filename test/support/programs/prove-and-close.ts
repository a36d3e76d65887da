/** Makes a proof and closes the prover and its threads; then nothing may keep this process alive. */
import { createProver } from '../../../src/circuits/proving/prover.ts'
import { createWorkerPool } from '../../../src/circuits/threads/worker-pool.ts'
import { artifacts } from '../circuits/circuits.ts'
import { GOOD_INPUTS } from '../domain/proofs.ts'

const pool = createWorkerPool({ threads: 2, artifacts })
const prover = createProver({ pool })
await pool.warm()
const { publicSignals } = await prover.prove('simple_yesno', GOOD_INPUTS.simple_yesno, 'open', 'somebody')
await prover.close()
await pool.close()
console.log(publicSignals[0])
