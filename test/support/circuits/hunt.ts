/** What a circuit leaves to its prover: searched for in one witness, so that it takes several to look into every branch. */
import { type CircuitId, findCircuit } from '../../../src/circuits/catalogue.ts'
import { FIELD_MODULUS as R } from '../../../src/core/field.ts'
import { freeWires } from '../reference/determined.ts'
import { movableWires } from '../reference/mutations.ts'
import { constraintsByWire, satisfies } from '../reference/r1cs.ts'
import { readSymbols, shippedCircuit } from './circuits.ts'

export interface Hunt {
  /** Whether a witness satisfies every constraint. */
  holds(witness: readonly bigint[]): boolean
  /** Private wires that could have another value by themselves. */
  movable(witness: readonly bigint[]): number[]
  /** Names of public signals that could be one more by themselves. */
  changeable(witness: readonly bigint[]): string[]
  /** Wires that could have another value once the inputs are given; those of the verifier of signatures aside. */
  free(witness: readonly bigint[], outputs: number): number[]
}

export const huntIn = (id: CircuitId): Hunt => {
  const { system } = shippedCircuit(id)
  const { idleInverses, belowPrime, verifier } = readSymbols(id)
  const { publicNames = [] } = findCircuit(id) ?? {}
  const byWire = constraintsByWire(system)
  // Such an inverse stands in one constraint, beside a factor that is 0 here, or in none where that factor is always 0:
  // nothing depends on it.
  const besidesIdle = (found: readonly number[]) =>
    found.filter((wire) => !(idleInverses.has(wire) && (byWire[wire]?.length ?? 0) <= 1))
  return {
    holds: (witness) => satisfies(system.constraints, witness, R),
    movable: (witness) => besidesIdle(movableWires(system, witness, publicNames.length + 1)),
    changeable: (witness) =>
      publicNames.filter((_, i) => {
        const changed = witness.with(i + 1, ((witness[i + 1] ?? 0n) + 1n) % R)
        return satisfies(byWire[i + 1] ?? [], changed, R)
      }),
    // The optimiser mixes the verifier's linear constraints; issuer-signature.test.ts has it without that.
    free: (witness, outputs) =>
      besidesIdle(freeWires(system, outputs, witness, belowPrime).filter((wire) => !verifier.has(wire))),
  }
}
