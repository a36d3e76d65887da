/** Each template of circuits/lib by itself: inputs that must have a witness, and inputs that must have none. */
import { expect } from 'chai'
import fc from 'fast-check'
import { WitnessError } from '../../src/circuits/proving/witness.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { type CompiledCircuit, compileTemplate } from '../support/circuits/circuits.ts'
import { anyElement, anyNumber64, MAX_64, NUMBERS } from '../support/elements.ts'
import { freeWires } from '../support/reference/determined.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { movableWires } from '../support/reference/mutations.ts'
import { satisfies } from '../support/reference/r1cs.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()

/** One output, right and with nothing left to choose. */
const outputOf = async ({ system, witness }: CompiledCircuit, input: Record<string, bigint>) => {
  const wires = await witness(input)
  expect(satisfies(system.constraints, wires, system.prime)).to.equal(true)
  return wires[1]
}

const hasNoWitness = async ({ witness }: CompiledCircuit, input: Record<string, bigint>) =>
  expect(
    await rejection(witness(input)),
    JSON.stringify(input, (_, v) => String(v)),
  ).to.be.instanceOf(WitnessError)

describe('circuit templates', () => {
  let [ordering, comparison, chains] = [] as unknown as [CompiledCircuit, CompiledCircuit, CompiledCircuit]
  before(async () => {
    const names = ['ordering', 'comparison', 'chains']
    ;[ordering, comparison, chains] = (await Promise.all(names.map(compileTemplate))) as [
      CompiledCircuit,
      CompiledCircuit,
      CompiledCircuit,
    ]
  })

  describe('RangedLessThan', () => {
    it('orders numbers of 64 bits, at both ends too', async () => {
      for (const [a, b, less] of [
        [0n, 0n, 0n],
        [0n, 1n, 1n],
        [1n, 0n, 0n],
        [0n, MAX_64, 1n],
        [MAX_64, 0n, 0n],
        [MAX_64, MAX_64, 0n],
        [MAX_64 - 1n, MAX_64, 1n],
        [1n << 63n, (1n << 63n) - 1n, 0n],
      ] as const)
        expect(await outputOf(ordering, { a, b }), `${a} < ${b}`).to.equal(less)
      await fc.assert(
        fc.asyncProperty(anyNumber64, anyNumber64, async (a, b) => {
          expect(await outputOf(ordering, { a, b })).to.equal(a < b ? 1n : 0n)
        }),
        { numRuns: 50 },
      )
    })

    it('has no witness for a number outside of 64 bits on either side', async () => {
      for (const outside of [MAX_64 + 1n, R - 1n, R - MAX_64, R - 1n - MAX_64, R >> 1n, 1n << 253n])
        for (const input of [
          { a: outside, b: 0n },
          { a: 0n, b: outside },
          { a: outside, b: outside },
        ])
          await hasNoWitness(ordering, input)
    })

    it('leaves its prover nothing to choose', async () => {
      for (const input of [
        { a: 0n, b: 0n },
        { a: 5n, b: MAX_64 },
        { a: MAX_64, b: 5n },
      ])
        expect(freeWires(ordering.system, 1, await ordering.witness(input))).to.deep.equal([])
    })
  })

  describe('CompareEncoded', () => {
    const holds: readonly ((a: bigint, b: bigint) => boolean)[] = [
      (a, b) => a === b,
      (a, b) => a !== b,
      (a, b) => a < b,
      (a, b) => a <= b,
      (a, b) => a > b,
      (a, b) => a >= b,
    ]
    const payloads = [0n, 1n, 1n << 63n, MAX_64 - 1n, MAX_64]

    it('is right for every operator on encoded numbers, equal ones and neighbours included', async () => {
      for (const [op, isTrue] of holds.entries())
        for (const a of payloads)
          for (const b of payloads) {
            const input = { a: NUMBERS + a, b: NUMBERS + b, op: BigInt(op) }
            expect(await outputOf(comparison, input), `${a} ${op} ${b}`).to.equal(isTrue(a, b) ? 1n : 0n)
          }
    })

    it('compares whole elements of any type for equality', async () => {
      await fc.assert(
        fc.asyncProperty(anyElement, anyElement, fc.boolean(), async (a, other, same) => {
          const b = same ? a : other
          for (const op of [0, 1] as const)
            expect(await outputOf(comparison, { a, b, op: BigInt(op) })).to.equal(holds[op]?.(a, b) ? 1n : 0n)
        }),
        { numRuns: 50 },
      )
    })

    it('has no witness for an ordering of anything but encoded numbers', async () => {
      const good = NUMBERS + 7n
      const others = [0n, 7n, NUMBERS - 1n, NUMBERS + MAX_64 + 1n, 2n * NUMBERS, 3n * NUMBERS + 7n, R - 1n]
      for (const op of [2n, 3n, 4n, 5n])
        for (const bad of others) {
          await hasNoWitness(comparison, { a: bad, b: good, op })
          await hasNoWitness(comparison, { a: good, b: bad, op })
        }
    })

    it('has no witness for an operator that does not exist', async () => {
      for (const op of [6n, 7n, 8n, R - 1n]) await hasNoWitness(comparison, { a: NUMBERS, b: NUMBERS, op })
    })

    it('leaves its prover nothing to choose but an inverse that nothing depends on', async () => {
      for (let op = 0n; op < 6n; op++) {
        const [a, b] = [NUMBERS + 3n, NUMBERS + 4n]
        expect(freeWires(comparison.system, 1, await comparison.witness({ a, b, op }))).to.deep.equal([])
        const equal = await comparison.witness({ a, b: a, op })
        expect(freeWires(comparison.system, 1, equal)).to.have.length.at.most(1)
        expect(freeWires(comparison.system, 1, equal)).to.not.include(1)
      }
    })
  })

  describe('TaggedPoseidon', () => {
    it('is the chain of pairs that the service computes, for one, two and three inputs', async () => {
      const { LEAF, NODE, SUBJECT } = POSEIDON_TAGS
      await fc.assert(
        fc.asyncProperty(anyElement, anyElement, anyElement, async (a, b, c) => {
          const wires = await chains.witness({ a, b, c })
          expect(satisfies(chains.system.constraints, wires, R)).to.equal(true)
          expect(wires.slice(1, 4)).to.deep.equal([
            poseidon(LEAF, [a]),
            poseidon(NODE, [a, b]),
            poseidon(SUBJECT, [a, b, c]),
          ])
        }),
        {
          numRuns: 10,
          examples: [
            [0n, 0n, 0n],
            [R - 1n, R - 1n, R - 1n],
          ],
        },
      )
    })

    it('leaves its prover nothing to choose', async () => {
      const wires = await chains.witness({ a: 1n, b: 2n, c: 3n })
      expect(freeWires(chains.system, 3, wires)).to.deep.equal([])
    })
  })

  describe('the search for freedom', () => {
    it('finds the wires that a template leaves to its prover, and second values of single ones', async () => {
      const { system, witness } = await compileTemplate('loose')
      const wires = await witness({ in: 9n, square: 9n })
      const [out, half, side] = [1, 4, 5]
      expect(wires).to.deep.equal([1n, 4n, 9n, 9n, 4n, 3n])
      expect(freeWires(system, 1, wires)).to.deep.equal([out, half, side])
      expect(movableWires(system, wires, 1)).to.deep.equal([half, side])
      // Of all values of the field these are the only other ones, which no sample would hit.
      for (const [wire, value] of [
        [half, (R + 1n) / 2n],
        [side, R - 3n],
      ] as const)
        expect(satisfies(system.constraints, wires.with(wire, value), R)).to.equal(true)
    })
  })
})
