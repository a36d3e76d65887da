/** A mapper against the circuit that it is of. */
import { expect } from 'chai'
import type { Circuit, WitnessInput } from '../../../src/circuits/circuit.ts'
import { WitnessError } from '../../../src/circuits/proving/witness.ts'
import { satisfies } from '../reference/r1cs.ts'
import { rejection } from '../rejection.ts'
import { type CompiledCircuit, shippedCircuit } from './circuits.ts'

/** Values of signals by name. */
export type Changes = Readonly<Record<string, bigint | readonly bigint[]>>

export interface MappedCircuit<V> {
  readonly compiled: CompiledCircuit
  /** The public signals by name, the same by mapper and circuit, of a witness that satisfies every constraint. */
  signals(values: V): Promise<Readonly<Record<string, bigint>>>
  /** Neither is there a witness for these values with some signals changed. */
  hasNoWitness(values: V, changes: Changes, why?: string): Promise<void>
}

/** @returns a circuit of the catalogue beside its mapper */
export const mapped = <V>(mapper: Circuit<string, V>): MappedCircuit<V> => {
  const compiled = shippedCircuit(mapper.id)
  return {
    compiled,
    async signals(values) {
      const wires = await compiled.witness(mapper.witnessInput(values))
      expect(satisfies(compiled.system.constraints, wires, compiled.system.prime)).to.equal(true)
      const signals = mapper.publicSignals(values)
      expect(signals).to.deep.equal(wires.slice(1, signals.length + 1).map(String))
      return Object.fromEntries(mapper.publicNames.map((name, i) => [name, BigInt(signals[i] ?? '')]))
    },
    async hasNoWitness(values, changes, why = Object.keys(changes).join()) {
      const texts = Object.entries(changes).map(([name, value]) => [
        name,
        typeof value === 'bigint' ? String(value) : value.map(String),
      ])
      const input: WitnessInput = { ...mapper.witnessInput(values), ...Object.fromEntries(texts) }
      expect(await rejection(compiled.witness(input)), why).to.be.instanceOf(WitnessError)
    },
  }
}
