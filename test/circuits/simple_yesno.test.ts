/** The mapper of simple_yesno against the circuit. */
import { expect } from 'chai'
import fc from 'fast-check'
import { simpleYesno } from '../../src/circuits/mappers/simple_yesno.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { shippedCircuit } from '../support/circuits/circuits.ts'
import { simpleYesnoValues } from '../support/circuits/inputs/simple_yesno.ts'
import { anyElement, anyNumber64, MAX_64 } from '../support/elements.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()

describe('mapper of simple_yesno', () => {
  const circuit = shippedCircuit('simple_yesno')

  it('computes the public signals that the circuit has', async () => {
    const edges = [0n, 1n, MAX_64 - 1n, MAX_64]
    const numbers = fc.oneof(anyNumber64, fc.constantFrom(...edges))
    await fc.assert(
      fc.asyncProperty(numbers, numbers, anyElement, anyElement, async (value, threshold, salt, ctx) => {
        const values = { value, threshold, salt, ctx }
        const wires = await circuit.witness(simpleYesno.witnessInput(values))
        const signals = simpleYesno.publicSignals(values)
        expect(signals).to.deep.equal(wires.slice(1, 5).map(String))
        const { decision, commitment } = simpleYesno.read(signals)
        expect(decision).to.equal(value >= threshold ? 1n : 0n)
        expect(commitment).to.equal(poseidon(POSEIDON_TAGS.COMMITMENT, [value, salt]))
      }),
      { numRuns: 40 },
    )
  })

  it('refuses numbers beyond 64 bits, for which there is no witness either', async () => {
    for (const [name, number] of [
      ['value', MAX_64 + 1n],
      ['value', -1n],
      ['threshold', MAX_64 + 1n],
      ['threshold', R - 1n],
    ] as const)
      expect(() => simpleYesno.publicSignals(simpleYesnoValues({ [name]: number }))).to.throw(RangeError)
    const good = simpleYesno.witnessInput(simpleYesnoValues())
    expect(await rejection(circuit.witness({ ...good, threshold: MAX_64 + 1n }))).to.be.instanceOf(
      WitnessError,
    )
  })

  it('has no witness for another commitment, nor for value and salt in place of each other', async () => {
    const { value, salt, ...good } = simpleYesno.witnessInput(simpleYesnoValues())
    const other = { ...good, value, salt, commitment: String(BigInt(String(good.commitment)) + 1n) }
    expect(await rejection(circuit.witness(other as never))).to.be.instanceOf(WitnessError)
    const swapped = { ...good, value: salt, salt: value }
    expect(await rejection(circuit.witness(swapped as never))).to.be.instanceOf(WitnessError)
  })
})
