/** The templates that evaluate rules, each by itself and against a naive reference. */
import { expect } from 'chai'
import fc from 'fast-check'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { type CompiledCircuit, compileTemplate, type Inputs } from '../support/circuits/circuits.ts'
import { NUMBERS } from '../support/elements.ts'
import { freeWires } from '../support/reference/determined.ts'
import { satisfies } from '../support/reference/r1cs.ts'
import { rejection } from '../support/rejection.ts'

const MAX = (1n << 64n) - 1n
const bitsOf = (number: number | bigint, length: number): bigint[] =>
  Array.from({ length }, (_, i) => (BigInt(number) >> BigInt(i)) & 1n)

const outputOf = async ({ system, witness }: CompiledCircuit, input: Inputs): Promise<bigint | undefined> => {
  const wires = await witness(input)
  expect(satisfies(system.constraints, wires, system.prime)).to.equal(true)
  return wires[1]
}
const hasNoWitness = async ({ witness }: CompiledCircuit, input: Inputs): Promise<void> => {
  expect(
    await rejection(witness(input)),
    JSON.stringify(input, (_, value) => String(value)),
  ).to.be.instanceOf(WitnessError)
}

describe('templates of rules', () => {
  let rule: CompiledCircuit
  let gates: CompiledCircuit
  let selection: CompiledCircuit
  let near: CompiledCircuit
  before(async () => {
    ;[rule, gates, selection, near] = await Promise.all([
      compileTemplate('one-rule'),
      compileTemplate('sixteen-gates'),
      compileTemplate('selection'),
      compileTemplate('near'),
    ])
  })

  describe('NearLessThan', () => {
    it('orders integers up to 2^64 apart, of any size and below zero too', async () => {
      for (const start of [0n, 5n, NUMBERS, 3n * NUMBERS + 12345n, R - 3n])
        for (const [step, less] of [
          [0n, 0n],
          [1n, 1n],
          [2n, 1n],
          [-1n, 0n],
          [MAX, 1n],
          [-MAX, 0n],
          [MAX + 1n, 1n],
        ] as const) {
          const [a, b] = [start, (start + step + R) % R]
          expect(await outputOf(near, { a, b }), `${start} < ${start} + ${step}`).to.equal(less)
        }
    })

    it('has no witness for what is further apart', async () => {
      for (const a of [0n, NUMBERS, R - 1n])
        for (const step of [MAX + 2n, -MAX - 1n, 1n << 65n, NUMBERS, R >> 1n])
          await hasNoWitness(near, { a, b: (((a + step) % R) + R) % R })
    })

    it('leaves its prover nothing to choose', async () => {
      for (const input of [
        { a: 0n, b: 0n },
        { a: 5n, b: MAX },
        { a: MAX, b: 5n },
      ])
        expect(freeWires(near.system, 1, await near.witness(input))).to.deep.equal([])
    })
  })

  describe('Select', () => {
    it('takes the element at the index, for every index', async () => {
      const elements = [7n, R - 1n, 0n, 1n, NUMBERS, 5n, 1n << 64n, 3n]
      for (const [i, element] of elements.entries())
        expect(await outputOf(selection, { in: elements, index: bitsOf(i, 3) })).to.equal(element)
    })

    it('leaves its prover nothing to choose', async () => {
      const wires = await selection.witness({ in: [7n, 6n, 5n, 4n, 3n, 2n, 1n, 9n], index: [1n, 0n, 1n] })
      expect(freeWires(selection.system, 1, wires)).to.deep.equal([])
    })
  })

  describe('Rule', () => {
    const isNumber = (value: bigint): boolean => value >> 64n === NUMBERS >> 64n
    const compares: readonly ((value: bigint, operand: bigint) => boolean)[] = [
      (value, operand) => value === operand,
      (value, operand) => value !== operand,
      (value, operand) => isNumber(value) && value < operand,
      (value, operand) => isNumber(value) && value <= operand,
      (value, operand) => isNumber(value) && value > operand,
      (value, operand) => isNumber(value) && value >= operand,
    ]
    const expected = (op: number, negated: boolean, value: bigint, operand: bigint): boolean => {
      if (op === 7) return !negated
      if (op === 6) return (value !== 0n) !== negated
      return value !== 0n && compares[op]?.(value, operand) !== negated
    }
    const inputOf = (op: number, negated: boolean, value: bigint, operand: bigint) => ({
      op: bitsOf(op, 3),
      negated: negated ? 1n : 0n,
      value,
      isNumber: isNumber(value) ? 1n : 0n,
      operand,
    })
    const numbers = [0n, 1n, 1n << 63n, MAX - 1n, MAX].map((payload) => NUMBERS + payload)
    const others = [0n, 2n * NUMBERS, 2n * NUMBERS + 1n, 3n * NUMBERS, 3n * NUMBERS + 7n, 4n * NUMBERS - 1n]

    it('is right for every operator and its negation, on values of every type and on none', async () => {
      for (let op = 0; op < 8; op++)
        // Orderings are asked of numbers only, which the program of a tree makes sure of.
        for (const negated of [false, true])
          for (const value of [...numbers, ...others])
            for (const operand of op >= 2 && op <= 5 ? numbers : [...numbers, ...others])
              expect(
                await outputOf(rule, inputOf(op, negated, value, operand)),
                `${negated ? 'not ' : ''}${value} ${op} ${operand}`,
              ).to.equal(expected(op, negated, value, operand) ? 1n : 0n)
    })

    it('has no witness for an ordering with an operand that is no number', async () => {
      for (const op of [2, 3, 4, 5])
        for (const operand of [0n, 7n, 2n * NUMBERS, 3n * NUMBERS + 7n, R - 1n])
          await hasNoWitness(rule, inputOf(op, false, NUMBERS + 7n, operand))
    })

    it('has no witness for an ordering of what is said to be a number and is none', async () => {
      for (const op of [2, 3, 4, 5])
        for (const value of [7n, 2n * NUMBERS, 3n * NUMBERS + 7n, R - 1n])
          await hasNoWitness(rule, { ...inputOf(op, false, value, NUMBERS + 7n), isNumber: 1n })
    })

    it('leaves its prover nothing to choose but inverses that nothing depends on', async () => {
      for (let op = 0; op < 8; op++)
        for (const [value, operand, inverses] of [
          [NUMBERS + 3n, NUMBERS + 4n, 0],
          [NUMBERS + 3n, NUMBERS + 3n, 1],
          [0n, NUMBERS + 3n, 1],
        ] as const) {
          const wires = await rule.witness(inputOf(op, true, value, operand))
          const free = freeWires(rule.system, 1, wires)
          expect(free).to.have.length(inverses)
          expect(free).to.not.include(1)
        }
    })
  })

  describe('Gates', () => {
    /** What is joined at the lowest level is split first. */
    const joined = (bits: readonly boolean[], levels: readonly number[]): boolean => {
      if (levels.length === 0) return bits[0] ?? false
      const lowest = Math.min(...levels)
      const at = levels.indexOf(lowest)
      const left = joined(bits.slice(0, at + 1), levels.slice(0, at))
      const right = joined(bits.slice(at + 1), levels.slice(at + 1))
      return lowest % 2 === 0 ? left && right : left || right
    }
    const pack = (levels: readonly number[]): bigint =>
      levels.reduceRight((packed, level) => packed * 8n + BigInt(level), 0n)
    const inputOf = (bits: readonly boolean[], levels: readonly number[]) => ({
      in: bits.map((bit) => (bit ? 1n : 0n)),
      gates: pack(levels),
    })
    const bits16 = fc.array(fc.boolean(), { minLength: 16, maxLength: 16 })
    const levels15 = fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 15, maxLength: 15 })

    it('joins as the levels say, for random bits and levels', async () => {
      await fc.assert(
        fc.asyncProperty(bits16, levels15, async (bits, levels) => {
          const out = await outputOf(gates, inputOf(bits, levels))
          expect(out).to.equal(joined(bits, levels) ? 1n : 0n)
        }),
        { numRuns: 300 },
      )
    })

    it('is an AND, or an OR, of all bits where all levels are alike', async () => {
      for (let level = 0; level < 8; level++)
        for (const odd of [undefined, 0, 7, 15])
          for (const most of [true, false]) {
            const bits = Array.from({ length: 16 }, (_, i) => (i === odd ? !most : most))
            const expected = level % 2 === 0 ? bits.every(Boolean) : bits.some(Boolean)
            expect(await outputOf(gates, inputOf(bits, Array(15).fill(level)))).to.equal(expected ? 1n : 0n)
          }
    })

    it('has no witness for gates of more than 45 bits', async () => {
      const { in: bits } = inputOf(Array(16).fill(true), [])
      for (const packed of [1n << 45n, R - 1n, R >> 1n])
        await hasNoWitness(gates, { in: bits, gates: packed })
    })

    it('leaves its prover nothing to choose', async () => {
      const levels = [0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1, 0]
      for (const bit of [true, false]) {
        const wires = await gates.witness(inputOf(Array(16).fill(bit), levels))
        expect(freeWires(gates.system, 1, wires)).to.deep.equal([])
      }
    })
  })
})
