/** The circuits that evaluate rules: what they come to is what the rules are decided, for any tree and any data. */
import { expect } from 'chai'
import fc from 'fast-check'
import { composite, programHash } from '../../src/circuits/mappers/composite.ts'
import { eligibility, policyHash } from '../../src/circuits/mappers/eligibility.ts'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { AppError } from '../../src/errors.ts'
import { h248 } from '../../src/rules/encode.ts'
import { decide } from '../../src/rules/evaluate.ts'
import {
  attributesOf,
  compileProgram,
  PROGRAM_FORMS,
  type Program,
  type ProgramForm,
} from '../../src/rules/program.ts'
import type { Tree } from '../../src/rules/rule.ts'
import { parseRules } from '../../src/rules/tree.ts'
import { shippedCircuit } from '../support/circuits/circuits.ts'
import { compositeValues } from '../support/circuits/inputs/composite.ts'
import { eligibilityValues } from '../support/circuits/inputs/eligibility.ts'
import { data, deepTreeOf, provableRule, treeOf } from '../support/circuits/rule-trees.ts'
import { NUMBERS, randomElement } from '../support/elements.ts'
import { freeWires } from '../support/reference/determined.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { satisfies } from '../support/reference/r1cs.ts'
import type { PlainTree } from '../support/reference/rules.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()
const FORMS = {
  eligibility: { mapper: eligibility, values: eligibilityValues, hash: policyHash, hashName: 'policyHash' },
  composite: { mapper: composite, values: compositeValues, hash: programHash, hashName: 'programHash' },
} as const

const fitting = (tree: Tree, form: ProgramForm): Program | undefined => {
  try {
    return compileProgram(tree, form)
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

for (const form of ['eligibility', 'composite'] as const) {
  describe(`circuit ${form}`, () => {
    const { mapper, values, hash, hashName } = FORMS[form]
    const circuit = shippedCircuit(form)

    const decided = async (tree: Tree, program: Program, data: unknown): Promise<bigint[]> => {
      const given = values({ program, attributes: attributesOf(program, data) })
      const wires = await circuit.witness(mapper.witnessInput(given))
      expect(satisfies(circuit.system.constraints, wires, R)).to.equal(true)
      expect(wires.slice(1, 5).map(String)).to.deep.equal(mapper.publicSignals(given))
      expect(wires[1]).to.equal(decide(tree, data).decision === 'YES' ? 1n : 0n)
      return wires
    }

    it('comes to what the rules are decided, for random trees and data with anything missing', async () => {
      const conjunction = fc
        .array(provableRule, { minLength: 1, maxLength: 8 })
        .map((children): PlainTree => ({ op: 'AND', children }))
      const trees =
        form === 'eligibility' ? conjunction : fc.oneof(treeOf(provableRule), deepTreeOf(provableRule))
      let proved = 0
      await fc.assert(
        fc.asyncProperty(trees, data, async (logic, values) => {
          const tree = parseRules(undefined, logic)
          const program = fitting(tree, form)
          if (program === undefined) return
          proved += 1
          await decided(tree, program, values)
        }),
        { numRuns: 40 },
      )
      expect(proved).to.be.greaterThan(10)
    })

    it('leaves its prover nothing to choose but inverses that nothing depends on, also where rules are few', async () => {
      const tree = parseRules([{ field: 'a', op: 'lt', value: 1 }], undefined)
      for (const values of [{}, { a: 0 }, { a: 1 }, { a: 'x' }]) {
        const wires = await decided(tree, compileProgram(tree, form), values)
        const free = freeWires(circuit.system, 1, wires)
        // At most one for whether the value is there and one for whether it equals the operand, of each rule.
        expect(free).to.have.length.at.most(2 * 2 ** PROGRAM_FORMS[form].slotBits)
        expect(free).to.not.include(1)
      }
    })

    it('has commitment and hash of what is documented', () => {
      const given = values()
      const signals = mapper.read(mapper.publicSignals(given)) as Record<string, bigint>
      const { program, attributes, salt } = given
      const numbers = attributes.reduce(
        (sum, one, i) => (one >> 248n === 1n ? sum + (1n << BigInt(i)) : sum),
        0n,
      )
      const schema = h248(JSON.stringify(program.paths))
      const [data, rules] =
        form === 'eligibility'
          ? [POSEIDON_TAGS.ELIGIBILITY_DATA, POSEIDON_TAGS.POLICY]
          : [POSEIDON_TAGS.COMPOSITE_DATA, POSEIDON_TAGS.PROGRAM]
      expect(signals.commitment).to.equal(poseidon(data, [...attributes, numbers, schema, salt]))
      const packed = program.words + (form === 'composite' ? program.gates << 128n : 0n)
      expect(signals[hashName]).to.equal(poseidon(rules, [...program.operands, schema, packed]))
      expect(hash(program)).to.equal(signals[hashName])
    })

    it('has no witness for values, kinds, fields, rules or salt that are not those of commitment and hash', async () => {
      const good = mapper.witnessInput(values()) as Record<string, string | string[]>
      const plusOne = (text: string): string => String((BigInt(text) + 1n) % R)
      const changed = Object.entries(good)
        .filter(([name]) => name !== 'ctx')
        .flatMap(([name, value]): [string, string | string[]][] =>
          typeof value === 'string'
            ? [[name, plusOne(value)]]
            : value.map((one, i) => [name, value.with(i, plusOne(one))]),
        )
      for (const [name, value] of changed)
        expect(await rejection(circuit.witness({ ...good, [name]: value })), name).to.be.instanceOf(
          WitnessError,
        )
      const { attributes = [] } = good
      const swapped = {
        ...good,
        attributes: [attributes[1] ?? '', attributes[0] ?? '', ...attributes.slice(2)],
      }
      expect(await rejection(circuit.witness(swapped))).to.be.instanceOf(WitnessError)
    })

    it('has no witness for packed words or kinds beyond their bits, even under a fitting commitment and hash', async () => {
      const given = values()
      const good = mapper.witnessInput(given) as Record<string, string | string[]>
      const size = given.attributes.length
      const isComposite = form === 'composite'
      const data = isComposite ? POSEIDON_TAGS.COMPOSITE_DATA : POSEIDON_TAGS.ELIGIBILITY_DATA
      const { program, salt } = given
      const withNumbers = (numbers: bigint) => ({
        ...good,
        numbers: String(numbers),
        commitment: String(poseidon(data, [...given.attributes, numbers, program.schema, salt])),
      })
      const withPacked = (words: bigint, gates: bigint) => ({
        ...good,
        words: String(words),
        ...(isComposite && { gates: String(gates) }),
        [hashName]: String(
          poseidon(isComposite ? POSEIDON_TAGS.PROGRAM : POSEIDON_TAGS.POLICY, [
            ...program.operands,
            program.schema,
            (words + (gates << 128n)) % R,
          ]),
        ),
      })
      const { words, gates } = program
      await circuit.witness(withPacked(words, gates))
      const wordBits = BigInt(size * (isComposite ? 8 : 7))
      for (const bad of [1n << BigInt(size), R - 1n])
        expect(await rejection(circuit.witness(withNumbers(bad))), `numbers ${bad}`).to.be.instanceOf(
          WitnessError,
        )
      for (const bad of [1n << wordBits, R - 1n])
        expect(await rejection(circuit.witness(withPacked(bad, gates))), `words ${bad}`).to.be.instanceOf(
          WitnessError,
        )
      if (isComposite)
        for (const bad of [1n << 45n, R - 1n])
          expect(await rejection(circuit.witness(withPacked(words, bad))), `gates ${bad}`).to.be.instanceOf(
            WitnessError,
          )
    })

    it('has no witness for an ordering of what is committed as a number and is none', async () => {
      const tree = parseRules([{ field: 'a', op: 'lt', value: 1 }], undefined)
      const program = compileProgram(tree, form)
      const data = form === 'composite' ? POSEIDON_TAGS.COMPOSITE_DATA : POSEIDON_TAGS.ELIGIBILITY_DATA
      const filler = Array(2 ** (form === 'composite' ? 4 : 3) - 1).fill(0n)
      const input = (attribute: bigint, numbers: bigint) => {
        const given = values({ program, attributes: [attribute, ...filler] })
        const commitment = poseidon(data, [attribute, ...filler, numbers, program.schema, given.salt])
        return { ...mapper.witnessInput(given), numbers, commitment }
      }
      expect((await circuit.witness(input(NUMBERS, 1n)))[1]).to.equal(1n)
      for (const text of [2n * NUMBERS, 3n * NUMBERS + 7n, 1n, R - 1n])
        expect(await rejection(circuit.witness(input(text, 1n))), `${text}`).to.be.instanceOf(WitnessError)
    })

    it('is refused by its mapper for programs and attributes of another form', () => {
      const other = form === 'composite' ? eligibilityValues() : compositeValues()
      expect(() => mapper.publicSignals(other)).to.throw(RangeError)
      expect(() => mapper.publicSignals(values({ attributes: [1n] }))).to.throw(RangeError)
      expect(() => mapper.witnessInput(values({ salt: R }))).to.throw(RangeError)
      expect(() => mapper.witnessInput(values({ ctx: -1n }))).to.throw(RangeError)
      expect(mapper.publicSignals(values({ ctx: randomElement() }))).to.have.length(4)
    })
  })
}
