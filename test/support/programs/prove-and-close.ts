/** Makes a proof and closes the prover; then nothing may keep this process alive. */
import { createProver } from '../../../src/circuits/proving/prover.ts'
import { artifacts } from '../circuits/circuits.ts'
import { GOOD_INPUTS } from '../domain/proofs.ts'

const prover = createProver({ threads: 2, artifacts })
await prover.warm()
const { publicSignals } = await prover.prove('simple_yesno', GOOD_INPUTS.simple_yesno, 'open', 'somebody')
await prover.close()
console.log(publicSignals[0])
