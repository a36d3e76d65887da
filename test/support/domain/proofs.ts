/** A good input of each circuit, and proofs of them that are made once for all tests of a process. */
import { CIRCUITS, type CircuitId } from '../../../src/circuits/catalogue.ts'
import type { WitnessInput } from '../../../src/circuits/circuit.ts'
import { createProofMaker, type Proved } from '../../../src/circuits/proving/groth16.ts'
import { artifacts } from '../circuits/circuits.ts'

const goodInputOf = async (id: CircuitId) => {
  const { goodInput }: { goodInput: WitnessInput } = await import(`../circuits/inputs/${id}.ts`)
  return [id, goodInput] as const
}

/** A good witness input of each circuit, by id: the `goodInput` of the file in `inputs/` that has its name. */
export const GOOD_INPUTS = Object.fromEntries(
  await Promise.all(CIRCUITS.map(({ id }) => goodInputOf(id))),
  // The catalogue has them all.
) as Readonly<Record<CircuitId, WitnessInput>>

const proofs = new Map<CircuitId, Promise<Proved>>()

/** A proof of the good input, made on this thread; one proof is not worth any tables. */
export const goodProof = (id: CircuitId): Promise<Proved> => {
  const proof = proofs.get(id) ?? createProofMaker(artifacts[id], 0).then((make) => make(GOOD_INPUTS[id]))
  proofs.set(id, proof)
  return proof
}
