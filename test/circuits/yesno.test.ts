/** The mapper of yesno against the circuit. */
import { expect } from 'chai'
import fc from 'fast-check'
import { YESNO_OPERATORS, yesno, yesnoFits } from '../../src/circuits/mappers/yesno.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { shippedCircuit } from '../support/circuits/circuits.ts'
import { yesnoValues } from '../support/circuits/inputs/yesno.ts'
import { anyElement, anyNumber64, MAX_64, NUMBERS } from '../support/elements.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()

describe('mapper of yesno', () => {
  const circuit = shippedCircuit('yesno')

  it('computes the public signals that the circuit has, for every operator', async () => {
    // Few of them at the edges, so that equal ones and neighbours occur.
    const payload = fc.oneof(anyNumber64, fc.constantFrom(0n, 1n, MAX_64))
    const encoded = payload.map((number) => NUMBERS + number)
    const equal = YESNO_OPERATORS.map((op) => [op, NUMBERS + 7n, NUMBERS + 7n, 1n, 2n] as const)
    const operator = fc.constantFrom(...YESNO_OPERATORS)
    await fc.assert(
      fc.asyncProperty(
        operator,
        encoded,
        encoded,
        anyElement,
        anyElement,
        async (op, value, operand, salt, scope) => {
          const values = yesnoValues({ op, value, operand, salt, scope })
          const wires = await circuit.witness(yesno.witnessInput(values))
          const signals = yesno.publicSignals(values)
          expect(signals).to.deep.equal(wires.slice(1, 8).map(String))
          const { nullifier } = yesno.read(signals)
          expect(nullifier).to.equal(poseidon(POSEIDON_TAGS.NULLIFIER, [salt, scope]))
        },
      ),
      { numRuns: 60, examples: equal.map((example) => [...example]) },
    )
  })

  it('proves equality of values of any type, and orderings of numbers only', async () => {
    const text = 3n * NUMBERS + 12345n
    for (const operand of [text, text + 1n, 0n, R - 1n]) {
      const values = yesnoValues({ op: 'eq', value: text, operand })
      expect((await circuit.witness(yesno.witnessInput(values)))[1]).to.equal(operand === text ? 1n : 0n)
    }
    for (const op of ['lt', 'lte', 'gt', 'gte'] as const) {
      expect(yesnoFits({ op, value: text, operand: NUMBERS })).to.equal(false)
      expect(() => yesno.publicSignals(yesnoValues({ op, value: text }))).to.throw(RangeError)
      expect(() => yesno.publicSignals(yesnoValues({ op, operand: 0n }))).to.throw(RangeError)
      const good = yesno.witnessInput(yesnoValues({ op }))
      expect(await rejection(circuit.witness({ ...good, operand: text }))).to.be.instanceOf(WitnessError)
    }
  })

  it('has one nullifier for a salt and scope, whatever the context', () => {
    const values = yesnoValues()
    const { nullifier } = yesno.read(yesno.publicSignals(values))
    const nullifierOf = (changes: object) =>
      yesno.read(yesno.publicSignals({ ...values, ...changes })).nullifier
    expect(nullifierOf({ ctx: 1n, value: NUMBERS })).to.equal(nullifier)
    expect(nullifierOf({ scope: 1n })).to.not.equal(nullifier)
    expect(nullifierOf({ salt: 1n })).to.not.equal(nullifier)
  })

  it('refuses what is no element of the field, and signals that are not canonical', () => {
    for (const bad of [-1n, R, R + 1n]) {
      expect(() => yesno.witnessInput(yesnoValues({ ctx: bad }))).to.throw(RangeError)
      expect(() => yesno.witnessInput(yesnoValues({ salt: bad }))).to.throw(RangeError)
    }
    const signals = yesno.publicSignals(yesnoValues())
    for (const bad of ['', '01', '-1', '0x1', ' 1', '1.0', String(R), String(R + 1n)])
      expect(() => yesno.read(signals.with(0, bad)), bad).to.throw(RangeError)
    expect(() => yesno.read(signals.slice(1))).to.throw(RangeError)
    expect(() => yesno.read([...signals, '1'])).to.throw(RangeError)
  })
})
