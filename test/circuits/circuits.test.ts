/** The circuits as they are built: what mappers, files, keys and documents say of them must be the same. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { CIRCUITS, findCircuit } from '../../src/circuits/catalogue.ts'
import { simpleYesno } from '../../src/circuits/simple_yesno.ts'
import { WitnessError } from '../../src/circuits/witness.ts'
import { YESNO_OPERATORS, yesno, yesnoFits } from '../../src/circuits/yesno.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { artifacts, builtFile, shippedCircuit } from '../support/circuits.ts'
import { GOOD_INPUTS, NUMBERS, randomElement, simpleYesnoValues, yesnoValues } from '../support/proofs.ts'
import { freeWires } from '../support/reference/determined.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { constraintsByWire, satisfies } from '../support/reference/r1cs.ts'
import { rejection } from '../support/rejection.ts'

const FOLDER = join(import.meta.dirname, '../../circuits')
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const number64 = fc.bigInt({ min: 0n, max: MAX })
const element = fc.bigInt({ min: 0n, max: R - 1n })

/** Lines of the sym file: label, wire (−1 where it was optimised away), component, name. */
const wiresByName = (id: string): Map<string, number> =>
  new Map(
    builtFile(`${id}.sym`)
      .toString('utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(','))
      .map(([, wire, , name]) => [String(name), Number(wire)]),
  )

describe('circuits', () => {
  it('have the tags of the service, and no other', () => {
    const functions = [...read('lib/tags.circom').matchAll(/function TAG_(\w+)\(\) \{ return (\d+); \}/g)]
    expect(Object.fromEntries(functions.map(([, name, tag]) => [name, Number(tag)]))).to.deep.equal({
      ...POSEIDON_TAGS,
    })
  })

  it('are the same in the folder, among the mappers, in the catalogue and in the record of the setup', () => {
    const ids = CIRCUITS.map(({ id }) => id).sort()
    const mains = readdirSync(FOLDER).filter((name) => name.endsWith('.circom'))
    expect(mains.map((name) => name.slice(0, -'.circom'.length)).sort()).to.deep.equal(ids)
    const mappers = readdirSync(join(FOLDER, '../src/circuits')).filter((name) =>
      ids.some((id) => name === `${id}.ts`),
    )
    expect(mappers).to.have.length(ids.length)
    expect(Object.keys(JSON.parse(read('keys/artifacts.json')).circuits).sort()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(findCircuit('nothing')).to.equal(undefined)
  })

  for (const { id, publicNames, secretNames, domain } of CIRCUITS) {
    describe(id, () => {
      const circuit = shippedCircuit(id)
      const { system } = circuit
      const input = GOOD_INPUTS[id]

      it('has a main of at most 30 lines, which names its public signals in order', () => {
        const text = read(`${id}.circom`)
        expect(text.trimEnd().split('\n').length).to.be.at.most(30)
        expect(text).to.include(`// Public: ${publicNames.join(', ')}.`)
      })

      it('has the signals that its mapper says, in that order', () => {
        const wires = wiresByName(id)
        expect(publicNames.map((name) => wires.get(`main.${name}`))).to.deep.equal(
          publicNames.map((_, i) => i + 1),
        )
        const from = publicNames.length + 1
        expect(secretNames.map((name) => wires.get(`main.${name}`))).to.deep.equal(
          secretNames.map((_, i) => from + i),
        )
        expect(system.publicSignals).to.equal(publicNames.length)
        expect(system.privateInputs).to.equal(secretNames.length)
      })

      it('fits its domain, and has the constraints and keys that are recorded', () => {
        const { constraints, verificationKey } = artifacts[id]
        expect(system.constraints.length).to.equal(constraints)
        expect(constraints + publicNames.length + 1).to.be.at.most(domain)
        expect(verificationKey.nPublic).to.equal(publicNames.length)
        expect(verificationKey.IC).to.have.length(publicNames.length + 1)
      })

      it('stands in the table of circuits/README.md as it is', () => {
        const row = `| ${id} | ${system.constraints.length} | ${domain} | ${publicNames.join(', ')} |`
        expect(read('README.md')).to.include(row)
      })

      it('uses every public signal in a constraint', () => {
        const byWire = constraintsByWire(system)
        const unused = publicNames.filter((_, i) => byWire[i + 1]?.length === 0)
        expect(unused).to.deep.equal([])
      })

      it('lets no private signal be changed by itself', async () => {
        const good = await circuit.witness(input)
        expect(satisfies(system.constraints, good, R)).to.equal(true)
        const byWire = constraintsByWire(system)
        const accepted: string[] = []
        for (let wire = publicNames.length + 1; wire < system.wires; wire++) {
          const value = good[wire] ?? 0n
          for (const changed of [
            0n,
            1n,
            2n,
            R - 1n,
            value + 1n,
            value + R - 1n,
            R - value,
            randomElement(),
          ]) {
            if (changed % R === value) continue
            const witness = good.with(wire, changed % R)
            if (satisfies(byWire[wire] ?? [], witness, R)) accepted.push(`wire ${wire} := ${changed}`)
          }
        }
        expect(accepted).to.deep.equal([])
      })

      it('lets no public signal be changed by itself', async () => {
        const good = await circuit.witness(input)
        for (const [i, name] of publicNames.entries()) {
          const changed = good.with(i + 1, ((good[i + 1] ?? 0n) + 1n) % R)
          expect(satisfies(system.constraints, changed, R), name).to.equal(false)
        }
      })

      it('leaves its prover nothing to choose once the inputs are given', async () => {
        const outputs = publicNames.length - Object.keys(input).length + secretNames.length
        expect(freeWires(system, outputs, await circuit.witness(input))).to.deep.equal([])
      })

      it('has no witness for another commitment, or for inputs of other names', async () => {
        const other = { ...input, commitment: String(BigInt(input.commitment ?? '') + 1n) }
        expect(await rejection(circuit.witness(other))).to.be.instanceOf(WitnessError)
        const swapped = { ...input, value: input.salt ?? '', salt: input.value ?? '' }
        expect(await rejection(circuit.witness(swapped))).to.be.instanceOf(WitnessError)
        expect(await rejection(circuit.witness({ ...input, more: '1' }))).to.be.instanceOf(WitnessError)
        const { ctx, ...less } = input
        expect(await rejection(circuit.witness(less))).to.be.instanceOf(WitnessError)
        expect(await rejection(circuit.witness({ ...less, context: ctx ?? '' }))).to.be.instanceOf(
          WitnessError,
        )
      })
    })
  }
})

describe('mapper of simple_yesno', () => {
  const circuit = shippedCircuit('simple_yesno')

  it('computes the public signals that the circuit has', async () => {
    const edges = [0n, 1n, MAX - 1n, MAX]
    const numbers = fc.oneof(number64, fc.constantFrom(...edges))
    await fc.assert(
      fc.asyncProperty(numbers, numbers, element, element, async (value, threshold, salt, ctx) => {
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
      ['value', MAX + 1n],
      ['value', -1n],
      ['threshold', MAX + 1n],
      ['threshold', R - 1n],
    ] as const)
      expect(() => simpleYesno.publicSignals(simpleYesnoValues({ [name]: number }))).to.throw(RangeError)
    const good = simpleYesno.witnessInput(simpleYesnoValues())
    expect(await rejection(circuit.witness({ ...good, threshold: MAX + 1n }))).to.be.instanceOf(WitnessError)
  })
})

describe('mapper of yesno', () => {
  const circuit = shippedCircuit('yesno')

  it('computes the public signals that the circuit has, for every operator', async () => {
    // Few of them at the edges, so that equal ones and neighbours occur.
    const payload = fc.oneof(number64, fc.constantFrom(0n, 1n, MAX))
    const encoded = payload.map((number) => NUMBERS + number)
    const equal = YESNO_OPERATORS.map((op) => [op, NUMBERS + 7n, NUMBERS + 7n, 1n, 2n] as const)
    const operator = fc.constantFrom(...YESNO_OPERATORS)
    await fc.assert(
      fc.asyncProperty(
        operator,
        encoded,
        encoded,
        element,
        element,
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
